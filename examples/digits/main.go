// Command digits trains a small network on the UCI handwritten digits, which are
// embedded in the program as encoded pictures, and prints its accuracy on
// pictures that it has not seen.
//
//	go run ./examples/digits
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

const (
	batch     = 32
	epochs    = 40
	learnRate = 0.004
	decay     = 0.95 // of the learning rate, per epoch
)

func main() {
	flag.Parse() // there are none, but -help must not train
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, epochs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, epochs int) error {
	all, err := load()
	if err != nil {
		return err
	}
	train, test := all.split()
	trainSet, err := train.open(true)
	if err != nil {
		return err
	}
	defer trainSet.Close()
	testSet, err := test.open(false)
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
	stats := trainSet.Stats()
	fmt.Fprintf(out, "trained on %d pictures in %.2f s: %.0f images/s, waited for data %.1f %% of the time\n",
		stats.Samples, stats.Active.Seconds(), stats.Rate(), 100*stats.WaitShare())
	accuracy, err := n.accuracy(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "test accuracy %.1f\n", accuracy)
	return nil
}
