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
	var logits gorgonia.Value
	gorgonia.Read(forward(feed.Node("image"), parameterNodes(g, params)), &logits)
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := feed.Attach(vm); err != nil {
		return 0, err
	}
	defer feed.Close()

	right, seen := 0, 0
	for b, err := range feed.Epoch(ctx) {
		if err != nil {
			return 0, err
		}
		if err := vm.RunAll(); err != nil {
			return 0, err
		}
		right += hits(logits.Data().([]float32), b)
		seen += b.NumValid()
		vm.Reset()
	}
	return float64(right) / float64(seen), nil
}

// hits counts the valid rows that have their largest logit at their label.
func hits(logits []float32, b *iterator.Batch) (n int) {
	labels, classes := b.Float32s("label"), b.Shape("label")[1]
	for row, valid := range b.Mask() {
		at := row * classes
		if valid && labels[at+largest(logits[at:at+classes])] == 1 {
			n++
		}
	}
	return n
}

// largest returns the index of the largest of some numbers.
func largest(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
