package cache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/cache"
	"github.com/planktonml/plankton/storage/s3"
)

// All processes of the machine share a folder of half a terabyte.
func Example() {
	ctx := context.Background()
	bucket, err := s3.Open(ctx, s3.Options{Bucket: "pictures"})
	if err != nil {
		log.Fatal(err)
	}
	defer bucket.Close()
	near, err := cache.Open(ctx, bucket, cache.Options{Dir: "/fast/plankton", Bytes: 500 << 30})
	if err != nil {
		log.Fatal(err)
	}
	defer near.Close()
	dst := make([]byte, 1000)
	if err := storage.ReadRange(ctx, near, "train/0000.tar", 512, dst); err != nil {
		log.Fatal(err)
	}
	s := near.Stats()
	fmt.Println(s.Hits, "hits,", s.Used, "bytes are kept")
}
