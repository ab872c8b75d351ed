// Command detection trains a small convolutional network to find discs and squares in pictures,
// as a single-shot detector does: each of 16 anchors says what is there and where it ends. It
// makes the pictures and their boxes itself and prints what it finds in pictures that it has not
// seen.
//
//	go run ./examples/detection
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
		fmt.Fprintln(os.Stderr, "detection:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, epochs int) error {
	trainSet, err := newScenes(1, 320).open(true)
	if err != nil {
		return err
	}
	defer trainSet.Close()
	testSet, err := newScenes(2, 64).open(false)
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
	s, err := n.search(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "found %.0f %% of %d objects in pictures that it has not seen; %.0f %% of %d boxes hold what they say\n",
		100*s.recall(), s.objects, 100*s.precision(), s.boxes)
	return nil
}
