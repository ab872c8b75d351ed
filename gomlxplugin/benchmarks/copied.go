package main

import (
	"context"
	"iter"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/train"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// copied is a loader whose batches are copied into tensors, as a program would do without package gomlxplugin.
type copied struct {
	backend compute.Backend
	loader  *iterator.Loader
}

func newCopied(backend compute.Backend, o pipeline.Options, define func(*pipeline.Graph)) (contestant, error) {
	o.OutputMemory = nil
	p, err := pipeline.New(o, define)
	if err != nil {
		return contestant{}, err
	}
	l, err := iterator.New(iterator.Options{LastBatch: shard.Drop}, p)
	if err != nil {
		return contestant{}, err
	}
	return contestant{"plankton, batches copied", &copied{backend, l}, l.Close}, nil
}

func (*copied) Name() string { return "copied" }

func (c *copied) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for b, err := range c.loader.Steps(context.Background(), math.MaxInt) {
			if err != nil {
				yield(train.Batch{}, err)
				return
			}
			image, err := tensors.FromRaw(c.backend, 0, shapes.Make(dtypes.Float32, b.Shape("image")...), b.Bytes("image"))
			if err != nil {
				yield(train.Batch{}, err)
				return
			}
			label := tensors.FromFlatDataAndDimensions(b.Int32s("label"), b.Size(), 1)
			if !yield(train.Batch{Inputs: []*tensors.Tensor{image}, Labels: []*tensors.Tensor{label}}, nil) {
				return
			}
		}
	}
}
