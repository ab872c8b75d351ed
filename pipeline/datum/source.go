package datum

import (
	"context"
	"errors"
	"iter"
)

// Source is a data set that can be read in any order.
//
// Read must be safe for concurrent use and must return soon after ctx ends. A Source
// that can do something for a sample before it is read is a Prefetcher or a Toucher
// as well.
type Source interface {
	// Len returns the number of samples; at least 1.
	Len() int64
	// Outputs says what Read delivers.
	Outputs() []Spec
	// Meta describes the data set.
	Meta() Meta
	// Read puts sample index, 0 ≤ index < Len, into out: one tensor per
	// output, of the type and shape that were declared. One that it does not write
	// fails the sample with a *NotWrittenError, as in Kernel.Run.
	Read(ctx context.Context, index int64, out []*Tensor) error
	// Describe names a sample for error messages: a path, where there is one.
	Describe(index int64) string
}

// Sequence is a data set that can only be read from its beginning, such as a
// stream. It has no length, so it cannot be shuffled, cut into shards or
// resumed.
type Sequence interface {
	Outputs() []Spec
	Meta() Meta
	// Samples returns an iterator over one epoch. Each yielded function puts
	// its sample into out, as Source.Read does; it is called once, before the next one
	// is asked for. An error ends the epoch; ErrNoSample does not.
	Samples() iter.Seq2[func(out []*Tensor) error, error]
	Describe(index int64) string
}

// ErrNoSample is what a Sequence yields in place of a sample for a row that is to have
// none: the row is not valid. A batch of such rows alone is taken for the end of the epoch.
var ErrNoSample = errors.New("datum: there is no sample for the row")

// Meta describes a data set.
type Meta struct {
	Classes []string // names of the classes, by label; nil where there are none
	// Fingerprint changes when the data set does: when samples are added,
	// removed or renamed.
	Fingerprint uint64
}

// Named is a Source whose samples have names by which they belong to those of another data
// set, such as a file's path below its folder, without the ending. A reader that follows
// another one is refused where a name stands at another place than there, so that files
// that sort otherwise are not paired by chance. Names that are not there do no harm.
type Named interface {
	Source
	// SampleName names a sample; "" where the program has chosen its place.
	SampleName(index int64) string
}

// Prefetcher is a Source that can bring samples nearer before they are read, such
// as from a disk into the page cache.
//
// While workers make batches, goroutines beside them call Prefetch for what the
// workers are about to read: for every valid row at most once, roughly in the
// order of the rows. Where samples turn out to be at hand already, these goroutines ask for
// one sample in 32, until one was not at hand.
type Prefetcher interface {
	Source
	// Prefetch begins to fetch a sample and reports whether there was need for it.
	// It may block, and should return when ctx ends, which the end of a run waits
	// for. It is called by several goroutines at once. An error is Read's to return;
	// a panic fails the sample that it was called for, unless that has been read by then.
	Prefetch(ctx context.Context, index int64) (fetched bool)
	// ReadAhead returns how many samples ahead of the workers Prefetch is to be
	// called, as far as these samples belong to batches that are being made: at most
	// pipeline.Options.PrefetchDepth + 1 batches. There is one goroutine for every 32
	// samples; below 1 there is none.
	ReadAhead() int
}

// Toucher is a Source whose samples lie in memory. A worker calls Touch for a
// sample that it, or another one, reads a few rows later: Touch asks the
// processor for the sample's memory and does not wait for it, so that reading
// samples in a random order does not wait for the memory each time. It is called
// by several goroutines at once. A panic fails the sample that the worker is at.
type Toucher interface {
	Source
	Touch(index int64)
}
