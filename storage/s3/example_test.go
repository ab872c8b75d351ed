package s3_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"

	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/s3"
)

// The server and the keys are those of the environment.
func Example() {
	ctx := context.Background()
	bucket, err := s3.Open(ctx, s3.Options{Bucket: "pictures", Prefix: "train"})
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	shards, err := fs.Glob(bucket, "*.tar")
	if err != nil {
		log.Fatal(err)
	}
	head := make([]byte, 512)
	if err := storage.ReadRange(ctx, bucket, shards[0], 0, head); err != nil {
		log.Fatal(err)
	}
	t := bucket.Traffic()
	fmt.Println(t.Requests, "requests,", t.Lists, "of them lists")
}
