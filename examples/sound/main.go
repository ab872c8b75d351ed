// Command sound trains a small network to tell four kinds of sounds apart: a steady tone, a
// rising one, a falling one, and noise. It makes the sounds itself, as WAV files in memory, and
// prints how many it names right of those that it has not heard.
//
//	go run ./examples/sound
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/planktonml/plankton/iterator"
)

const epochs = 20

func main() {
	flag.Parse() // there are none, but -help must not train
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, epochs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sound:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, epochs int) error {
	trainSet, err := newSounds(1, 600).open(true)
	if err != nil {
		return err
	}
	defer trainSet.Close()
	testSet, err := newSounds(2, 200).open(false)
	if err != nil {
		return err
	}
	defer testSet.Close()

	n, err := newNetwork(trainSet, testSet)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.fit(ctx, iterator.NewProgress(out, trainSet, epochs), epochs); err != nil {
		return err
	}
	right, err := n.accuracy(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "named right: %.1f %% of sounds that it has not heard; guessing names 25 %%\n", right)
	return nil
}
