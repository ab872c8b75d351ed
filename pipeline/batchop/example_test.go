package batchop_test

import (
	"context"
	"fmt"
	"log"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams"
)

// centred subtracts the mean of a batch's valid rows: an operator that sees all of them.
func centred(_ *streams.Context, in, out []batchop.Tensor) error {
	x, y := datum.View[float32](in[0].Data), datum.View[float32](out[0].Data)
	var sum, n float32
	for row, valid := range in[0].Mask {
		if valid {
			sum, n = sum+x[row], n+1
		}
	}
	for row := range y {
		y[row] = x[row] - sum/max(n, 1)
	}
	return nil
}

func Example() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		x := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1, 2, 3, 6, 10, 20}))
		g.Output("x", g.AddBatch(pipeline.BatchOp{
			Name: "centred", Inputs: x, Outputs: []datum.Spec{{DType: datum.Float32}},
			New: func() (batchop.Kernel, error) { return batchop.KernelFunc(centred), nil },
		})[0])
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Float32s("x")[:b.NumValid()])
	}
	// Output:
	// [-2 -1 0 3]
	// [-5 5]
}
