package main

import (
	"archive/tar"
	"fmt"
	"io"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage/index"
)

// shardWriter writes samples into a shard. A label below 0 is none;
// others are what a sample has beside its picture and label.
type shardWriter interface {
	write(name string, label int32, encoded []byte, others []member) error
	close() error
}

func newShardWriter(format string, out io.Writer) shardWriter {
	if format == "tar" {
		return &tarWriter{tar.NewWriter(out)}
	}
	return &recordWriter{out: out}
}

// tarWriter writes an archive as WebDataset reads it. Nothing in it depends on when and by
// whom it was written.
type tarWriter struct{ w *tar.Writer }

func (t *tarWriter) write(name string, label int32, encoded []byte, others []member) error {
	picture := ending(encoded)
	if err := t.member(name+"."+picture, encoded); err != nil {
		return err
	}
	if label >= 0 {
		if err := t.member(name+".cls", fmt.Append(nil, label)); err != nil {
			return err
		}
	}
	for _, m := range others {
		if m.ending == picture {
			return fmt.Errorf("the sample %s has two files that end in .%s: by its content its picture is one; rename the other", printable.Name(name), picture)
		}
		if err := t.member(name+"."+m.ending, m.data); err != nil {
			return err
		}
	}
	return nil
}

func (t *tarWriter) member(name string, data []byte) error {
	err := t.w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: time.Unix(0, 0)})
	if err == nil {
		_, err = t.w.Write(data)
	}
	return err
}

func (t *tarWriter) close() error { return t.w.Close() }

// ending returns the ending of a picture's file, by its content.
func ending(data []byte) string {
	if e := formats[formatOf(data)].extensions; len(e) > 0 {
		return e[0][1:]
	}
	return "bin"
}

// recordWriter writes a TFRecord file of tf.train.Example.
type recordWriter struct {
	out io.Writer
	mem []byte
}

func (r *recordWriter) write(name string, label int32, encoded []byte, others []member) error {
	features := []index.Feature{{Key: "image/encoded", Bytes: encoded}}
	if label >= 0 {
		features = append(features, index.Feature{Key: "image/class/label", Int64s: []int64{int64(label)}})
	}
	features = append(features, index.Feature{Key: "image/filename", Bytes: []byte(name + "." + ending(encoded))})
	for _, m := range others {
		features = append(features, index.Feature{Key: m.ending, Bytes: m.data})
	}
	r.mem = index.AppendRecord(r.mem[:0], index.ExamplePieces(features...)...)
	_, err := r.out.Write(r.mem)
	return err
}

func (r *recordWriter) close() error { return nil }
