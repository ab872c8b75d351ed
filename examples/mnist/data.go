package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	side    = 28 // of a picture, in pixels
	classes = 10
	shift   = 1 // pixels by which training moves pictures, at most

	mean, deviation = 33.3, 78.6 // of the pixels of the training pictures
)

// set names the files of one half of the data.
type set struct {
	images, labels string
	train          bool
}

// find looks for the files of both halves in a folder.
func find(dir string) (train, test set, err error) {
	if dir == "" {
		return train, test, errors.New("-data is missing: name the folder with the four files of MNIST")
	}
	train.train = true
	for _, f := range []struct {
		path *string
		name string
	}{
		{&train.images, "train-images-idx3-ubyte"}, {&train.labels, "train-labels-idx1-ubyte"},
		{&test.images, "t10k-images-idx3-ubyte"}, {&test.labels, "t10k-labels-idx1-ubyte"},
	} {
		if *f.path, err = either(filepath.Join(dir, f.name)); err != nil {
			return train, test, err
		}
	}
	return train, test, nil
}

// either returns the path of a file that may be compressed.
func either(path string) (string, error) {
	for _, p := range []string{path, path + ".gz"} {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("there is neither %s nor %[1]s.gz: -data names the folder with the four files of MNIST", path)
}

// open makes a loader of a set. Its outputs are "image", float32 1×28×28,
// "label", a one-hot vector, and "pixels", the picture as it is stored. Pictures
// to train with are moved by up to a pixel, at random.
func (s set) open(batch int) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
		pixels, label := readers.IDX(g, readers.IDXOptions{
			Images: s.images, Labels: s.labels, Classes: classes, Shuffle: s.train,
		})
		window, img := ops.CropOptions{Height: side, Width: side}, pixels
		if s.train {
			window.PosY, window.PosX = ops.Uniform(g, 0, 1), ops.Uniform(g, 0, 1)
			img = ops.Crop(g, pixels, ops.CropOptions{
				Height: side + 2*shift, Width: side + 2*shift, OutOfBounds: ops.BoundsPad,
			})
		}
		g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{
			CropOptions: window, Mean: []float64{mean}, Std: []float64{deviation},
		}))
		g.Output("label", ops.OneHot(g, label, ops.OneHotOptions{}))
		g.Output("pixels", pixels)
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
