// Command table trains a small network on a table without any pictures: the rents
// of 1,000 invented flats, from a CSV file that is embedded in the program. It
// prints how far off it is for flats that it has not seen.
//
//	go run ./examples/table
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

func main() {
	flag.Parse() // there are none, but -help must not train
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	flats, err := parse(flatsCSV)
	if err != nil {
		return err
	}
	train, test := flats.split()
	columns, rent := scaleOf(train.features, features), scaleOf(train.rents, 1)
	trainSet, err := train.open(columns, rent, true)
	if err != nil {
		return err
	}
	defer trainSet.Close()
	testSet, err := test.open(columns, rent, false)
	if err != nil {
		return err
	}
	defer testSet.Close()

	network, err := newNetwork(trainSet, testSet)
	if err != nil {
		return err
	}
	defer network.close()
	if err := network.fit(ctx, iterator.NewProgress(out, trainSet, epochs)); err != nil {
		return err
	}
	fmt.Fprintf(out, "trained: %v\n", trainSet.Stats())
	missed, guessed, err := network.errors(ctx)
	if err != nil {
		return err
	}
	unit := float64(rent.deviation[0])
	fmt.Fprintf(out, "rents are %.0f on average: test error %.1f, against %.1f for always guessing that\n",
		rent.mean[0], missed*unit, guessed*unit)
	return nil
}
