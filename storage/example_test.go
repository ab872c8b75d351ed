package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"testing/fstest"

	"github.com/planktonml/plankton/storage"
)

// A part of a file is read from any place in the same way: a folder, an archive, a bucket.
func ExampleReadRange() {
	place := fstest.MapFS{"train/0000.tar": {Data: []byte("one two three")}}
	part := make([]byte, 3)
	if err := storage.ReadRange(context.Background(), place, "train/0000.tar", 4, part); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", part)
	err := storage.ReadRange(context.Background(), place, "train/0000.tar", 12, part)
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF))
	// Output:
	// two
	// true
}
