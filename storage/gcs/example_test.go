package gcs_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"

	"github.com/planktonml/plankton/storage/gcs"
)

// A bucket that is open to all.
func Example() {
	bucket, err := gcs.Open(context.Background(), gcs.Options{Bucket: "gcp-public-data-landsat", Anonymous: true})
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	entries, err := fs.ReadDir(bucket, ".")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(entries), "files and folders")
}
