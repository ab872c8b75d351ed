package main

import (
	"context"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
)

// evaluate returns the share of the loader's pictures, 0 to 1, whose class has the
// largest logit.
func evaluate(ctx context.Context, loader *iterator.Loader, params []*tensor.Dense) (float64, error) {
	g := gorgonia.NewGraph()
	feed, err := gorgoniaplugin.New(g, loader, gorgoniaplugin.Outputs("image"), gorgoniaplugin.Unmasked())
	if err != nil {
		return 0, err
	}
	logits := forward(feed.Node("image"), parameterNodes(g, params))
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := feed.Attach(vm); err != nil {
		return 0, err
	}
	defer feed.Close()

	return feed.Accuracy(ctx, vm, logits, "label")
}
