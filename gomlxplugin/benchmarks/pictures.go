package main

import (
	"compress/gzip"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/images"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/train"
	"golang.org/x/image/draw"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	side     = 224
	pictured = 32
)

// pictures are the ways to feed JPEG files.
func pictures(backend compute.Backend, dir string) ([]contestant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.JPEG"))
	if err != nil {
		return nil, err
	}
	if len(files) < pictured {
		return nil, fmt.Errorf("%s has %d files *.JPEG; a batch has %d", dir, len(files), pictured)
	}
	us, copied, err := both(backend, pipeline.Options{BatchSize: pictured, Seed: 1}, func(g *pipeline.Graph) {
		encoded, label := readers.File(g, readers.FileOptions{Files: files, Shuffle: true})
		img := ops.DecodeRandomCrop(g, encoded, ops.RandomCropOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Height: side, Width: side})
		g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean, Std: ops.ImageNetStd}))
		g.Output("label", label)
	})
	if err != nil {
		return nil, err
	}
	usual := fileBatches{files}
	return []contestant{
		us,
		copied,
		{name: "usual loader", ds: dataset.MapOnHost(usual, decodeBatch)},
		{name: "usual loader, in ParallelMapOnHost", ds: dataset.ParallelMapOnHost(usual, decodeBatch)},
	}, nil
}

// fileBatches yields the names of files; the usual loader of GoMLX's examples with pictures decodes
// them with image/jpeg and makes tensors with package images, batches side by side.
type fileBatches struct{ files []string }

func (fileBatches) Name() string { return "files" }

func (d fileBatches) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for {
			order := rand.Perm(len(d.files))
			for len(order) >= pictured {
				names := make([]string, pictured)
				labels := make([]int32, pictured)
				for i := range names {
					names[i], labels[i] = d.files[order[i]], int32(order[i])
				}
				order = order[pictured:]
				if !yield(train.Batch{Spec: names, Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(labels, pictured, 1)}}, nil) {
					return
				}
			}
		}
	}
}

func decodeBatch(b train.Batch) train.Batch {
	var all []image.Image
	for _, name := range b.Spec.([]string) {
		img, err := decode(name)
		if err != nil {
			return train.Batch{Spec: err}
		}
		all = append(all, img)
	}
	return train.Batch{Inputs: []*tensors.Tensor{images.ToTensor(dtypes.Float32).Batch(all)}, Labels: b.Labels}
}

// decode returns a random region of a picture, scaled.
func decode(name string) (image.Image, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, err := jpeg.Decode(f)
	if err != nil {
		return nil, err
	}
	b := img.Bounds()
	area := float64(b.Dx()*b.Dy()) * (0.08 + 0.92*rand.Float64())
	ratio := math.Exp((2*rand.Float64() - 1) * math.Log(4./3))
	w, h := min(b.Dx(), int(math.Sqrt(area*ratio))), min(b.Dy(), int(math.Sqrt(area/ratio)))
	x, y := b.Min.X+rand.IntN(b.Dx()-w+1), b.Min.Y+rand.IntN(b.Dy()-h+1)
	to := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.BiLinear.Scale(to, to.Rect, img, image.Rect(x, y, x+w, y+h), draw.Src, nil)
	return to, nil
}

func unzip(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(z)
}
