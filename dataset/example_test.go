package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers/parquet"
	"github.com/planktonml/plankton/storage/s3"
)

// A program that takes folders, shards, tables and buckets of S3 by one flag.
func ExampleOpen() {
	d, err := dataset.Open(context.Background(), os.Args[1], dataset.Options{
		Schemes: map[string]dataset.Scheme{"s3": s3.OpenURL},
		Formats: map[string]dataset.Format{".parquet": parquet.OpenShards},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	p, err := pipeline.New(pipeline.Options{BatchSize: 64}, func(g *pipeline.Graph) {
		encoded, label := d.Read(g, pipeline.ReaderOptions{Shuffle: true})
		g.Output("image", ops.DecodeRandomCrop(g, encoded, ops.RandomCropOptions{}))
		g.Output("label", label)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Format, p.Readers()[0].Len())
}
