package iterator_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A loss had a peak in step 1 of epoch 3: these are the files that it came from. Nothing
// is read for it, and no log was kept.
func ExampleLoader_Which() {
	root, err := os.MkdirTemp("", "pictures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	for _, name := range []string{"cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/2.jpg", "dog/3.jpg"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("a picture"), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Seed: 1}, func(g *pipeline.Graph) {
		encoded, label := readers.File(g, readers.FileOptions{Root: root, Shuffle: true})
		g.Output("encoded", encoded)
		g.Output("label", label)
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()

	samples, err := loader.Which(3, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range samples {
		fmt.Println("row", s.Row, "index", s.Index, s.Name, "label", s.Label)
	}
	for id := range loader.Find("dog/3.jpg") {
		places, err := loader.Places(3, id)
		if err != nil {
			log.Fatal(err)
		}
		for place := range places {
			fmt.Println("dog/3.jpg is in step", place.Step, "row", place.Row)
		}
	}
	// Output:
	// row 0 index 2 dog/1.jpg label 1
	// row 1 index 1 cat/2.jpg label 0
	// dog/3.jpg is in step 0 row 1
}
