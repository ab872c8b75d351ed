package gorgoniaplugin

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/planktonml/plankton/internal/sticky"
	"github.com/planktonml/plankton/iterator"
	"gorgonia.org/gorgonia"
)

// Evaluate is [Feed.Epoch] with a machine that only evaluates: vm has run on the batch when the body begins, and is reset when
// it ends. An error of the machine ends the loop as one of the feed does.
func (f *Feed) Evaluate(ctx context.Context, vm gorgonia.VM) iter.Seq2[*iterator.Batch, error] {
	return func(yield func(*iterator.Batch, error) bool) {
		for b, err := range f.Epoch(ctx) {
			if err != nil {
				if !yield(nil, err) { // which is how the feed knows what the body did
					return
				}
				continue
			}
			if more, err := evaluate(b, vm, yield); err != nil {
				sticky.End(&f.failed, err, yield)
				return
			} else if !more {
				return
			}
		}
	}
}

// evaluate runs the machine on a batch, and resets it when the body has ended in whatever way.
func evaluate(b *iterator.Batch, vm gorgonia.VM, yield func(*iterator.Batch, error) bool) (more bool, err error) {
	defer vm.Reset()
	if err := vm.RunAll(); err != nil {
		return false, err
	}
	return yield(b, nil), nil
}

// Accuracy evaluates a model on what is left of the epoch, and returns the share of the valid rows, 0 to 1, that have their
// largest score at their label. Scores is a node of the graph, rows × classes, whose value the machine leaves for the host to read,
// such as the root of its graph; label is an output as for [iterator.Hits].
func (f *Feed) Accuracy(ctx context.Context, vm gorgonia.VM, scores *gorgonia.Node, label string) (float64, error) {
	right, seen := 0, 0
	for b, err := range f.Evaluate(ctx, vm) {
		if err != nil {
			return 0, err
		}
		if scores.Value() == nil {
			return 0, errors.New("gorgoniaplugin: the scores have no value: the machine does not compute their node; give one of its graph")
		}
		switch v := scores.Value().Data().(type) {
		case []float32:
			right += iterator.Hits(b, label, v)
		case []float64:
			right += iterator.Hits(b, label, v)
		default:
			return 0, fmt.Errorf("gorgoniaplugin: the scores are %T; want a float32 or float64 for each row and class", v)
		}
		seen += b.NumValid()
	}
	if seen == 0 {
		return 0, errors.New("gorgoniaplugin: no row was valid, so there is no accuracy")
	}
	return float64(right) / float64(seen), nil
}
