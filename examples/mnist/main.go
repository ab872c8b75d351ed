// Command mnist trains a network with one hidden layer on MNIST, tests it after
// every epoch, and at the end reads one picture with a graph for batches of one.
//
//	go run ./examples/mnist -data DIR
//	go run ./examples/mnist -data DIR -checkpoint FILE
//
// DIR holds the four IDX files of MNIST or of a relative, compressed or not:
// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte.
//
// The second form saves the weights, the place in the data and the state of the solver after
// every epoch. A run that was killed goes on from there, and ends with the same weights, bit
// for bit.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	dir := flag.String("data", "", "folder with the four files of MNIST")
	epochs := flag.Int("epochs", 7, "times that training sees every picture")
	file := flag.String("checkpoint", "", "file to go on from and to save to after every epoch")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *dir, *epochs, *file)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mnist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dir string, epochs int, file string) error {
	if epochs < 1 {
		return fmt.Errorf("-epochs is %d; it must be at least 1", epochs)
	}
	train, test, err := find(dir)
	if err != nil {
		return err
	}
	trainSet, err := train.open(batch)
	if err != nil {
		return err
	}
	defer trainSet.Close()
	testSet, err := test.open(batch)
	if err != nil {
		return err
	}
	defer testSet.Close()

	params := newParameters()
	accuracy, err := fit(ctx, out, params, trainSet, testSet, epochs, file)
	if err != nil {
		return err
	}
	if err := predict(ctx, out, params, test); err != nil {
		return err
	}
	fmt.Fprintf(out, "test accuracy %.1f\n", accuracy)
	return nil
}
