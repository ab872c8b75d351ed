package main

import (
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
)

const batch = 32

// trainLoader delivers "image", float32 3×size×size, and "label", one-hot: random
// regions of the pictures, half of them mirrored, in another order every epoch.
func trainLoader(read pictures, size int) (*iterator.Loader, error) {
	return newLoader(func(g *pipeline.Graph) {
		jpeg, label := read(g, true)
		img := ops.DecodeRandomCrop(g, jpeg, ops.RandomCropOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Height: float64(size), Width: float64(size)})
		g.Output("image", normalize(g, img, ops.CropMirrorNormalizeOptions{Mirror: ops.CoinFlip(g, 0.5)}))
		g.Output("label", ops.OneHot(g, label, ops.OneHotOptions{}))
	})
}

// testLoader delivers the same outputs with the middle of every picture, in order.
func testLoader(read pictures, size int) (*iterator.Loader, error) {
	return newLoader(func(g *pipeline.Graph) {
		jpeg, label := read(g, false)
		img := ops.DecodeImage(g, jpeg, ops.DecodeOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Shorter: float64(size) * 256 / 224})
		g.Output("image", normalize(g, img, ops.CropMirrorNormalizeOptions{
			CropOptions: ops.CropOptions{Height: size, Width: size},
		}))
		g.Output("label", ops.OneHot(g, label, ops.OneHotOptions{}))
	})
}

func normalize(g *pipeline.Graph, img pipeline.Value, o ops.CropMirrorNormalizeOptions) pipeline.Value {
	o.Mean, o.Std = ops.ImageNetMean, ops.ImageNetStd
	return ops.CropMirrorNormalize(g, img, o)
}

func newLoader(define func(*pipeline.Graph)) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, define)
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
