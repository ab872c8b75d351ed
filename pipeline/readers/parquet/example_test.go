package parquet_test

import (
	"context"
	"fmt"
	"log"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/readers/parquet"
)

// A data set as Hugging Face publishes it, shuffled by row groups: every page is decoded
// about once in an epoch.
func Example() {
	src, err := parquet.Open(context.Background(), parquet.Options{Root: "testdata/huggingface.parquet"})
	if err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 3, Seed: 1}, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{Shuffle: true}, src)
		g.Output("picture", v[0]) // to be decoded by ops.DecodeImage
		g.Output("label", v[1])
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{ShuffleBlock: src.Block()}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.IDs(), batch.Int32s("label"), loader.Classes())
	}
	// Output:
	// [6 7 4] [0 1 0] [cat dog]
	// [5 1 2] [1 1 0] [cat dog]
	// [0 3 8] [0 1 0] [cat dog]
}

// Columns of other kinds: lists of a known length are arrays of a shape.
func ExampleRead() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := parquet.Read(g, pipeline.ReaderOptions{}, parquet.Options{
			Root: "testdata/plain.parquet",
			Columns: []readers.Field{
				{Name: "fixed", Shape: []int{2, 2}},
				{Name: "struct.b.c"},
				{Name: "text", Label: true},
			},
		})
		g.Output("fixed", v[0])
		g.Output("c", v[1])
		g.Output("label", v[2])
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Steps(context.Background(), 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Shape("fixed"), batch.Float32s("c"), batch.Int32s("label"))
	}
	// Output:
	// [2 2 2] [0 0.5] [0 5]
}
