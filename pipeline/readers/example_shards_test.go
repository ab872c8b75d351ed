package readers_test

import (
	"fmt"
	"log"
	"testing/fstest"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage/index"
)

func ExampleShards() {
	var file []byte
	for label, picture := range []string{"a cat", "a dog", "a fish"} {
		file = index.AppendRecord(file, index.ExamplePieces(
			index.Feature{Key: "image/encoded", Bytes: []byte(picture)},
			index.Feature{Key: "image/class/label", Int64s: []int64{int64(label)}},
		)...)
	}
	place := fstest.MapFS{"train.tfrecord": {Data: file}} // or Root: the folder of the shards

	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		members, label := readers.Shards(g, readers.ShardsOptions{FS: place, Shuffle: true})
		g.Output("jpeg", members[0])
		g.Output("label", label)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Readers()[0].Len(), "samples of", p.Spec("label").Classes, "classes")
	// Output:
	// 3 samples of 3 classes
}

func ExamplePairs() {
	place := fstest.MapFS{
		"pictures/1.jpg": {Data: []byte("…")}, "masks/1_mask.png": {Data: []byte("…")},
		"pictures/2.jpg": {Data: []byte("…")}, "masks/2_mask.png": {Data: []byte("…")},
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		picture, _, mask := readers.Pairs(g, readers.PairsOptions{
			Pictures: readers.FileOptions{Name: "train", FS: place, Root: "pictures", Shuffle: true},
			Masks:    "masks", Suffix: "_mask",
		})
		g.Output("picture", picture)
		g.Output("mask", mask)
	})
	if err != nil {
		log.Fatal(err)
	}
	masks := p.Readers()[1]
	fmt.Printf("%d masks follow the reader %q\n", masks.Len(), masks.Follow)
	// Output:
	// 2 masks follow the reader "train"
}
