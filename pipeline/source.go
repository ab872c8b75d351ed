package pipeline

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// ReaderOptions says how a reader goes through its source. The names and
// meanings are NVIDIA DALI's.
type ReaderOptions struct {
	Name         string // for iterator.Options.ReaderName; default "reader", "reader2", …
	NumShards    int    // the data set is cut into this many shards; default 1
	ShardID      int    // the shard that this reader starts with
	StickToShard bool   // read the same shard in every epoch instead of moving on
	PadLastBatch bool   // fill up with the last sample instead of going on
	Shuffle      bool   // another order in every epoch
	Split        Split  // the part of the data set to read; default the whole

	// Follow names a reader that was added before, such as "pictures": row for row this
	// one reads what belongs to the other's sample, so that two stores make one, such as
	// pictures and their masks. What belongs to a sample is what has its index in a data
	// set of the same length (datum.Sample.Index); it is an error if the lengths differ. Shards,
	// padding, order and Split are those of the other reader, and stay empty here.
	Follow string
}

// Reader is a reader of a pipeline.
type Reader struct {
	ReaderOptions
	Source   datum.Source   // nil for a sequence; of a mix, its sources one after the other
	Sequence datum.Sequence // nil for a source

	Mix     Mix       // of Graph.Mix
	Sources []*Reader // what it mixes; nil for other readers

	shares *shard.Shares // of a mix with stages, or with mixes within; else nil

	place  int     // among the pipeline's readers
	leader *Reader // what it follows, which follows none; or nil
}

// Leader returns the reader that this one follows, nil where it follows none. A reader
// that follows a follower has the same leader.
func (r *Reader) Leader() *Reader { return r.leader }

// Len returns the number of samples, -1 for a sequence.
func (r *Reader) Len() int64 {
	if r.Source == nil {
		return -1
	}
	return r.Source.Len()
}

// Meta returns the metadata of the data set.
func (r *Reader) Meta() datum.Meta {
	if r.Source == nil {
		return r.Sequence.Meta()
	}
	return r.Source.Meta()
}

func (o *ReaderOptions) setDefaults(n int) {
	if o.NumShards == 0 {
		o.NumShards = 1
	}
	if o.Name == "" {
		o.Name = "reader"
		if n > 0 {
			o.Name = fmt.Sprintf("reader%d", n+1)
		}
	}
}

func (o *ReaderOptions) validate() error {
	switch {
	case o.NumShards < 0:
		return fmt.Errorf("NumShards is %d; it must be at least 1", o.NumShards)
	case o.ShardID < 0 || o.ShardID >= o.NumShards:
		return fmt.Errorf("ShardID is %d; with %d shards it must be 0 … %d", o.ShardID, o.NumShards, o.NumShards-1)
	}
	return nil
}

// Read adds a reader of src to the pipeline and returns its outputs. Packages
// with readers wrap it; call it with a datum.Source of your own.
func (g *Graph) Read(o ReaderOptions, src datum.Source) []Value {
	outputs := src.Outputs()
	if src.Len() < 1 {
		o.setDefaults(len(g.readers))
		g.Fail(o.Name, fmt.Errorf("the data set is empty"))
		return make([]Value, len(outputs))
	}
	src, err := o.Split.apply(src)
	if err != nil {
		o.setDefaults(len(g.readers))
		g.Fail(o.Name, err)
		return make([]Value, len(outputs))
	}
	if g.mixing != nil {
		return g.addSource(o, src)
	}
	return g.addReader(&Reader{ReaderOptions: o, Source: src}, outputs)
}

// ReadSequence adds a reader of a sequence. Shards, shuffling and splitting need a
// length and random access: asking for them is an error.
func (g *Graph) ReadSequence(o ReaderOptions, seq datum.Sequence) []Value {
	if o.Shuffle || o.NumShards > 1 || o.StickToShard || o.PadLastBatch || o.Split != (Split{}) {
		o.setDefaults(len(g.readers))
		g.Fail(o.Name, fmt.Errorf("a sequence has no length: it cannot be shuffled, sharded, padded or split; use a Source with random access"))
		return make([]Value, len(seq.Outputs()))
	}
	if g.mixing != nil {
		g.Fail(g.mixing.Name, errors.New("a sequence cannot be a source of a mix: it has no length; use a Source with random access"))
		return make([]Value, len(seq.Outputs()))
	}
	return g.addReader(&Reader{ReaderOptions: o, Sequence: seq}, seq.Outputs())
}

func (g *Graph) addReader(r *Reader, outputs []datum.Spec) []Value {
	r.setDefaults(len(g.readers))
	if err := r.validate(); err != nil {
		g.Fail(r.Name, err)
	}
	if g.block.parent != nil {
		g.Fail(r.Name, errors.New("a reader cannot be in a branch or loop"))
	}
	if g.cutAt() >= 0 {
		g.Fail(r.Name, errors.New("a reader cannot stand behind the cut (remote_cut), where no worker elsewhere reads; put it in front"))
	}
	r.place = len(g.readers)
	if r.Follow != "" {
		g.Fail(r.Name, g.follow(r))
	}
	for _, other := range g.readers {
		if other.Name == r.Name {
			g.Fail(r.Name, fmt.Errorf("two readers have this name"))
		}
		if other.Sequence != nil || r.Sequence != nil {
			g.Fail(r.Name, fmt.Errorf("a sequence must be the only reader of its pipeline"))
		}
	}
	g.readers = append(g.readers, r)
	return g.add(node{op: Op{Name: r.Name, Outputs: outputs}, reader: len(g.readers) - 1})
}
