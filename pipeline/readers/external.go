package readers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ExternalOptions configures [External]. Outputs must be given, and either Read
// and Len, or Seq.
type ExternalOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	Outputs []datum.Spec // of each value, its type, shape and so on

	// Read puts sample index, 0 ≤ index < Len, into out: one tensor per output,
	// each of which it must Resize, or Lend memory, and then fill; one that it
	// leaves as it was fails the sample with a *datum.NotWrittenError. It is called
	// by several goroutines at once and must return soon after ctx ends. The tensors
	// are the pipeline's: it must not keep them.
	Read func(ctx context.Context, index int64, out []*datum.Tensor) error
	Len  int64 // number of samples that Read can deliver

	// Seq yields the samples in their order. It is ranged over anew for every
	// epoch, by one goroutine at a time. An error ends the epoch. Slices in an
	// item are copied before the next item is asked for.
	//
	// A sequence has no length, so it cannot be shuffled, cut into shards,
	// padded, split or resumed in constant time.
	Seq iter.Seq2[Item, error]

	ClassNames []string // names of the classes by label

	// Fingerprint is to change when the data set does, so that a position that
	// was stored with another one is not taken up; 0 where that is not known.
	Fingerprint uint64

	// Describe names a sample for error messages; by default it is the name of
	// the reader with the index.
	Describe func(index int64) string

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order in every epoch

	Split pipeline.Split // the part of the data set to read, to train or to validate with; default the whole

	// Follow names the reader whose order this one takes: row for row it reads what has
	// the index of the other's sample; see [pipeline.ReaderOptions].
	Follow string
}

// Item is a sample of a sequence, one element per output.
//
// An element is a number or bool for an output without dimensions, such as
// int32(7), and a slice of the output's type for others, in row-major order.
// The slice must have exactly as many elements as the shape; one dimension
// may be -1 and follows from the length. Float16 is given as uint16.
type Item []any

// External reads what the program's own code delivers: a function of the index,
// or a sequence. The values returned are the outputs in their order.
func External(g *pipeline.Graph, o ExternalOptions) []pipeline.Value {
	none := make([]pipeline.Value, len(o.Outputs))
	if g.Err() != nil {
		return none
	}
	if err := o.validate(); err != nil {
		fail(g, "readers.External", o.Name, err)
		return none
	}
	options := pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}
	o.Outputs = slices.Clone(o.Outputs)
	if o.Seq != nil {
		return g.ReadSequence(options, &external{o})
	}
	return g.Read(options, externalSource{&external{o}})
}

func (o *ExternalOptions) validate() error {
	switch {
	case len(o.Outputs) == 0:
		return errors.New("Outputs is empty; describe at least one output")
	case o.Read == nil && o.Seq == nil:
		return errors.New("neither Read nor Seq is given; give a function of the index, or an iterator")
	case o.Read != nil && o.Seq != nil:
		return errors.New("both Read and Seq are given; give one of them")
	case o.Seq != nil && o.Len != 0:
		return fmt.Errorf("Len is %d, but a Seq has no length; leave Len out, or give Read in place of Seq", o.Len)
	case o.Seq != nil && o.Follow != "":
		return errors.New("a Seq cannot Follow a reader: it has an order of its own; give Read in its place")
	case o.Read != nil && o.Len < 1:
		return fmt.Errorf("Len is %d; Read needs the number of samples, at least 1", o.Len)
	}
	for i, spec := range o.Outputs {
		if o.Seq != nil && spec.DType.Size() == 0 {
			return fmt.Errorf("Outputs[%d] has no element type; a Seq needs one", i)
		}
		open := 0
		for _, d := range spec.Shape {
			if d == 0 || d < -1 {
				return fmt.Errorf("Outputs[%d] is %s: a dimension is at least 1, or -1 where it differs", i, spec)
			}
			if d == -1 {
				open++
			}
		}
		if o.Seq != nil && open > 1 {
			return fmt.Errorf("Outputs[%d] is %s: of a Seq one dimension at most can be -1, as it follows from the length; give Read in its place", i, spec)
		}
	}
	return nil
}

// external is what a function and a sequence have in common, and a
// datum.Sequence where there is one.
type external struct{ o ExternalOptions }

func (e *external) Outputs() []datum.Spec { return e.o.Outputs }

func (e *external) Meta() datum.Meta {
	return datum.Meta{Classes: e.o.ClassNames, Fingerprint: e.o.Fingerprint}
}

func (e *external) Describe(index int64) string {
	if e.o.Describe != nil {
		return e.o.Describe(index)
	}
	return describe("readers.External", e.o.Name, index)
}

// Samples ranges over Seq.
func (e *external) Samples() iter.Seq2[func(out []*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		var item Item
		fill := func(out []*datum.Tensor) error { return putItem(out, e.o.Outputs, item) }
		for it, err := range e.o.Seq {
			if err != nil {
				yield(nil, err)
				return
			}
			item = it
			if !yield(fill, nil) {
				return
			}
		}
	}
}

type externalSource struct{ *external }

func (e externalSource) Len() int64 { return e.o.Len }

func (e externalSource) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	return e.o.Read(ctx, index, out)
}
