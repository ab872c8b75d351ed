package gomlxplugin

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/train"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// Dataset is a loader as a train.Dataset. One goroutine iterates over it at a time; a second
// one gets iterator.ErrBusy.
type Dataset struct {
	ctx    context.Context
	loader *iterator.Loader
	o      Options
	memory []*Memory // by pipeline
}

var (
	_ train.Dataset      = (*Dataset)(nil)
	_ train.HasShortName = (*Dataset)(nil)
)

// New makes a data set of a loader, which stays the caller's to close. Every iteration ends with the cause
// of ctx when ctx does.
//
// The error is an *OutputError for an output that cannot become a tensor (ErrRagged, ErrDevice),
// or wraps ErrUnmasked or ErrMemory. A loader of several pipelines is for NewDistributed.
func New(ctx context.Context, loader *iterator.Loader, o Options) (*Dataset, error) {
	d, err := newDataset(ctx, loader, o)
	if err != nil {
		return nil, err
	}
	if n := len(d.memory); n != 1 {
		return nil, fmt.Errorf("gomlxplugin: the loader has %d pipelines, a data set serves one: use NewDistributed, or make a loader for each", n)
	}
	return d, nil
}

func newDataset(ctx context.Context, loader *iterator.Loader, o Options) (*Dataset, error) {
	if err := o.check(loader); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "plankton"
	}
	if o.Spec == nil && o.Rows != Valid {
		o.Spec = o.Rows
	}
	d := &Dataset{ctx: ctx, loader: loader, o: o}
	for i, p := range loader.Pipelines() {
		m, ok := p.Options().OutputMemory.(*Memory)
		if !ok {
			return nil, fmt.Errorf("gomlxplugin: pipeline %d of the loader: %w", i, ErrMemory)
		}
		d.memory = append(d.memory, m)
	}
	return d, nil
}

// Name implements train.Dataset.
func (d *Dataset) Name() string { return d.o.Name }

// ShortName implements train.HasShortName.
func (d *Dataset) ShortName() string { return d.o.Name[:min(3, len(d.o.Name))] }

// Iter implements train.Dataset: what is left of the loader's epoch, or what follows without
// end (Options.Endless). The tensors are the consumer's. An error is the last thing that it
// yields; it is the loader's, or that of memory which the backend has not.
func (d *Dataset) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for b, err := range d.batches() {
			if err != nil {
				if !yield(train.Batch{}, err) {
					return
				}
				continue // which is how the loader knows what the consumer did
			}
			if d.o.Rows == Trimmed && b.NumValid() == 0 {
				continue
			}
			batch, err := d.batch(b.Batch, d.memory[0])
			if err != nil {
				yield(train.Batch{}, err)
				return
			}
			if !yield(batch, nil) {
				return
			}
		}
	}
}

func (d *Dataset) batches() iter.Seq2[*iterator.Batch, error] {
	if d.o.Endless {
		return d.loader.Steps(d.ctx, math.MaxInt)
	}
	return d.loader.Epoch(d.ctx)
}

// batch gives the outputs of a pipeline's batch away.
func (d *Dataset) batch(b *pipeline.Batch, m *Memory) (batch train.Batch, err error) {
	defer func() {
		if err != nil {
			_ = batch.Finalize()
		}
	}()
	batch.Spec = d.o.Spec
	for _, name := range d.o.Inputs {
		if batch.Inputs, err = add(batch.Inputs)(d.tensor(b, m, name, false)); err != nil {
			return batch, err
		}
	}
	for _, name := range d.o.Labels {
		if batch.Labels, err = add(batch.Labels)(d.tensor(b, m, name, true)); err != nil {
			return batch, err
		}
	}
	switch d.o.Rows {
	case Masked:
		batch.Labels = append(batch.Labels, tensors.FromFlatDataAndDimensions(b.Mask(), b.Size()))
	case Weighted:
		batch.Labels = append(batch.Labels, tensors.FromFlatDataAndDimensions(weights(b), b.Size()))
	}
	return batch, nil
}

func add(to []*tensors.Tensor) func(*tensors.Tensor, error) ([]*tensors.Tensor, error) {
	return func(t *tensors.Tensor, err error) ([]*tensors.Tensor, error) {
		if err != nil {
			return to, err
		}
		return append(to, t), nil
	}
}

// tensor returns an output as a tensor: its own memory where that is the backend's, else a copy.
func (d *Dataset) tensor(b *pipeline.Batch, m *Memory, name string, label bool) (*tensors.Tensor, error) {
	dims := b.Shape(name)
	if label && len(dims) == 1 {
		dims = append(slices.Clone(dims), 1)
	}
	if d.o.Rows == Trimmed && b.NumValid() < b.Size() {
		dims = slices.Clone(dims)
		dims[0] = b.NumValid()
		return m.copy(shapeOf(b.DType(name), dims), validRows(b, name))
	}
	if !m.has(b.Bytes(name)) || len(dims) != len(b.Shape(name)) {
		return m.copy(shapeOf(b.DType(name), dims), b.Bytes(name))
	}
	mem, err := b.Take(name)
	if err != nil {
		return nil, err
	}
	return m.take(mem), nil
}

// validRows returns a copy of the rows that are valid, one after the other.
func validRows(b *pipeline.Batch, name string) []byte {
	all := b.Bytes(name)
	row := len(all) / b.Size()
	mem := make([]byte, 0, row*b.NumValid())
	for i, ok := range b.Mask() {
		if ok {
			mem = append(mem, all[i*row:(i+1)*row]...)
		}
	}
	return mem
}

// weights returns what Weighted promises.
func weights(b *pipeline.Batch) []float32 {
	w := make([]float32, b.Size())
	for i, ok := range b.Mask() {
		if ok {
			w[i] = float32(b.Size()) / float32(b.NumValid())
		}
	}
	return w
}
