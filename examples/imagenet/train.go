package main

import (
	"context"
	"io"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
)

// train changes the parameters to fit the loader's pictures, and returns the loss
// of every step.
func train(ctx context.Context, out io.Writer, loader *iterator.Loader, params []*tensor.Dense, epochs int) (losses []float64, err error) {
	g := gorgonia.NewGraph()
	feed, err := gorgoniaplugin.New(g, loader)
	if err != nil {
		return nil, err
	}
	model := parameterNodes(g, params)
	cost := crossEntropy(forward(feed.Node("image"), model), feed.Node("label"), feed.Weights())
	var loss gorgonia.Value
	gorgonia.Read(cost, &loss)
	if _, err := gorgonia.Grad(cost, model...); err != nil {
		return nil, err
	}
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(model...))
	defer vm.Close()
	if err := feed.Attach(vm); err != nil {
		return nil, err
	}
	defer feed.Close()

	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.001))
	progress := iterator.NewProgress(out, loader, epochs)
	defer progress.Close()
	for _, err := range feed.Epochs(ctx, epochs) {
		if err != nil {
			return nil, err
		}
		if err := vm.RunAll(); err != nil {
			return nil, err
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(model)); err != nil {
			return nil, err
		}
		losses = append(losses, float64(loss.Data().(float32)))
		progress.Step("loss %.3f", loss.Data())
		vm.Reset()
	}
	return losses, nil
}
