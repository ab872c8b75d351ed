package main

import (
	"context"
	"fmt"
	"io"

	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/shard"
)

const learnRate = 0.05

// trainer is one rank's part of the training.
type trainer struct {
	config config
	rank   int
	ranks  ranks
	loader *iterator.Loader
	feed   *gorgoniaplugin.Feed
	net    *network
	vm     gorgonia.VM
	solver gorgonia.Solver
	log    *sampleLog

	step   int       // steps taken, those before a restart included
	shared []float32 // what the ranks add up
}

// newTrainer makes a trainer that stands where the checkpoint says, or at the
// beginning if there is none.
func newTrainer(c config, w shard.World, r ranks) (_ *trainer, err error) {
	t := &trainer{config: c, rank: w.Rank, ranks: r, solver: gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(learnRate))}
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

// train takes the steps that are left.
func (t *trainer) train(ctx context.Context, out io.Writer) error {
	at, err := t.loader.Position()
	if err != nil {
		return err
	}
	for b, err := range t.feed.Epochs(ctx, t.config.epochs-int(at.Epoch)) {
		if err != nil {
			return err
		}
		cost, err := t.learn(b)
		if err != nil {
			return err
		}
		if t.rank == 0 && b.Step() == 0 {
			fmt.Fprintf(out, "epoch %d, step %d, cost %.4f\n", b.Epoch(), t.step, cost)
		}
		t.step++
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

// learn takes one step, together with all other ranks, and returns the mean cost
// of this rank's rows.
func (t *trainer) learn(b *iterator.Batch) (cost float32, err error) {
	if err := t.log.write(t.step, b.IDs()); err != nil {
		return 0, err
	}
	if err := t.vm.RunAll(); err != nil {
		return 0, err
	}
	defer t.vm.Reset()
	cost = t.net.cost.Data().(float32)
	if err := t.average(b.NumValid()); err != nil {
		return 0, err
	}
	return cost, t.solver.Step(gorgonia.NodesToValueGrads(t.net.model))
}

// average replaces the gradients, which are means over the valid rows of this
// rank, by the means over the valid rows of all ranks.
func (t *trainer) average(valid int) error {
	gradients, err := t.net.gradients()
	if err != nil {
		return err
	}
	t.shared = append(t.shared[:0], float32(valid))
	for _, g := range gradients {
		for _, x := range g {
			t.shared = append(t.shared, x*float32(valid))
		}
	}
	if err := t.ranks.sum(t.shared); err != nil {
		return err
	}
	rows, rest := t.shared[0], t.shared[1:]
	for _, g := range gradients {
		for i := range g {
			g[i] = rest[i] / rows
		}
		rest = rest[len(g):]
	}
	return nil
}
