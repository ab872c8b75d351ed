package pipeline_test

import (
	"context"
	"fmt"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Two of three samples come from the small source, which comes more than once in an
// epoch of six.
func ExampleGraph_Mix() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
		var x pipeline.Value
		g.Mix(pipeline.ReaderOptions{}, pipeline.Mix{Weights: []int64{2, 1}, Draws: 6}, func() {
			x = readers.Slices(g, readers.SlicesOptions{Name: "small"}, readers.Rows([]int32{1, 2, 3}))[0]
			x = readers.Slices(g, readers.SlicesOptions{Name: "large"}, readers.Rows([]int32{10, 20, 30, 40, 50}))[0]
		})
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
	reader := p.Readers()[0]
	for batch, err := range loader.Epochs(context.Background(), 2) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(batch.Epoch(), " ", batch.Int32s("x"))
		for _, id := range batch.IDs() {
			source, sample := reader.Locate(id)
			fmt.Printf(" %s[%d]", reader.Sources[source].Name, sample)
		}
		fmt.Println()
	}
	// Output:
	// 0 [1 2 10] small[0] small[1] large[0]
	// 0 [3 1 20] small[2] small[0] large[1]
	// 1 [2 3 30] small[1] small[2] large[2]
	// 1 [1 2 40] small[0] small[1] large[3]
}
