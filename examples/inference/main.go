// Command inference runs a model over the pictures of a folder and writes a CSV file with a line
// for each, in the order of their paths: an offline job. Pictures that cannot be decoded get a
// line that says why.
//
//	go run ./examples/inference -data DIR -out scores.csv
//
// A job that is stopped, or killed at any moment, goes on when it is started again: no line is
// lost and none comes twice. Several machines share the folder with -rank and -world, each with an
// output of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/planktonml/plankton/iterator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, moments)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "inference:", err)
		os.Exit(1)
	}
}

type flags struct {
	data, out          string
	every, rank, world int
}

func parse(args []string) (f flags, err error) {
	set := flag.NewFlagSet("inference", flag.ContinueOnError)
	set.StringVar(&f.data, "data", "", "`folder` of pictures, or of folders of pictures")
	set.StringVar(&f.out, "out", "scores.csv", "`file` to write; the place in the data is kept in FILE.state beside it")
	set.IntVar(&f.every, "every", 16, "batches between two stored places")
	set.IntVar(&f.rank, "rank", 0, "number of this job, 0 … world-1")
	set.IntVar(&f.world, "world", 1, "jobs that share the folder, each with an output of its own")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if f.data == "" || f.out == "" || f.every < 1 || f.world < 1 || f.rank < 0 || f.rank >= f.world || set.NArg() > 0 {
		return f, errors.New("usage: inference -data DIR [-out FILE] [-every N] [-rank R -world W]; N is at least 1 and R less than W")
	}
	return f, nil
}

func run(ctx context.Context, args []string, say io.Writer, m model) (err error) {
	f, err := parse(args)
	if err != nil {
		return err
	}
	loader, err := open(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loader.Close()) }()
	out, err := openOutput(f.out, m.columns, loader)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	place, err := loader.Position()
	if err != nil {
		return err
	}
	if place.Epoch > 0 {
		fmt.Fprintf(say, "%s is finished\n", f.out)
		return nil
	}
	if err := score(ctx, loader, out, m, f.every); err != nil {
		return err
	}
	s := loader.Stats()
	fmt.Fprintf(say, "%s: %d pictures in this run, %d that cannot be decoded\n", f.out, s.Samples, s.Bad)
	return nil
}

// score writes what the model says of what is left of the epoch.
func score(ctx context.Context, loader *iterator.Loader, out *output, m model, every int) error {
	steps := 0
	for b, err := range loader.Epoch(ctx) {
		if err != nil {
			return err
		}
		scores, err := m.run(rowsOf(b))
		if err != nil {
			return err
		}
		if err := write(loader, out, b, scores); err != nil {
			return err
		}
		if steps++; steps%every == 0 {
			if err := out.store(loader); err != nil {
				return err
			}
		}
	}
	return out.store(loader)
}

// write writes the lines of a batch: of all samples that the plan has in it.
func write(loader *iterator.Loader, out *output, b *iterator.Batch, scores [][]float32) error {
	samples, err := loader.Which(b.Epoch(), b.Step())
	if err != nil {
		return err
	}
	for _, s := range samples {
		var line []float32
		if b.Mask()[s.Row] {
			line, scores = scores[0], scores[1:]
		}
		if err := out.line(s.Name, line, b.Errors()[s.Row]); err != nil {
			return err
		}
	}
	return nil
}
