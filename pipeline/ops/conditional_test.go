package ops_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// squareOnBlack returns a black JPEG of 64×64 pixels with a white square of the
// given side in its upper left quarter.
func squareOnBlack(side int) []byte {
	m := image.NewGray(image.Rect(0, 0, 64, 64))
	draw.Draw(m, image.Rect(8, 8, 8+side, 8+side), image.NewUniform(color.White), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// share adds an operator that computes which share of a picture is bright.
func share(g *pipeline.Graph, img pipeline.Value) pipeline.Value {
	return ops.Func(g, ops.FuncOptions{Name: "share", Outputs: []datum.Spec{{DType: datum.Float32}}},
		func(_ *datum.Sample, in, out []*datum.Tensor) error {
			if _, err := out[0].Resize(); err != nil {
				return err
			}
			bright := 0
			for _, v := range in[0].Uint8s() {
				if v >= 128 {
					bright++
				}
			}
			out[0].Float32s()[0] = float32(bright) / float32(in[0].Len())
			return nil
		}, img)[0]
}

// below adds an operator that compares a number with a bound.
func below(g *pipeline.Graph, v pipeline.Value, bound float32) pipeline.Value {
	return ops.Func(g, ops.FuncOptions{Name: "below", Outputs: []datum.Spec{{DType: datum.Int32}}},
		func(_ *datum.Sample, in, out []*datum.Tensor) error {
			if _, err := out[0].Resize(); err != nil {
				return err
			}
			x := int32(0)
			if in[0].Float32s()[0] < bound {
				x = 1
			}
			out[0].Int32s()[0] = x
			return nil
		}, v)[0]
}

// A loop per sample draws random crops until the object is large enough in one.
func Example_conditional() {
	pictures := [][]byte{squareOnBlack(12), squareOnBlack(16), squareOnBlack(24), squareOnBlack(30)}
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Seed: 1}, func(g *pipeline.Graph) {
		encoded := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(pictures))[0]
		crop := func() pipeline.Value {
			return ops.DecodeRandomCrop(g, encoded, ops.RandomCropOptions{DecodeOptions: ops.DecodeOptions{Type: ops.Gray}})
		}
		found := g.While([]pipeline.Value{crop()}, func(vars []pipeline.Value) pipeline.Value {
			return below(g, share(g, vars[0]), 0.25)
		}, func([]pipeline.Value) []pipeline.Value {
			return []pipeline.Value{crop()}
		})[0]
		g.Output("share", share(g, found))
		g.Output("image", ops.Resize(g, found, ops.ResizeOptions{Height: 32, Width: 32}))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer loader.Close()
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Shape("image"))
		for _, s := range b.Float32s("share") {
			fmt.Println(s >= 0.25)
		}
	}
	// Output:
	// [4 32 32 1]
	// true
	// true
	// true
	// true
}
