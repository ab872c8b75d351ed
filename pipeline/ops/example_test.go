package ops_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// show prints every batch of an epoch of the pipeline that define makes.
func show(o pipeline.Options, define func(g *pipeline.Graph), print func(b *iterator.Batch)) {
	p, err := pipeline.New(o, define)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	for b, err := range l.Epoch(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		print(b)
	}
}

// What classifiers are trained on: a random region of every picture, resized,
// mirrored half of the time, and normalised.
func ExampleDecodeRandomCrop() {
	m := image.NewNRGBA(image.Rect(0, 0, 64, 48))
	m.Set(10, 10, color.NRGBA{R: 255, A: 255})
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		fmt.Println(err)
		return
	}
	files := [][]byte{file.Bytes(), file.Bytes()}

	show(pipeline.Options{BatchSize: 2, Seed: 1}, func(g *pipeline.Graph) {
		img := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
		img = ops.DecodeRandomCrop(g, img, ops.RandomCropOptions{})
		img = ops.Resize(g, img, ops.ResizeOptions{Height: 32, Width: 32})
		img = ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{
			Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5),
		})
		g.Output("image", img)
	}, func(b *iterator.Batch) {
		fmt.Println(b.DType("image"), b.Shape("image"))
	})
	// Output:
	// float32 [2 3 32 32]
}

// A number per sample comes from a reader, a random operator or Constant.
func ExampleFlip() {
	show(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		in := readers.Slices(g, readers.SlicesOptions{},
			readers.Rows([]uint8{1, 2, 3, 4, 5, 6}, 1, 3, 1).WithLayout(datum.HWC),
			readers.Rows([]int32{0, 1}))
		g.Output("image", ops.Flip(g, in[0], ops.FlipOptions{Horizontal: in[1]}))
	}, func(b *iterator.Batch) {
		fmt.Println(b.Uint8s("image"))
	})
	// Output:
	// [1 2 3 6 5 4]
}

// An operator of one's own: it declares its outputs and writes one sample at a
// time.
func ExampleFunc() {
	area := func(_ *datum.Sample, in, out []*datum.Tensor) error {
		if _, err := out[0].Resize(); err != nil {
			return err
		}
		size := in[0].Float32s()
		out[0].Float32s()[0] = size[0] * size[1]
		return nil
	}
	show(pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
		size := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1, 2, 3, 4, 5, 6}, 2))[0]
		g.Output("area", ops.Func(g, ops.FuncOptions{
			Name: "area", Outputs: []datum.Spec{{DType: datum.Float32}},
		}, area, size)[0])
	}, func(b *iterator.Batch) {
		fmt.Println(b.Float32s("area"))
	})
	// Output:
	// [2 12 30]
}

// What belongs to a sample and lies in the program, such as the boxes of a picture, is
// looked up by the sample's index in the whole data set, here of a part to train with.
// What another store has is read by a reader that follows the first one.
func ExampleFunc_lookUp() {
	boxes := [][]float32{{0, 0, 4, 4}, {1, 1, 2, 2, 5, 5, 9, 9}, {}, {3, 3, 8, 8}} // by picture, four numbers each
	lookUp := func(c *datum.Sample, _, out []*datum.Tensor) error {
		own := boxes[c.Index()]
		if _, err := out[0].Resize(len(own)/4, 4); err != nil {
			return err
		}
		copy(out[0].Float32s(), own)
		return nil
	}
	show(pipeline.Options{BatchSize: 3, Seed: 1}, func(g *pipeline.Graph) {
		picture := readers.Slices(g, readers.SlicesOptions{
			Shuffle: true, Split: pipeline.Split{Folds: 4}, // three of four
		}, readers.Rows([]int32{0, 1, 2, 3}))[0]
		g.Output("picture", picture)
		g.Output("boxes", ops.Func(g, ops.FuncOptions{
			Name: "boxes", Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{-1, 4}}},
		}, lookUp)[0])
	}, func(b *iterator.Batch) {
		for row, picture := range b.Int32s("picture") {
			fmt.Println("picture", picture, "has boxes", b.Sample("boxes", row).Float32s())
		}
	})
	// Output:
	// picture 3 has boxes [3 3 8 8]
	// picture 1 has boxes [1 1 2 2 5 5 9 9]
	// picture 2 has boxes []
}
