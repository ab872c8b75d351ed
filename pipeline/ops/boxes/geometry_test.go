package boxes_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/boxes"
	"github.com/planktonml/plankton/pipeline/readers"
)

// marked returns n pictures of h×w pixels with masks, boxes and points: each has a square of five
// pixels, which is 200 in the picture, 1 in the mask, what the box holds, and has the point, x
// and y relative to the picture, in its middle.
func marked(n, h, w int) []readers.Column {
	pics, masks := make([]uint8, n*h*w*3), make([]uint8, n*h*w)
	var around, middle []float32
	for i := range n {
		y0, x0 := i*7%(h-5), i*11%(w-5)
		for y := y0; y < y0+5; y++ {
			for x := x0; x < x0+5; x++ {
				at := (i*h+y)*w + x
				masks[at] = 1
				pics[3*at], pics[3*at+1], pics[3*at+2] = 200, 200, 200
			}
		}
		fw, fh := float32(w), float32(h)
		around = append(around, float32(x0)/fw, float32(y0)/fh, float32(x0+5)/fw, float32(y0+5)/fh)
		middle = append(middle, (float32(x0)+2.5)/fw, (float32(y0)+2.5)/fh)
	}
	return []readers.Column{
		readers.Rows(pics, h, w, 3).WithLayout(datum.HWC), readers.Rows(masks, h, w, 1).WithLayout(datum.HWC),
		readers.Rows(around, 1, 4), readers.Rows(middle, 1, 2),
	}
}

// oneGeometry crops, resizes and flips a picture, its mask, its boxes and its points alike.
func oneGeometry(g *pipeline.Graph, in []pipeline.Value) {
	picture, mask, box, points := in[0], in[1], in[2], in[3]
	crop := boxes.RandomCrop(g, box, pipeline.Value{}, boxes.RandomCropOptions{Scaling: [2]float64{0.5, 1}, AspectRatio: [2]float64{0.5, 2}})
	mirror := ops.CoinFlip(g, 0.5)
	window := ops.SliceOptions{RelStart: crop.Anchor, RelShape: crop.Shape, AxisNames: "WH"}
	place := func(v pipeline.Value, interp ops.Interp) pipeline.Value {
		v = ops.Resize(g, ops.Slice(g, v, window), ops.ResizeOptions{Height: 64, Width: 64, Interp: interp})
		return ops.Flip(g, v, ops.FlipOptions{Horizontal: mirror})
	}
	g.Output("picture", place(picture, ops.Linear))
	g.Output("mask", place(mask, ops.Nearest)) // classes are not mixed
	g.Output("boxes", boxes.Flip(g, crop.Boxes, boxes.FlipOptions{Horizontal: mirror}))
	moved := ops.Div(g, ops.Sub(g, points, crop.Anchor), crop.Shape)
	g.Output("points", boxes.CoordFlip(g, moved, boxes.CoordFlipOptions{FlipX: mirror}))
}

// A picture, its mask, its boxes and its points have one random geometry: the random values are
// drawn once and handed to every operator.
func ExampleRandomCrop() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Seed: 1}, func(g *pipeline.Graph) {
		in := readers.Slices(g, readers.SlicesOptions{}, marked(4, 40, 60)...)
		oneGeometry(g, in)
	})
	if err != nil {
		log.Fatal(err)
	}
	l, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for b, err := range l.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		for row := range b.IDs() {
			point, mask := b.Sample("points", row).Float32s(), b.Sample("mask", row).Bytes()
			x, y := int(64*point[0]), int(64*point[1])
			fmt.Println("the mask under the point is", mask[64*y+x])
		}
	}
	// Output:
	// the mask under the point is 1
	// the mask under the point is 1
	// the mask under the point is 1
	// the mask under the point is 1
}

// What a point marks stays under it, in the picture and in the mask, and the point stays in the
// middle of its box where the box is whole; all of it in some hundred random geometries.
func TestOneGeometryForAll(t *testing.T) {
	const n, h, w = 200, 40, 60
	mirrored, seen := 0, 0
	check := func(b *iterator.Batch, row int) {
		point, mask, pic := b.Sample("points", row).Float32s(), b.Sample("mask", row).Bytes(), b.Sample("picture", row).Bytes()
		require.True(t, point[0] > 0 && point[0] < 1 && point[1] > 0 && point[1] < 1, "%v", point)
		at := 64*int(64*point[1]) + int(64*point[0])
		require.Equal(t, uint8(1), mask[at])
		require.Greater(t, pic[3*at], uint8(150))
		if id := b.IDs()[row]; point[0] < 0.3 && id*11%(w-5) > 40 {
			mirrored++
		}
		box := b.Sample("boxes", row).Float32s()
		require.Len(t, box, 4)
		if box[0] > 0 && box[2] < 1 && box[1] > 0 && box[3] < 1 {
			seen++
			require.InDelta(t, (box[0]+box[2])/2, point[0], 1e-5)
			require.InDelta(t, (box[1]+box[3])/2, point[1], 1e-5)
		}
	}
	require.NoError(t, epoch(t, pipeline.Options{Seed: 1}, marked(n, h, w), func(g *pipeline.Graph, in []pipeline.Value) { oneGeometry(g, in) }, check))
	require.Greater(t, seen, n/4)
	require.Greater(t, mirrored, 5)
}

// With RandomWindow, points of pixels, y before x, are moved exactly.
func TestOneWindowForAll(t *testing.T) {
	const n, h, w = 200, 40, 60
	columns := marked(n, h, w)
	shown := 0
	require.NoError(t, epoch(t, pipeline.Options{Seed: 1}, columns, func(g *pipeline.Graph, in []pipeline.Value) {
		anchor, extents := ops.RandomWindow(g, ops.Constant(g, h, w), ops.RandomWindowOptions{Area: [2]float64{0.3, 1}})
		mask := ops.Slice(g, in[1], ops.SliceOptions{Start: anchor, Shape: extents, AxisNames: "HW"})
		g.Output("mask", ops.Resize(g, mask, ops.ResizeOptions{Height: 64, Width: 64, Interp: ops.Nearest}))
		yx := boxes.CoordTransform(g, in[3], boxes.CoordTransformOptions{M: ops.Constant(g, 0, h, w, 0)})
		g.Output("points", ops.Div(g, ops.Sub(g, yx, anchor), extents))
	}, func(b *iterator.Batch, row int) {
		point, mask := b.Sample("points", row).Float32s(), b.Sample("mask", row).Bytes()
		if point[0] > 0 && point[0] < 1 && point[1] > 0 && point[1] < 1 {
			shown++
			require.Equal(t, uint8(1), mask[64*int(64*point[0])+int(64*point[1])])
		}
	}))
	require.Greater(t, shown, n/4)
}
