package iterator

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// Options configures a Loader. The zero value follows the only reader of the
// pipelines, exactly, with the policy Partial.
type Options struct {
	// ReaderName names the reader that drives the loader: its size, shards and
	// padding decide the epochs. Default: the only reader there is.
	ReaderName string

	// LastBatch says what becomes of samples that do not fill a batch; default
	// shard.Partial.
	LastBatch shard.Policy

	// Partition says how ranks share an epoch; default shard.ByShard.
	Partition shard.Partition

	// Mode selects plankton's exact epochs, the default, or those of NVIDIA
	// DALI with their irregularities, shard.DALI.
	Mode shard.Mode
}

// OptionError is an option that cannot be met.
type OptionError struct {
	Field string
	Err   error
}

func (e *OptionError) Error() string { return fmt.Sprintf("iterator: %s: %v", e.Field, e.Err) }
func (e *OptionError) Unwrap() error { return e.Err }

// String writes the options, as in "reader train, last batch partial".
func (o Options) String() string {
	name := o.ReaderName
	if name == "" {
		name = "(only one)"
	}
	return fmt.Sprintf("reader %s, last batch %s, partition by %s, mode %s", name, o.LastBatch, o.Partition, o.Mode)
}

// driver returns the reader of p that drives the loader, and its position.
func (o Options) driver(p *pipeline.Pipeline) (int, *pipeline.Reader, error) {
	readers := p.Readers()
	if o.ReaderName == "" && len(readers) == 1 {
		return 0, readers[0], nil
	}
	var names []string
	for i, r := range readers {
		if r.Name == o.ReaderName {
			return i, r, nil
		}
		names = append(names, r.Name)
	}
	if o.ReaderName == "" {
		return 0, nil, &OptionError{"ReaderName", fmt.Errorf("the pipeline has readers %q; name the one that drives the loader", names)}
	}
	return 0, nil, &OptionError{"ReaderName", fmt.Errorf("there is no reader %q; the pipeline has %q", o.ReaderName, names)}
}

// agree reports the first setting in which two pipelines' driving readers
// differ although a loader needs them equal.
func agree(p, q *pipeline.Pipeline, a, b *pipeline.Reader) error {
	for _, f := range []struct {
		field string
		x, y  any
	}{
		{"batch size", p.Options().BatchSize, q.Options().BatchSize},
		{"number of samples", a.Len(), b.Len()},
		{"NumShards", a.NumShards, b.NumShards},
		{"PadLastBatch", a.PadLastBatch, b.PadLastBatch},
		{"StickToShard", a.StickToShard, b.StickToShard},
		{"Shuffle", a.Shuffle, b.Shuffle},
		{"seed", p.Options().Seed, q.Options().Seed},
	} {
		if f.x != f.y {
			return &OptionError{"pipelines", fmt.Errorf("the %s differs: %v and %v; pipelines of one loader must agree", f.field, f.x, f.y)}
		}
	}
	return nil
}
