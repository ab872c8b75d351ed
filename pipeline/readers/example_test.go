package readers_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

func ExampleFile() {
	root, err := os.MkdirTemp("", "pictures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	for _, name := range []string{"cat/1.jpg", "dog/1.jpg", "dog/2.jpg"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("…"), 0o666)); err != nil {
			log.Fatal(err)
		}
	}

	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Workers: 1}, func(g *pipeline.Graph) {
		jpeg, label := readers.File(g, readers.FileOptions{Name: "train", Root: root, Shuffle: true})
		g.Output("jpeg", jpeg)
		g.Output("label", label)
	})
	if err != nil {
		log.Fatal(err)
	}
	train := p.Readers()[0]
	fmt.Println(train.Len(), "files of the classes", train.Meta().Classes)
	// Output:
	// 3 files of the classes [cat dog]
}

func ExampleIDX() {
	dir, err := os.MkdirTemp("", "digits")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	images, labels := filepath.Join(dir, "images-idx3-ubyte"), filepath.Join(dir, "labels-idx1-ubyte")
	// Two pictures of 28×28 pixels, all black, and their labels.
	black := append([]byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28}, bytes.Repeat([]byte{0}, 2*28*28)...)
	if err := errors.Join(os.WriteFile(images, black, 0o666), os.WriteFile(labels, []byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 3}, 0o666)); err != nil {
		log.Fatal(err)
	}

	_, err = pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		image, label := readers.IDX(g, readers.IDXOptions{Images: images, Labels: labels, Classes: 10})
		fmt.Println("image:", image.Spec())
		fmt.Println("label:", label.Spec(), "of", label.Spec().Classes)
		g.Output("image", image)
		g.Output("label", label)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// image: uint8 HWC 28×28×1
	// label: int32 scalar of 10
}

func ExampleSlices() {
	// Three flowers: lengths and widths in centimetres, and their kinds.
	sizes := []float32{5.1, 3.5, 7.0, 3.2, 6.3, 3.3}
	kinds := []int32{0, 1, 2}

	p, err := pipeline.New(pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Name: "flowers"},
			readers.Rows(sizes, 2),
			readers.Rows(kinds).WithClassNames("setosa", "versicolor", "virginica"))
		g.Output("size", v[0])
		g.Output("kind", v[1])
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Readers()[0].Len(), "rows of", p.Spec("size"), "and", p.Spec("kind"))
	// Output:
	// 3 rows of float32 2 and int32 scalar
}

// Two readers of the same data share it: a fifth is held out to validate with.
func ExampleSlices_split() {
	sizes := make([]float32, 150*2)
	part := func(holdout bool) *pipeline.Reader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 10}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{
				Name:  "flowers",
				Split: pipeline.Split{Folds: 5, Holdout: holdout},
			}, readers.Rows(sizes, 2))
			g.Output("size", v[0])
		})
		if err != nil {
			log.Fatal(err)
		}
		return p.Readers()[0]
	}
	train, validate := part(false), part(true)
	fmt.Println(train.Len(), "to train with,", validate.Len(), "to validate with")
	fmt.Println("the first ones:", train.Source.Describe(0), "and", validate.Source.Describe(0))
	// Output:
	// 120 to train with, 30 to validate with
	// the first ones: flowers[110] and flowers[108]
}

func ExampleSlices_mistake() {
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		readers.Slices(g, readers.SlicesOptions{Name: "flowers"},
			readers.Rows([]float32{1, 2, 3, 4}, 2),
			readers.Rows([]int32{0, 1, 2}))
	})
	fmt.Println(err)
	// Output:
	// pipeline: flowers: column 1 (int32 scalar) has 3 rows, column 0 (float32 2) has 2; all columns must have the same number
}

// A function of the index can be read in any order, by several workers at once.
func ExampleExternal() {
	square := func(_ context.Context, index int64, out []*datum.Tensor) error {
		if _, err := out[0].Resize(); err != nil {
			return err
		}
		out[0].Int64s()[0] = index * index
		return nil
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		v := readers.External(g, readers.ExternalOptions{
			Outputs: []datum.Spec{{DType: datum.Int64}},
			Len:     1000,
			Read:    square,
			Shuffle: true,
		})
		g.Output("square", v[0])
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Readers()[0].Len(), "samples")
	// Output:
	// 1000 samples
}

// Pictures and their masks lie in two folders, under the same names. The reader of the
// masks follows that of the pictures, so that a row has both of one sample, shuffled, in a
// part of the data set or not.
func ExampleFile_follow() {
	dir, err := os.MkdirTemp("", "scenes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"pictures/a.jpg", "pictures/b.jpg", "pictures/c.jpg", "masks/a.png", "masks/b.png", "masks/c.png"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755),
			os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644)); err != nil {
			log.Fatal(err)
		}
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 3, Seed: 1}, func(g *pipeline.Graph) {
		picture, _ := readers.File(g, readers.FileOptions{Name: "pictures", Root: filepath.Join(dir, "pictures"), Shuffle: true})
		mask, _ := readers.File(g, readers.FileOptions{Root: filepath.Join(dir, "masks"), Follow: "pictures"})
		g.Output("picture", picture) // decode, crop and flip both, with the same random values
		g.Output("mask", mask)
	})
	if err != nil {
		log.Fatal(err)
	}
	d := dali.New(p)
	defer d.Close()
	b, err := d.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for row := range b.Size() {
		fmt.Printf("%s %s\n", b.Sample("picture", row).Bytes(), b.Sample("mask", row).Bytes())
	}
	// Output:
	// pictures/b.jpg masks/b.png
	// pictures/a.jpg masks/a.png
	// pictures/c.jpg masks/c.png
}

// An iterator delivers what can only be read from its beginning.
func ExampleExternal_sequence() {
	text := "1.5,2.5,0\n3.5,4.5,1\n"
	rows := func(yield func(readers.Item, error) bool) {
		for r := csv.NewReader(strings.NewReader(text)); ; {
			fields, err := r.Read()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(parse(fields)) {
				return
			}
		}
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := readers.External(g, readers.ExternalOptions{
			Outputs: []datum.Spec{{DType: datum.Float64, Shape: []int{2}}, {DType: datum.Int32, Classes: 2}},
			Seq:     rows,
		})
		g.Output("point", v[0])
		g.Output("label", v[1])
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("length:", p.Readers()[0].Len())
	// Output:
	// length: -1
}

func parse(fields []string) (readers.Item, error) {
	x, errX := strconv.ParseFloat(fields[0], 64)
	y, errY := strconv.ParseFloat(fields[1], 64)
	label, errLabel := strconv.ParseInt(fields[2], 10, 32)
	return readers.Item{[]float64{x, y}, int32(label)}, errors.Join(errX, errY, errLabel)
}

// Three documents, which end with token 0, are packed into sequences of six. Targets do not
// cross documents.
func ExampleTokens() {
	dir, err := os.MkdirTemp("", "tokens")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "train.bin")
	var b bytes.Buffer
	for _, token := range []uint16{11, 12, 0, 21, 22, 23, 24, 0, 31, 32, 0} {
		b.Write([]byte{byte(token), byte(token >> 8)})
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		v := readers.Tokens(g, readers.TokensOptions{Files: []string{file}, HasEnd: true, End: 0, Length: 6, Pack: 100})
		g.Output("tokens", v.Tokens)
		g.Output("targets", v.Targets)
		g.Output("documents", v.Documents)
		g.Output("positions", v.Positions)
	})
	if err != nil {
		log.Fatal(err)
	}
	d := dali.New(p)
	defer d.Close()
	for range 2 {
		batch, err := d.Run(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range batch.Names() {
			fmt.Printf("%9s %v\n", name, batch.Int32s(name))
		}
	}
	// Output:
	//    tokens [21 22 23 24 0 0]
	//   targets [22 23 24 0 -1 -1]
	// documents [0 0 0 0 0 -1]
	// positions [0 1 2 3 4 0]
	//    tokens [11 12 0 31 32 0]
	//   targets [12 0 -1 32 0 -1]
	// documents [0 0 0 1 1 1]
	// positions [0 1 2 0 1 2]
}
