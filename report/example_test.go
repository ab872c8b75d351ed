package report_test

import (
	"context"
	"fmt"
	"os"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/report"
)

// A loop is recorded, and what it did is written as a page and a trace.
func Example() {
	rec := report.New(report.Options{Title: "train"})
	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Events: rec.Events()}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1, 2, 3, 4}))[0])
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
	rec.Attach(loader)
	for b, err := range loader.Epochs(context.Background(), 2) {
		if err != nil {
			fmt.Println(err)
			return
		}
		rec.Observe(b)
	}
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := rec.WriteFiles(dir); err != nil {
		fmt.Println(err)
		return
	}
	files, err := os.ReadDir(dir)
	fmt.Println(rec.Stats().Consumer.Samples, "samples", files[0].Name(), files[1].Name(), err)
	// Output: 8 samples report.html trace.json <nil>
}
