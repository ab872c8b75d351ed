// Command imagenet trains a small convolutional network on a folder of pictures,
// as ImageNet's are: random regions of them, resized, mirrored and normalised. It
// saves the weights, loads them again, and draws the curve of the loss.
//
//	go run ./examples/imagenet -data DIR
//
// DIR holds one folder of JPEG or PNG files per class, or files alone, whose class
// is then the part of their name before the underscore: n01440764_tench.JPEG. Or it holds
// shards with pictures and labels, such as .tar, .tfrecord or .parquet files; docs/data.md lists
// what is read. It may be in a bucket: s3://bucket/folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"gorgonia.org/tensor"
)

type options struct {
	data, out    string
	epochs, size int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "folder of pictures or of shards")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "plankton-imagenet"), "folder for the results")
	flag.IntVar(&o.epochs, "epochs", 20, "times that training sees every picture")
	flag.IntVar(&o.size, "size", 64, "side of the pictures that the network sees, in pixels")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "imagenet:", err)
		os.Exit(1)
	}
}

func (o options) check() error {
	switch {
	case o.data == "":
		return fmt.Errorf("-data is missing: name a folder of pictures or of shards")
	case o.epochs < 1:
		return fmt.Errorf("-epochs is %d; it must be at least 1", o.epochs)
	case o.size < reduction || o.size%reduction != 0:
		return fmt.Errorf("-size is %d; it must be a multiple of %d", o.size, reduction)
	}
	return nil
}

func run(ctx context.Context, out io.Writer, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	data, read, err := open(ctx, o.data, filepath.Join(o.out, "files.txt"))
	if err != nil {
		return err
	}
	defer data.Close()
	params, losses, err := fit(ctx, out, read, o)
	if err != nil {
		return err
	}
	weights, curve := filepath.Join(o.out, "weights.gob"), filepath.Join(o.out, "loss.svg")
	if err := save(weights, params); err != nil {
		return err
	}
	if err := drawCurve(curve, losses); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s and %s\n", weights, curve)
	return testSaved(ctx, out, weights, read, o.size)
}

// fit trains new parameters and returns them, with the loss of every step.
func fit(ctx context.Context, out io.Writer, read pictures, o options) (params []*tensor.Dense, losses []float64, err error) {
	loader, err := trainLoader(read, o.size)
	if err != nil {
		return nil, nil, err
	}
	defer loader.Close()
	reader := loader.Pipelines()[0].Readers()[0]
	classes := loader.Pipelines()[0].Spec("label").Shape[0]
	if classes < 2 {
		return nil, nil, fmt.Errorf("-data: all pictures in %s are of one class; there is nothing to tell apart", o.data)
	}
	fmt.Fprintf(out, "%d pictures of %d classes\n", reader.Len(), classes)

	params = newParameters(o.size, classes)
	if losses, err = train(ctx, out, loader, params, o.epochs); err != nil {
		return nil, nil, err
	}
	stats, steps := loader.Stats(), loader.Len()
	fmt.Fprintf(out, "trained for %d steps in %.1f s: %.0f images/s, waited for data %.1f %% of the time\n",
		stats.Batches, stats.Active.Seconds(), stats.Rate(), 100*stats.WaitShare())
	fmt.Fprintf(out, "loss %.2f in the first epoch, %.2f in the last\n", mean(losses[:steps]), mean(losses[len(losses)-steps:]))
	return params, losses, nil
}

// testSaved loads weights and tries them on the middle of every picture.
func testSaved(ctx context.Context, out io.Writer, weights string, read pictures, size int) error {
	params, err := load(weights)
	if err != nil {
		return err
	}
	loader, err := testLoader(read, size)
	if err != nil {
		return err
	}
	defer loader.Close()
	share, err := evaluate(ctx, loader, params)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "accuracy on the pictures trained on %.1f\n", 100*share)
	return nil
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
