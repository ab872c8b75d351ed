// Command distributed trains a small network on several processes at once, each
// of which reads its share of every epoch. It may be killed at any time and goes
// on where it was, also with another number of processes.
//
//	go run ./examples/distributed -checkpoint run.json
//	go build -tags mpi -o distributed ./examples/distributed
//	mpirun -n 4 ./distributed -checkpoint run.json
//
// The first form is a process on its own. The second needs MPI: a C compiler,
// pkg-config and a library with its headers (on Debian gcc, pkg-config and
// libopenmpi-dev, and openmpi-bin for mpirun).
//
// Rank and number of ranks come from the launcher's environment (shard.FromEnv).
// The gradients are averaged over the valid rows of all ranks, so by step every
// number of ranks computes the same but for rounding.
//
// The checkpoint holds the weights, the state of the loader and that of the solver, which
// is Adam: what it keeps of the gradients decides the steps to come. Each checkpoint is written out to the
// disk before it takes the place of the last one, which is kept with the ending .old and
// used if the newer one is damaged. SIGINT and SIGTERM, which Kubernetes and Slurm send
// before they kill, end a run after the step at hand, on all ranks, with a checkpoint; a
// second one ends it at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/planktonml/plankton/shard"
)

// config is what the command line says.
type config struct {
	batch      int // rows of all ranks together
	epochs     int
	partition  shard.Partition
	checkpoint string // file; none: nothing is saved
	every      int    // steps between checkpoints
	logs       string // folder; none: nothing is logged
}

func main() {
	var c config
	flag.IntVar(&c.batch, "batch", 24, "rows of a batch, all ranks together")
	flag.IntVar(&c.epochs, "epochs", 20, "epochs in all, those before a restart included")
	flag.TextVar(&c.partition, "partition", shard.ByStep, "how ranks share an epoch: step or shard")
	flag.StringVar(&c.checkpoint, "checkpoint", "", "file to go on from and to save to")
	flag.IntVar(&c.every, "every", 10, "steps between two checkpoints")
	flag.StringVar(&c.logs, "log", "", "folder in which every rank writes the samples of its batches")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err := run(ctx, os.Stdout, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "distributed:", err)
		os.Exit(1)
	}
}

func (c config) check() error {
	switch {
	case c.batch < 1:
		return fmt.Errorf("-batch is %d; it must be at least 1", c.batch)
	case c.epochs < 1:
		return fmt.Errorf("-epochs is %d; it must be at least 1", c.epochs)
	case c.every < 1:
		return fmt.Errorf("-every is %d; it must be at least 1", c.every)
	}
	return nil
}

func run(ctx context.Context, out io.Writer, c config) error {
	if err := c.check(); err != nil {
		return err
	}
	world, err := shard.FromEnv(os.LookupEnv)
	if err != nil {
		return err
	}
	ranks, err := join(world)
	if err != nil {
		return err
	}
	t, err := newTrainer(c, world, ranks)
	if err != nil {
		return err
	}
	defer t.close()
	err = t.train(ctx, out)
	if err != nil && !errors.Is(err, errStopped) {
		return err
	}
	return errors.Join(err, ranks.leave())
}
