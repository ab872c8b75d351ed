package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/stats"
)

// decodeFile is the name of the entropy index in a folder of data.
const decodeFile = "plankton.decode"

// decodeResult is the JSON of index --decode.
type decodeResult struct {
	Samples  int64  `json:"samples"`
	Pictures int64  `json:"pictures"` // of which there is an index
	Places   int64  `json:"places"`   // that the index has of them
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"` // of the file
}

// decode writes the entropy index, beside its place first.
func (c *indexCmd) decode(std *stdio) (err error) {
	if c.Dali || c.Label != "" {
		return usagef("--decode makes no index of shards: leave --dali and --label out")
	}
	path := c.Out
	if path == "" {
		if info, err := os.Stat(c.Data); err != nil || !info.IsDir() {
			return usagef("--data %s is no folder of this machine; say with --out where the entropy index is to be", c.Data)
		}
		path = filepath.Join(c.Data, decodeFile)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	res := decodeResult{File: path}
	err = errors.Join(temp.Chmod(0o644), c.fill(std, temp.Name(), &res), temp.Sync())
	if info, statErr := temp.Stat(); statErr == nil {
		res.Bytes = info.Size()
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if res.Pictures == 0 {
		return fmt.Errorf("--data %s has no JPEG file of which an index is kept: baseline files without restart intervals, larger than about 100 by 100 pixels", printable.Name(c.Data))
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(std.out, res)
	}
	_, err = fmt.Fprintf(std.out, "%d places of %s in %s; wrote %s of %d bytes\n",
		res.Places, plural(res.Pictures, "JPEG file"), plural(res.Samples, "sample"), printable.Name(path), res.Bytes)
	return err
}

// fill reads all samples once, with the entropy index in the given file.
func (c *indexCmd) fill(std *stdio, file string, res *decodeResult) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	data, err := openData(std, c.Data)
	if err != nil {
		return runNames.error(err)
	}
	defer data.Close()
	p, err := pipeline.New(pipeline.Options{BatchSize: 64, OnError: pipeline.Skip, EntropyIndex: pipeline.EntropyIndex{File: file}}, func(g *pipeline.Graph) {
		encoded, _ := data.Read(g, pipeline.ReaderOptions{})
		g.Output("places", ops.FillEntropyIndex(g, encoded))
	})
	if err != nil {
		return runNames.error(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return runNames.error(err)
	}
	progress := iterator.NewProgress(std.err, loader, 1)
	err = c.count(ctx, loader, progress, res)
	progress.Close()
	if err = errors.Join(err, loader.Close()); err != nil {
		return runNames.error(err)
	}
	return fileError(p.EntropyIndex())
}

// count adds up the places of all samples.
func (c *indexCmd) count(ctx context.Context, l *iterator.Loader, progress *iterator.Progress, res *decodeResult) error {
	for b, err := range l.Epoch(ctx) {
		if err != nil {
			return err
		}
		for i, n := range b.Int64s("places") {
			if b.Mask()[i] {
				res.Samples++
			}
			if n > 0 {
				res.Pictures++
				res.Places += n
			}
		}
		progress.Step("")
	}
	return ctx.Err()
}

// fileError returns why an entropy index could not be written, or nil.
func fileError(d stats.EntropyIndex) error {
	if d.FileError != "" {
		return errors.New(d.FileError)
	}
	return nil
}
