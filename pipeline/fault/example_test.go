package fault_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A sample that fails says where it comes from and what failed. Programs use the names of
// package pipeline.
func Example() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		text := readers.Slices(g, readers.SlicesOptions{Name: "files"}, readers.Rows([]byte("a letter, no picture"), 20))[0]
		g.Output("image", ops.DecodeImage(g, text, ops.DecodeOptions{}))
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for _, err := range loader.Epoch(context.Background()) {
		var bad *pipeline.SampleError
		if errors.As(err, &bad) {
			fmt.Println(bad.Source, "failed in", bad.Op)
			break
		}
	}
	// Output:
	// files[0] failed in decoders.image
}
