// Command plain uses a loader without Gorgonia: it computes the mean and the
// deviation of every channel over a folder of pictures, the numbers that networks'
// inputs are normalised with.
//
//	go run ./examples/plain -data DIR
//
// Halfway it stops, as an interrupted program would, and goes on with a new loader
// where the first one was.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/planktonml/plankton/iterator"
)

func main() {
	dir := flag.String("data", "", "folder of pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *dir)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

// state is what a program stores to go on later.
type state struct {
	Loader  iterator.State `json:"loader"`
	Moments moments        `json:"moments"`
}

func run(ctx context.Context, out io.Writer, dir string) error {
	stored, err := begin(ctx, out, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "stopped halfway: %d bytes to store\n", len(stored))
	result, err := finish(ctx, out, dir, stored)
	if err != nil {
		return err
	}
	mean, deviation := result.channels()
	fmt.Fprintf(out, "%d pixels: mean %.3f, deviation %.3f\n", result.Pixels, mean, deviation)
	return nil
}

// begin measures the first half of the pictures and returns its state as JSON.
func begin(ctx context.Context, out io.Writer, dir string) ([]byte, error) {
	loader, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	var s state
	if err := s.Moments.measure(ctx, loader, iterator.NewProgress(out, loader, 1), loader.Len()/2); err != nil {
		return nil, err
	}
	if s.Loader, err = loader.State(); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// finish goes on from a stored state and measures what is left of the epoch.
func finish(ctx context.Context, out io.Writer, dir string, stored []byte) (m moments, err error) {
	loader, err := open(dir)
	if err != nil {
		return m, err
	}
	defer loader.Close()
	var s state
	if err := json.Unmarshal(stored, &s); err != nil {
		return m, err
	}
	if err := loader.Restore(s.Loader); err != nil {
		return m, err // also where the folder has changed
	}
	err = s.Moments.measure(ctx, loader, iterator.NewProgress(out, loader, 1), loader.Len())
	return s.Moments, err
}
