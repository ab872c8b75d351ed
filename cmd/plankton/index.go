package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage/index"
)

// indexCmd writes the index of shards beside them, so that opening them costs no look at
// every sample, or that of JPEG files, so that decoders need not read all of their codes.
type indexCmd struct {
	Data   string `required:"" placeholder:"DIR" help:"Folder of .tar, .tfrecord or .mds shards; with --decode, also of pictures."`
	Label  string `placeholder:"MEMBER" help:"Member that is the label; default cls in tar archives, image/class/label or label in TFRecords."`
	Dali   bool   `help:"Write the files of NVIDIA DALI's wds2idx (version 1.2) or tfrecord2idx, one beside each shard, in place of one for all."`
	Decode bool   `help:"Write the entropy index of JPEG files, for bench --entropy-index and pipeline.Options.EntropyIndex, in place of the index of shards."`
	Out    string `placeholder:"FILE" help:"With --decode, the file to write; default plankton.decode in --data."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// indexResult is the JSON of index.
type indexResult struct {
	Samples int64    `json:"samples"`
	Shards  int      `json:"shards"`
	Files   []string `json:"files"` // that were written
	Bad     int64    `json:"bad"`   // samples that cannot be read
}

func (c *indexCmd) Run(std *stdio) error {
	if c.Decode {
		return c.decode(std)
	}
	if c.Out != "" {
		return usagef("--out is for --decode; the index of shards is beside them")
	}
	place := os.DirFS(c.Data)
	shards, err := index.Shards(place, ".")
	if err != nil {
		return fmt.Errorf("--data %s: %w", printable.Name(c.Data), err)
	}
	if len(shards) == 0 {
		return fmt.Errorf("--data %s holds no shards; give a folder of .tar, .tfrecord or .mds files", printable.Name(c.Data))
	}
	if c.Dali && index.Format(shards[0]) == "mds" {
		return usagef("--dali: NVIDIA DALI has no index files for MDS shards")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opened, closeLine := openOptions(std, 0)
	defer closeLine()
	x, err := index.Open(ctx, place, shards, index.Options{Label: c.Label, Fresh: true, Progress: opened.Progress})
	if err != nil {
		return fmt.Errorf("%s: %w", printable.Name(c.Data), err)
	}
	closeLine()
	res := indexResult{Samples: x.Len(), Shards: len(shards)}
	for i := range x.Len() {
		if x.Wrong(i) != nil {
			res.Bad++
		}
	}
	if c.Dali {
		res.Files, err = c.writeDali(x)
	} else {
		path := filepath.Join(c.Data, index.FileName)
		res.Files, err = []string{path}, atomicfile.Write(path, x.Write)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(std.out, res)
	}
	fmt.Fprintf(std.out, "%s in %s; wrote %s", plural(res.Samples, "sample"), plural(int64(res.Shards), "shard"), printable.Name(res.Files[0]))
	if n := len(res.Files); n > 1 {
		fmt.Fprintf(std.out, " and %s more", plural(int64(n-1), "file"))
	}
	fmt.Fprintln(std.out)
	if res.Bad > 0 {
		std.warn("%s cannot be read; plankton inspect names them", plural(res.Bad, "sample"))
	}
	return nil
}

// writeDali writes an index file of NVIDIA DALI's for every shard.
func (c *indexCmd) writeDali(x *index.Index) (files []string, err error) {
	for o, shard := range x.Objects() {
		part, err := x.Only(o)
		if err != nil {
			return files, err
		}
		beside, write := index.BesideTar(shard.Name), index.WriteWDS
		if x.Framed() {
			beside, write = index.BesideTFRecord(shard.Name), index.WriteTFRecordIndex
		}
		path := filepath.Join(c.Data, beside)
		if err := atomicfile.Write(path, func(w io.Writer) error { return write(w, part) }); err != nil {
			return files, fmt.Errorf("%s: %w", printable.Name(path), err)
		}
		files = append(files, path)
	}
	return files, nil
}
