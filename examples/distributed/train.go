package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/solvers"
)

const learnRate = 0.005

// trainer is one rank's part of the training.
type trainer struct {
	config config
	rank   int
	ranks  ranks
	loader *iterator.Loader
	feed   *gorgoniaplugin.Feed
	net    *network
	vm     gorgonia.VM
	solver *solvers.Solver
	log    *sampleLog

	step   int       // steps taken, those before a restart included
	shared []float32 // what the ranks add up
}

// newTrainer makes a trainer that stands where the checkpoint says, or at the
// beginning if there is none.
func newTrainer(c config, w shard.World, r ranks) (_ *trainer, err error) {
	t := &trainer{config: c, rank: w.Rank, ranks: r}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.loader, err = open(c, w); err != nil {
		return nil, err
	}
	g := gorgonia.NewGraph()
	if t.feed, err = gorgoniaplugin.New(g, t.loader); err != nil {
		return nil, err
	}
	if t.net, err = newNetwork(g, t.feed); err != nil {
		return nil, err
	}
	if t.solver, err = solvers.NewAdam(t.net.model, solvers.AdamOptions{LearnRate: learnRate}); err != nil {
		return nil, err
	}
	if err = t.restore(); err != nil {
		return nil, err
	}
	t.vm = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(t.net.model...))
	if err = t.feed.Attach(t.vm); err != nil {
		return nil, err
	}
	t.log, err = newSampleLog(c.logs, t.step, t.rank)
	return t, err
}

func (t *trainer) close() {
	if t.feed != nil {
		t.feed.Close()
	}
	if t.vm != nil {
		t.vm.Close()
	}
	if t.loader != nil {
		t.loader.Close()
	}
	t.log.close()
}

// errStopped is the end of a run that was told to stop.
var errStopped = errors.New("stopped")

// train takes the steps that are left. When ctx ends on one of the ranks, all of them stop
// after the step at hand and save.
func (t *trainer) train(ctx context.Context, out io.Writer) error {
	at, err := t.loader.Position()
	if err != nil {
		return err
	}
	for b, err := range t.feed.Epochs(context.WithoutCancel(ctx), t.config.epochs-int(at.Epoch)) {
		if err != nil {
			return err
		}
		cost, stop, err := t.learn(b, ctx.Err() != nil)
		if err != nil {
			return err
		}
		if t.rank == 0 && b.Step() == 0 {
			fmt.Fprintf(out, "epoch %d, step %d, cost %.4f\n", b.Epoch(), t.step, cost)
		}
		t.step++
		if stop {
			return t.stop(ctx)
		}
		if t.step%t.config.every == 0 {
			if err := t.save(); err != nil {
				return err
			}
		}
	}
	if err := t.log.finish(t.net.weights); err != nil {
		return err
	}
	return t.save()
}

// stop saves and ends the run. The ranks wait for each other, since a launcher may end
// all of them when one has ended.
func (t *trainer) stop(ctx context.Context) error {
	if err := t.save(); err != nil {
		return err
	}
	if err := t.ranks.sum([]float32{0}); err != nil {
		return err
	}
	why := errors.New("another rank was told to stop")
	if ctx.Err() != nil {
		why = context.Cause(ctx)
	}
	if t.config.checkpoint == "" {
		return fmt.Errorf("%w: %w after step %d; nothing was saved, for want of a -checkpoint", why, errStopped, t.step)
	}
	return fmt.Errorf("%w: %w after step %d, which was saved; the same command goes on from there", why, errStopped, t.step)
}

// learn takes one step, together with all other ranks, and returns the mean cost
// of this rank's rows, and whether the run is to stop on one of the ranks.
func (t *trainer) learn(b *iterator.Batch, stopping bool) (cost float32, stop bool, err error) {
	if err := t.log.write(t.step, b.IDs()); err != nil {
		return 0, false, err
	}
	if err := t.vm.RunAll(); err != nil {
		return 0, false, err
	}
	defer t.vm.Reset()
	cost = t.net.cost.Data().(float32)
	if stop, err = t.average(b.NumValid(), stopping); err != nil {
		return 0, false, err
	}
	return cost, stop, t.solver.Step(gorgonia.NodesToValueGrads(t.net.model))
}

// average replaces the gradients, which are means over the valid rows of this
// rank, by the means over the valid rows of all ranks, and returns whether a rank is
// stopping: all of them learn that in the same step.
func (t *trainer) average(valid int, stopping bool) (stop bool, err error) {
	gradients, err := t.net.gradients()
	if err != nil {
		return false, err
	}
	flag := float32(0)
	if stopping {
		flag = 1
	}
	t.shared = append(t.shared[:0], float32(valid), flag)
	for _, g := range gradients {
		for _, x := range g {
			t.shared = append(t.shared, x*float32(valid))
		}
	}
	if err := t.ranks.sum(t.shared); err != nil {
		return false, err
	}
	rows, rest := t.shared[0], t.shared[2:]
	for _, g := range gradients {
		for i := range g {
			g[i] = rest[i] / rows
		}
		rest = rest[len(g):]
	}
	return t.shared[1] > 0, nil
}
