package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// convertCmd writes pictures, labels and what else samples have into shards. Shard k holds the samples at k·N …
// (k+1)·N-1 of the order, so whatever shards there are, the others can be written without
// a look at them, with the same bytes.
type convertCmd struct {
	Data     string               `required:"" placeholder:"DATA" help:"Folder of pictures, flat or one folder per class, or of shards."`
	To       string               `required:"" placeholder:"DIR" help:"Folder to write shards to; one in which a run was interrupted is completed."`
	Format   string               `enum:"tar,tfrecord" default:"tar" help:"tar, as WebDataset reads it, or tfrecord."`
	PerShard int                  `default:"1000" help:"Samples in a shard."`
	Shuffle  bool                 `negatable:"" default:"true" help:"Write the samples in a random order, by which shards may be read in groups later."`
	Seed     uint64               `help:"Of the order."`
	Number   bool                 `help:"Name samples by their numbers in place of their names."`
	OnError  pipeline.ErrorPolicy `default:"fail" help:"What becomes of a sample that cannot be read: fail or skip."`
	Threads  int                  `placeholder:"N" help:"Workers; default one per processor."`
	JSON     bool                 `name:"json" help:"Print JSON."`
}

// convertResult is the JSON of convert.
type convertResult struct {
	Samples int64          `json:"samples"` // of the data set
	Shards  int            `json:"shards"`
	Written int            `json:"written"`         // of the shards, by this run
	Empty   int            `json:"empty,omitempty"` // of the shards: all samples were skipped, so none was written
	Skipped []benchSkipped `json:"skipped"`
}

// mostAtOnce is how many samples a batch of a conversion has at most.
const mostAtOnce = 32

func (c *convertCmd) Run(std *stdio) error {
	switch {
	case c.PerShard < 1:
		return usagef("--per-shard is %d; it must be at least 1", c.PerShard)
	case c.OnError == pipeline.Replace:
		return usagef("--on-error replace would write samples twice; want fail or skip")
	case c.Threads < 0:
		return usagef("--threads is %d; it must be at least 1, or 0 for one per processor", c.Threads)
	}
	data, err := openData(std, c.Data)
	if err != nil {
		return err
	}
	defer data.Close()
	res := convertResult{Skipped: []benchSkipped{}}
	p, err := pipeline.New(pipeline.Options{
		BatchSize: divisor(c.PerShard, mostAtOnce), Workers: c.Threads, Seed: c.Seed, OnError: c.OnError,
		OnSampleError: func(e *pipeline.SampleError) {
			res.Skipped = append(res.Skipped, benchSkipped{e.Source, e.Op, e.Err.Error()})
		},
	}, func(g *pipeline.Graph) {
		encoded, _ := data.Read(g, pipeline.ReaderOptions{Shuffle: c.Shuffle})
		g.Output("encoded", encoded)
	})
	if err != nil {
		return runNames.error(err)
	}
	source := p.Readers()[0].Source
	res.Samples = source.Len()
	res.Shards = int((res.Samples + int64(c.PerShard) - 1) / int64(c.PerShard))
	samples, err := newNaming(source, c.Number)
	if err != nil {
		return err
	}
	samples.members = newMembers(data, source)
	defer samples.members.close()
	if err := c.claim(source); err != nil {
		return err
	}
	err = c.writeAll(std, p, samples, &res)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted after %d of %s; run it again to write the others", res.Written, plural(int64(res.Shards), "shard"))
	case err != nil:
		return runNames.error(err)
	case c.JSON:
		return printJSON(std.out, res)
	}
	fmt.Fprintf(std.out, "%s in %s in %s", plural(res.Samples-int64(len(res.Skipped)), "sample"), plural(int64(res.Shards-res.Empty), "shard"), printable.Name(c.To))
	if n := res.Shards - res.Written - res.Empty; n > 0 {
		fmt.Fprintf(std.out, ", %d of which were there", n)
	}
	fmt.Fprintln(std.out)
	for _, s := range res.Skipped {
		fmt.Fprintf(std.out, "skipped %s: %s\n", printable.Name(s.Source), printable.Line(s.Error))
	}
	return nil
}

// divisor returns the largest number up to most that n is a multiple of, so that shards
// begin with a batch.
func divisor(n, most int) int {
	for d := min(n, most); ; d-- {
		if n%d == 0 {
			return d
		}
	}
}

// shardPath returns the path of a shard.
func (c *convertCmd) shardPath(k int) string {
	return filepath.Join(c.To, fmt.Sprintf("shard-%05d.%s", k, c.Format))
}

// writeAll writes the shards that are not there.
func (c *convertCmd) writeAll(std *stdio, p *pipeline.Pipeline, names *naming, res *convertResult) error {
	return followed(std, p, func(ctx context.Context, loader *iterator.Loader, progress *iterator.Progress) error {
		for k := 0; k < res.Shards; {
			if there(c.shardPath(k)) {
				k++
				continue
			}
			// One run goes over all shards that are missing from here on.
			end := k + 1
			for end < res.Shards && !there(c.shardPath(end)) {
				end++
			}
			steps := int64(k) * int64(c.PerShard/p.Options().BatchSize)
			if err := loader.Seek(shard.Position{Phases: []shard.Phase{{Shards: 1, Batch: p.Options().BatchSize, Steps: steps}}}); err != nil {
				return err
			}
			if err := c.writeRun(ctx, loader, progress, names, k, end, res); err != nil {
				return err
			}
			k = end
		}
		return nil
	})
}

// writeRun writes the shards from one on and before another one.
func (c *convertCmd) writeRun(ctx context.Context, l *iterator.Loader, progress *iterator.Progress, names *naming, from, to int, res *convertResult) error {
	next, stop := iter.Pull2(l.Epoch(ctx))
	defer stop()
	for k := from; k < to; k++ {
		err := atomicfile.Write(c.shardPath(k), func(out io.Writer) error {
			w, valid := newShardWriter(c.Format, out), 0
			for done := 0; done < c.PerShard; {
				b, err, ok := next()
				if err != nil {
					return err
				}
				if !ok {
					break
				}
				if err := writeBatch(ctx, w, b, names); err != nil {
					return err
				}
				done += b.Size()
				valid += b.NumValid()
				progress.Step("")
			}
			if valid == 0 {
				return errNoSample
			}
			return w.close()
		})
		if errors.Is(err, errNoSample) {
			res.Empty++
			continue
		}
		if err != nil {
			return err
		}
		res.Written++
	}
	return nil
}

// errNoSample is that all samples of a shard were skipped. Such a shard is not written,
// since readers refuse shards without samples.
var errNoSample = errors.New("the shard has no sample")

// writeBatch writes the valid rows of a batch.
func writeBatch(ctx context.Context, w shardWriter, b *iterator.Batch, names *naming) error {
	ids := b.IDs()
	for row, ok := range b.Mask() {
		if !ok {
			continue
		}
		name, err := names.of(ids[row])
		if err != nil {
			return err
		}
		label, labelled := names.label(ids[row])
		if !labelled {
			label = -1
		}
		others, err := names.members.of(ctx, ids[row], labelled)
		if err != nil {
			return fmt.Errorf("%s: %w", printable.Name(names.source.Describe(ids[row])), err)
		}
		if err := w.write(name, label, b.Sample("encoded", row).Bytes(), others); err != nil {
			return err
		}
	}
	return nil
}

// there reports whether a shard was written. What is there is whole: shards get their
// names when they are.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
