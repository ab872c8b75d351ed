package readers_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

func ExampleCSV() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := "x0,x1,x2,kind\n1,2,3,dog\n4,5,6,cat\n7,8,9,dog\n"
	if err := os.WriteFile(filepath.Join(dir, "measured.csv"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
		v := readers.CSV(g, readers.CSVOptions{Root: dir, Columns: []readers.Field{
			{Name: "x*", DType: datum.Float32},
			{Name: "kind", Label: true},
		}})
		g.Output("x", v[0])
		g.Output("kind", v[1])
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Shape("x"), batch.Float32s("x"), batch.Int32s("kind"), loader.Classes())
	}
	// Output:
	// [3 3] [1 2 3 4 5 6 7 8 9] [1 0 1] [cat dog]
}

func ExampleJSONLines() {
	place := fstest.MapFS{"train.jsonl": {Data: []byte(`{"box": {"at": [1, 2]}, "tokens": [5, 6, 7]}
{"box": {"at": [3, 4]}, "tokens": [8]}
`)}}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := readers.JSONLines(g, readers.JSONLinesOptions{FS: place, Columns: []readers.Field{
			{Name: "box.at", DType: datum.Int32, Shape: []int{2}},
			{Name: "tokens", DType: datum.Int64},
		}})
		g.Output("at", v[0])
		g.Output("tokens", v[1])
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Int32s("at"), batch.Sample("tokens", 0).Int64s(), batch.Sample("tokens", 1).Int64s())
	}
	// Output:
	// [1 2 3 4] [5 6 7] [8]
}
