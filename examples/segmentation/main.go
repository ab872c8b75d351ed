// Command segmentation trains a small convolutional network to say of every pixel whether it is
// of a disc, of a square or of neither. It makes the pictures and their masks itself, as PNG
// files in memory, and prints how well the regions fit on pictures that it has not seen.
//
//	go run ./examples/segmentation
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

const epochs = 12

func main() {
	flag.Parse() // there are none, but -help must not train
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, epochs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "segmentation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, epochs int) error {
	trainSet, err := newScenes(1, 160).open(true)
	if err != nil {
		return err
	}
	defer trainSet.Close()
	testSet, err := newScenes(2, 48).open(false)
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
	iou, err := n.iou(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "mean IoU of discs and squares: %.2f on pictures that it has not seen; naming all pixels background has 0.00\n", iou)
	return nil
}
