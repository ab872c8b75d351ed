package dataset_test

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
)

// Example opens a folder of pictures with a folder for each class.
func Example() {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for i, class := range []string{"cat", "dog"} {
		if err := paint(filepath.Join(dir, class, "1.png"), 3+i, 2); err != nil {
			log.Fatal(err)
		}
	}

	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		encoded, label := d.Read(g, pipeline.ReaderOptions{})
		g.Output("image", ops.DecodeImage(g, encoded, ops.DecodeOptions{}))
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
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range b.NumValid() {
			fmt.Println(loader.Classes()[b.Int32s("label")[i]], b.Sample("image", i).Shape())
		}
	}
	// Output:
	// cat [2 3 3]
	// dog [2 4 3]
}

func paint(name string, width, height int) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return png.Encode(f, image.NewRGBA(image.Rect(0, 0, width, height)))
}
