package main

import (
	"context"
	"fmt"
	"io"

	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/solvers"
)

const learnRate = 0.012

// trainer is a graph that is shown sequences by a feed.
type trainer struct {
	loader *iterator.Loader
	feed   *gorgoniaplugin.Feed
	model  gorgonia.Nodes
	loss   gorgonia.Value
	solver *solvers.Solver
	vm     gorgonia.VM
}

func newTrainer(loader *iterator.Loader, letters int) (t *trainer, err error) {
	t = &trainer{loader: loader}
	g := gorgonia.NewGraph()
	if t.feed, err = gorgoniaplugin.New(g, loader); err != nil {
		return nil, err
	}
	t.model = newModel(g, letters)
	if t.solver, err = solvers.NewAdam(t.model, solvers.AdamOptions{LearnRate: learnRate}); err != nil {
		return nil, err
	}
	cost := loss(t.feed.Node("bytes"), t.feed.Node("next"), t.feed.Weights(), t.model)
	gorgonia.Read(cost, &t.loss)
	if _, err := gorgonia.Grad(cost, t.model...); err != nil {
		return nil, err
	}
	t.vm = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(t.model...))
	if err := t.feed.Attach(t.vm); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *trainer) close() {
	t.feed.Close()
	t.vm.Close()
}

// fit trains for what is left of so many epochs. It goes on from a checkpoint if there is one, and
// saves one after every epoch if the file has a name.
func (t *trainer) fit(ctx context.Context, out io.Writer, epochs int, file string) error {
	if err := t.restore(file); err != nil {
		return err
	}
	at, err := t.loader.Position()
	if err != nil {
		return err
	}
	for epoch := int(at.Epoch); epoch < epochs; epoch++ {
		progress := iterator.NewProgress(out, t.loader, 1)
		mean, err := t.epoch(ctx, progress)
		progress.Close()
		if err != nil {
			return err
		}
		if err := t.save(file); err != nil {
			return err
		}
		fmt.Fprintf(out, "epoch %d: loss %.4f nats a byte\n", epoch, mean)
	}
	return nil
}

// epoch trains for an epoch, and returns the mean loss of its steps.
func (t *trainer) epoch(ctx context.Context, progress *iterator.Progress) (float64, error) {
	sum, steps := 0.0, 0
	for _, err := range t.feed.Epoch(ctx) {
		if err != nil {
			return 0, err
		}
		if err := t.vm.RunAll(); err != nil {
			return 0, err
		}
		if err := t.solver.Step(gorgonia.NodesToValueGrads(t.model)); err != nil {
			return 0, err
		}
		progress.Step("loss %.4f", t.loss.Data())
		sum, steps = sum+float64(t.loss.Data().(float32)), steps+1
		t.vm.Reset()
	}
	return sum / float64(steps), nil
}
