package main

import (
	"fmt"
	"os"

	"github.com/gomlx/compute"

	"github.com/planktonml/plankton/gomlxplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const batch = 32

// trainLoader delivers "image", float32 3×size×size, and "label", int32: random regions of four fifths of the
// pictures, half of them mirrored, in another order every epoch.
func trainLoader(backend compute.Backend, dir string, size int) (*iterator.Loader, error) {
	return newLoader(backend, func(g *pipeline.Graph) {
		encoded, label := readers.File(g, readers.FileOptions{Root: dir, Shuffle: true, Split: pipeline.Split{Folds: 5}})
		img := ops.DecodeRandomCrop(g, encoded, ops.RandomCropOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Height: float64(size), Width: float64(size)})
		g.Output("image", normalize(g, img, ops.CropMirrorNormalizeOptions{Mirror: ops.CoinFlip(g, 0.5)}))
		g.Output("label", label)
	})
}

// testLoader delivers the same outputs of the other fifth, the middle of every picture, in order.
func testLoader(backend compute.Backend, dir string, size int) (*iterator.Loader, error) {
	return newLoader(backend, func(g *pipeline.Graph) {
		encoded, label := readers.File(g, readers.FileOptions{Root: dir, Split: pipeline.Split{Folds: 5, Holdout: true}})
		img := ops.DecodeImage(g, encoded, ops.DecodeOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Shorter: float64(size)})
		g.Output("image", normalize(g, img, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: size, Width: size}}))
		g.Output("label", label)
	})
}

func normalize(g *pipeline.Graph, img pipeline.Value, o ops.CropMirrorNormalizeOptions) pipeline.Value {
	o.Mean, o.Std = ops.ImageNetMean, ops.ImageNetStd
	return ops.CropMirrorNormalize(g, img, o)
}

// newLoader skips what cannot be decoded, and says so; more than a twentieth ends the run.
func newLoader(backend compute.Backend, define func(*pipeline.Graph)) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{
		BatchSize: batch, Seed: 1,
		OutputMemory: gomlxplugin.NewMemory(backend, 0),
		OnError:      pipeline.Skip, MaxBadShare: 0.05,
		OnSampleError: func(err *pipeline.SampleError) { fmt.Fprintln(os.Stderr, "skipped:", err) },
	}, define)
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
