package index_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/planktonml/plankton/storage/index"
)

func ExampleOpen() {
	var shard bytes.Buffer
	w := tar.NewWriter(&shard)
	for _, file := range [][2]string{{"cat-1.jpg", "…"}, {"cat-1.cls", "0"}, {"dog-1.jpg", "……"}, {"dog-1.cls", "1"}} {
		if err := w.WriteHeader(&tar.Header{Name: file[0], Size: int64(len(file[1])), Mode: 0o644}); err != nil {
			log.Fatal(err)
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	place := fstest.MapFS{"train-000.tar": {Data: shard.Bytes()}} // or os.DirFS, or a bucket

	x, err := index.Open(context.Background(), place, []string{"train-000.tar"}, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for i := range x.Len() {
		p := x.Part(i, x.Field("jpg"))
		fmt.Printf("%s: label %d, %d bytes from byte %d of %s\n", x.Name(i), x.Label(i), p.Length, p.Offset, x.Objects()[x.Object(i)].Name)
	}
	// Output:
	// cat-1: label 0, 3 bytes from byte 512 of train-000.tar
	// dog-1: label 1, 6 bytes from byte 2560 of train-000.tar
}
