// Command benchmarks measures plankton beside GoMLX's own data sets and loaders, in turns, by default on
// GoMLX's Go backend. Every batch goes through train.Trainer.EvalStep with a model that
// looks at one number of it, so that what is measured is the way of the data.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"

	"github.com/planktonml/plankton/internal/usage"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run() error {
	data := flag.String("data", os.Getenv("PLANKTON_DATA"), "`folder` with mnist/ and imagenet-sample/")
	on := flag.String("backend", "go", "GoMLX's backend; xla:cpu needs the build tag xla and PJRT_PLUGIN_LIBRARY_PATH")
	rounds := flag.Int("rounds", 5, "turns of each program")
	flag.Parse()
	if *data == "" {
		return errors.New("-data or PLANKTON_DATA must name the folder with mnist/ and imagenet-sample/")
	}
	backend, err := compute.NewWithConfig(*on)
	if err != nil {
		return err
	}
	defer backend.Finalize()
	fmt.Printf("%s, %d processors, %s\n", runtime.Version(), runtime.GOMAXPROCS(0), backend.Name())
	m, err := numbers(backend, filepath.Join(*data, "mnist"))
	if err != nil {
		return err
	}
	if err := measure(backend, "MNIST in memory, batches of 64, normalised float32", m, *rounds, 937); err != nil {
		return err
	}
	p, err := pictures(backend, filepath.Join(*data, "imagenet-sample"))
	if err != nil {
		return err
	}
	return measure(backend, "JPEG files, a random region to 224×224, batches of 32", p, *rounds, 9)
}

// contestant is a data set without end; the first is the one that others are compared with.
type contestant struct {
	name  string
	ds    train.Dataset
	close func() error
}

// figures are those of one turn.
type figures struct{ cpu, wall time.Duration }

// measure gives each contestant its turn, rounds times, and prints a table.
func measure(backend compute.Backend, title string, all []contestant, rounds, steps int) error {
	got := make([][]figures, len(all))
	for round := range rounds + 1 {
		for i, c := range all {
			runtime.GC()
			f, err := turn(backend, c.ds, steps)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 { // the first one warms
				got[i] = append(got[i], f)
			}
		}
	}
	for _, c := range all {
		if c.close != nil {
			if err := c.close(); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\n%s; medians of %d rounds:\n\n| | CPU µs a batch | batches/s | plankton's CPU ÷ | plankton's rate ÷ |\n| --- | ---: | ---: | ---: | ---: |\n", title, rounds)
	for i, c := range all {
		cpu := median(got[i], func(f figures) float64 { return float64(f.cpu) })
		rate := 1 / median(got[i], func(f figures) float64 { return float64(f.wall) })
		ratio := func(of func(a, b figures) float64) float64 { // round by round
			var rs []float64
			for r := range got[i] {
				rs = append(rs, of(got[0][r], got[i][r]))
			}
			slices.Sort(rs)
			return rs[len(rs)/2]
		}
		fmt.Printf("| %s | %.0f | %.1f | %.2f | %.2f |\n", c.name, cpu/1e3/float64(steps), rate*1e9*float64(steps),
			ratio(func(a, b figures) float64 { return float64(a.cpu) / float64(b.cpu) }),
			ratio(func(a, b figures) float64 { return float64(b.wall) / float64(a.wall) }))
	}
	return nil
}

func median(fs []figures, of func(figures) float64) float64 {
	var vs []float64
	for _, f := range fs {
		vs = append(vs, of(f))
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// turn takes some batches through a trainer.
func turn(backend compute.Backend, ds train.Dataset, steps int) (f figures, err error) {
	look := func(_ *model.Scope, _ any, in []*graph.Node) []*graph.Node {
		flat := graph.Reshape(in[0], -1)
		x := graph.ConvertDType(graph.Slice(flat, graph.AxisElem(0)), flat.DType())
		train.AddMainLoss(graph.ReduceAllMean(x))
		return []*graph.Node{x}
	}
	trainer := train.NewTrainer(backend, model.NewStore(), look, nil, nil, nil, nil)
	cpu, began, taken := usage.CPU(), time.Now(), 0
	for b, err := range ds.Iter() {
		if err != nil {
			return f, err
		}
		metrics, err := trainer.EvalStep(b)
		if err != nil {
			return f, err
		}
		for _, m := range metrics {
			if err := m.FinalizeAll(); err != nil {
				return f, err
			}
		}
		if taken++; taken == steps {
			break
		}
	}
	if taken < steps {
		return f, fmt.Errorf("it ended after %d batches", taken)
	}
	return figures{usage.CPU() - cpu, time.Since(began)}, nil
}
