package main

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/remote"
)

const (
	side  = 32 // of the pictures that the model sees
	batch = 16
	seed  = 1
)

// pipeline returns what trainer and workers have in common. Workers read, decode, cut out and
// resize; bytes cross, and the trainer mirrors and normalises.
func (o *options) pipeline() (*pipeline.Pipeline, error) {
	if o.data == "" {
		return nil, fmt.Errorf("-data is missing: name a folder with a folder of pictures per class")
	}
	p := pipeline.Options{BatchSize: batch, Seed: seed}
	if o.workers != "" {
		p.Remote = &remote.Workers{Addresses: o.addresses(), PlainText: o.plainText}
	}
	return pipeline.New(p, func(g *pipeline.Graph) {
		jpeg, label := readers.File(g, readers.FileOptions{Root: o.data, Shuffle: true})
		img := ops.DecodeRandomCrop(g, jpeg, ops.RandomCropOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Height: side, Width: side})
		img = ops.RemoteCut(g, img)
		img = ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{
			Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5),
		})
		g.Output("image", img)
		g.Output("label", ops.OneHot(g, label, ops.OneHotOptions{}))
	})
}
