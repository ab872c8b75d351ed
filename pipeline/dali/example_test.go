package dali_test

import (
	"context"
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Without an iterator, a pipeline goes round and round its data.
func ExamplePipeline_Run() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("n", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{1, 2, 3, 4}))[0])
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := dali.New(p)
	defer d.Close()
	for range 3 {
		b, err := d.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Epoch(), b.Step(), b.Int32s("n"))
	}
	// Output:
	// 0 0 [1 2]
	// 0 1 [3 4]
	// 1 0 [1 2]
}

// The program's own data go in by FeedInput, run by run.
func ExamplePipeline_FeedInput() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", dali.Input(g, "in", datum.Spec{DType: datum.Float32, Shape: []int{3}})[0])
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := dali.New(p)
	defer d.Close()
	ctx := context.Background()
	err = d.FeedInput("in", 2, func(row int, out []*datum.Tensor) error {
		_, err := out[0].Resize(3)
		copy(out[0].Float32s(), []float32{float32(row), 0.5, 1})
		return err
	})
	if err == nil {
		err = d.ScheduleRun(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := d.ShareOutputs(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Float32s("x"))
	fmt.Println(d.ReleaseOutputs(), d.Empty())
	// Output:
	// [0 0.5 1 1 0.5 1]
	// <nil> true
}
