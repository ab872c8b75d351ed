package main

import (
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	batch = 16
	side  = 64
)

// open delivers "image", float32 3×side×side, of the pictures in order. What cannot be decoded
// is a row that is not valid.
func open(f flags) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, OnError: pipeline.Skip}, func(g *pipeline.Graph) {
		encoded, _ := readers.File(g, readers.FileOptions{Root: f.data, NumShards: f.world, ShardID: f.rank})
		img := ops.DecodeImage(g, encoded, ops.DecodeOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Shorter: side})
		g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{
			CropOptions: ops.CropOptions{Height: side, Width: side}, Mean: ops.ImageNetMean, Std: ops.ImageNetStd,
		}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}

// rowsOf returns the valid rows of a batch, which are its memory: they end with the batch.
func rowsOf(b *iterator.Batch) [][]float32 {
	all := b.Float32s("image")
	n := len(all) / b.Size()
	var rows [][]float32
	for i, ok := range b.Mask() {
		if ok {
			rows = append(rows, all[i*n:(i+1)*n])
		}
	}
	return rows
}
