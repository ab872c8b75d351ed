package main

import (
	"errors"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	side     = 224
	channels = 3
)

// open makes a loader of "image", uint8 224×224×3: the middle of every picture, as
// networks are tested with it.
func open(dir string) (*iterator.Loader, error) {
	if dir == "" {
		return nil, errors.New("-data is missing: name a folder of pictures")
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 16, Seed: 1}, func(g *pipeline.Graph) {
		encoded, _ := readers.File(g, readers.FileOptions{Root: dir, Shuffle: true})
		img := ops.DecodeImage(g, encoded, ops.DecodeOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Shorter: 256})
		g.Output("image", ops.Crop(g, img, ops.CropOptions{Height: side, Width: side}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
