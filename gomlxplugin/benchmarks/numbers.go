package main

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math/rand/v2"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/train"

	"github.com/planktonml/plankton/gomlxplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

const (
	pixels = 28 * 28
	rows   = 64
	mean   = 0.1307 * 255
	std    = 0.3081 * 255
)

// numbers are the ways to feed MNIST.
func numbers(backend compute.Backend, dir string) ([]contestant, error) {
	images, err := readIDX(filepath.Join(dir, "train-images-idx3-ubyte.gz"), 16)
	if err != nil {
		return nil, err
	}
	labels, err := readIDX(filepath.Join(dir, "train-labels-idx1-ubyte.gz"), 8)
	if err != nil {
		return nil, err
	}
	if len(images) != pixels*len(labels) {
		return nil, errors.New("there are not as many pictures as labels")
	}
	ours, copied, err := numbersOfPlankton(backend, images, labels)
	if err != nil {
		return nil, err
	}
	memory, err := numbersInMemory(backend, images, labels)
	if err != nil {
		return nil, err
	}
	hand := &byHand{images: images, labels: labels}
	return []contestant{
		ours,
		copied,
		{name: "written by hand", ds: hand},
		{name: "written by hand, in Buffer", ds: dataset.Buffer(hand, 2)},
		{name: "written by hand, in ParallelMapOnHost", ds: dataset.ParallelMapOnHost(indices{len(labels)}, hand.fill)},
		{name: "InMemory", ds: memory},
		{name: "InMemory, in Buffer", ds: dataset.Buffer(memory, 2)},
	}, nil
}

func numbersOfPlankton(backend compute.Backend, images, labels []byte) (ours, copied contestant, err error) {
	classes := make([]int32, len(labels))
	for i, l := range labels {
		classes[i] = int32(l)
	}
	return both(backend, pipeline.Options{BatchSize: rows, Seed: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(images, 28, 28, 1), readers.Rows(classes))
		g.Output("image", ops.CropMirrorNormalize(g, v[0], ops.CropMirrorNormalizeOptions{Mean: []float64{mean}, Std: []float64{std}}))
		g.Output("label", v[1])
	})
}

// both returns a pipeline as a data set without end, and the same with batches that are copied.
func both(backend compute.Backend, o pipeline.Options, define func(*pipeline.Graph)) (ours, copied contestant, err error) {
	if copied, err = newCopied(backend, o, define); err != nil {
		return ours, copied, err
	}
	o.OutputMemory = gomlxplugin.NewMemory(backend, 0)
	p, err := pipeline.New(o, define)
	if err != nil {
		return ours, copied, err
	}
	l, err := iterator.New(iterator.Options{LastBatch: shard.Drop}, p)
	if err != nil {
		return ours, copied, err
	}
	ds, err := gomlxplugin.New(context.Background(), l, gomlxplugin.Options{Inputs: []string{"image"}, Labels: []string{"label"}, Endless: true})
	return contestant{"plankton", ds, l.Close}, copied, err
}

// numbersInMemory holds all pictures as float32, as GoMLX's data set of this name does, and gathers batches.
func numbersInMemory(backend compute.Backend, images, labels []byte) (train.Dataset, error) {
	all, classes := make([]float32, len(images)), make([]int32, len(labels))
	for i, v := range images {
		all[i] = (float32(v) - mean) / std
	}
	for i, l := range labels {
		classes[i] = int32(l)
	}
	m, err := dataset.InMemoryFromData(backend, "mnist",
		[]any{tensors.FromFlatDataAndDimensions(all, len(labels), 1, 28, 28)}, []any{tensors.FromFlatDataAndDimensions(classes, len(labels), 1)})
	if err != nil {
		return nil, err
	}
	return m.BatchSize(rows, true).Shuffle().Infinite(true), nil
}

// byHand keeps the bytes and makes the tensors of every batch, as the MNIST examples of GoMLX do.
type byHand struct{ images, labels []byte }

func (*byHand) Name() string { return "by hand" }

func (d *byHand) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for b := range (indices{len(d.labels)}).Iter() {
			if !yield(d.fill(b), nil) {
				return
			}
		}
	}
}

// fill makes a batch of the indices in its input.
func (d *byHand) fill(b train.Batch) train.Batch {
	which := tensors.MustCopyFlatData[int32](b.Inputs[0])
	images, labels := make([]float32, len(which)*pixels), make([]int32, len(which))
	for row, i := range which {
		labels[row] = int32(d.labels[i])
		to := images[row*pixels:][:pixels]
		for k, v := range d.images[int(i)*pixels:][:pixels] {
			to[k] = (float32(v) - mean) / std
		}
	}
	return train.Batch{
		Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(images, len(which), 1, 28, 28)},
		Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(labels, len(which), 1)},
	}
}

// indices yields the numbers of samples in a random order without end.
type indices struct{ n int }

func (indices) Name() string { return "indices" }

func (d indices) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for {
			order := rand.Perm(d.n)
			for len(order) >= rows {
				which := make([]int32, rows)
				for i := range which {
					which[i] = int32(order[i])
				}
				order = order[rows:]
				if !yield(train.Batch{Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(which, rows)}}, nil) {
					return
				}
			}
		}
	}
}

// readIDX returns what follows the header of a compressed IDX file.
func readIDX(name string, header int) ([]byte, error) {
	text, err := unzip(name)
	if err != nil {
		return nil, err
	}
	if len(text) < header || binary.BigEndian.Uint16(text) != 0 {
		return nil, errors.New(name + " is no IDX file")
	}
	return text[header:], nil
}
