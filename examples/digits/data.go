package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	side    = 8 // of a picture, in pixels
	classes = 10
	shift   = 1 // pixels by which training moves pictures, at most

	mean, deviation = 78, 96 // of the pixels of the training pictures
)

//go:embed data/digits.png.gz
var digitsFile []byte

// digits is the embedded data set: encoded pictures and their labels.
type digits struct {
	pictures [][]byte
	labels   []int32
}

// load unpacks the embedded file; data/README.md describes it.
func load() (d digits, err error) {
	r, err := gzip.NewReader(bytes.NewReader(digitsFile))
	if err != nil {
		return d, err
	}
	var head struct {
		Label  uint8
		Length uint16
	}
	for {
		switch err := binary.Read(r, binary.LittleEndian, &head); err {
		case nil:
		case io.EOF:
			return d, nil
		default:
			return d, err
		}
		picture := make([]byte, head.Length)
		if _, err := io.ReadFull(r, picture); err != nil {
			return d, err
		}
		d.pictures = append(d.pictures, picture)
		d.labels = append(d.labels, int32(head.Label))
	}
}

// split holds every fifth sample out: pictures of one writer follow each other,
// so cutting the list in two would test on other writers than it trains on.
func (d digits) split() (train, test digits) {
	for i := range d.pictures {
		to := &train
		if i%5 == 4 {
			to = &test
		}
		to.pictures = append(to.pictures, d.pictures[i])
		to.labels = append(to.labels, d.labels[i])
	}
	return train, test
}

// open makes a loader of "image", float32 1×8×8, and "label", a one-hot vector. To
// train with, pictures come in another order every time and moved at random.
func (d digits) open(train bool) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1, Device: gorgoniaplugin.Device()}, func(g *pipeline.Graph) {
		columns := readers.Slices(g, readers.SlicesOptions{Shuffle: train},
			readers.Ragged(d.pictures), readers.Rows(d.labels).WithClasses(classes))
		img := ops.DecodeImage(g, columns[0], ops.DecodeOptions{Type: ops.Gray})
		window := ops.CropOptions{Height: side, Width: side}
		if train {
			window.PosY, window.PosX = ops.Uniform(g, 0, 1), ops.Uniform(g, 0, 1)
			img = ops.Crop(g, img, ops.CropOptions{
				Height: side + 2*shift, Width: side + 2*shift, OutOfBounds: ops.BoundsPad,
			})
		}
		img = ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{
			CropOptions: window, Mean: []float64{mean}, Std: []float64{deviation},
		})
		g.Output("image", ops.ToDevice(g, img)) // where the graph is, with the tag cuda
		g.Output("label", ops.OneHot(g, columns[1], ops.OneHotOptions{}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
