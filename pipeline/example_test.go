package pipeline_test

import (
	"context"
	"fmt"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Two pictures of 2×2 grey pixels become normalised arrays, labels become
// one-hot vectors.
func ExampleNew() {
	pixels := []uint8{0, 255, 255, 0, 51, 102, 153, 204}
	labels := []int32{1, 0}

	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Seed: 1}, func(g *pipeline.Graph) {
		in := readers.Slices(g, readers.SlicesOptions{Name: "train"},
			readers.Rows(pixels, 2, 2, 1).WithLayout(datum.HWC),
			readers.Rows(labels).WithClasses(3))
		img := ops.CropMirrorNormalize(g, in[0], ops.CropMirrorNormalizeOptions{Std: []float64{255}})
		g.Output("image", img)
		g.Output("label", ops.OneHot(g, in[1], ops.OneHotOptions{}))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	loader, err := iterator.New(iterator.Options{ReaderName: "train"}, p)
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
		fmt.Printf("%v %.1f\n", b.Shape("image"), b.Float32s("image"))
		fmt.Println(b.Shape("label"), b.Float32s("label"))
	}
	// Output:
	// [2 1 2 2] [0.0 1.0 1.0 0.0 0.2 0.4 0.6 0.8]
	// [2 3] [0 1 0 1 0 0]
}

// A mistake comes out of New and names the operator.
func ExampleNew_mistake() {
	_, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		label := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{1, 0}))[0]
		g.Output("image", ops.Resize(g, label, ops.ResizeOptions{Height: 224, Width: 224}))
	})
	fmt.Println(err)
	// Output:
	// pipeline: resize: the input is int32 scalar; a picture H×W×C (layout HWC) is wanted: decode it first
}

// The index of the first reader's sample says where a row comes from.
func ExampleBatch_IDs() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		x := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{10, 20, 30}))[0]
		g.Output("x", x)
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
		fmt.Println(b.Float32s("x"), b.IDs(), b.Mask())
	}
	// Output:
	// [10 20] [0 1] [true true]
	// [30 0] [2 -1] [true false]
}
