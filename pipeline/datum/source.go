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
// as well; one that can fetch along the plan of a whole run, a PlanReader.
type Source interface {
	// Len returns the number of samples; at least 1.
	Len() int64
	// Outputs says what Read delivers.
	Outputs() []Spec
	// Meta describes the data set.
	Meta() Meta
	// Read puts sample index, 0 ≤ index < Len, into out: one tensor for each
	// output, which it gives memory and writes as a Kernel does, or lends (Tensor.Lend).
	// An output that it does not write fails the sample with a *NotWrittenError.
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
// none: the row is not valid. A batch that has only such rows is the end of the epoch.
var ErrNoSample = errors.New("datum: there is no sample for the row")

// Meta describes a data set.
type Meta struct {
	Classes []string // names of the classes, by label; nil where there are none
	// Fingerprint changes when the data set does: when samples are added,
	// removed or renamed.
	Fingerprint uint64
}

// Named is a Source whose samples have names by which they belong to the samples of another
// data set, such as the path of a file below its folder, without the ending. Where a reader
// follows another one (pipeline.ReaderOptions.Follow), a name that both data sets have must
// be at the same place in both, or the reader is refused: so files that are sorted in
// another order are not paired by chance. A name that only one of them has is ignored.
type Named interface {
	Source
	// SampleName names a sample; "" where the program has chosen its place.
	SampleName(index int64) string
}

// Listed is a Source that can say what its samples are called in their data set without
// reading them: a file's path below the folder, a key in a shard, a table's file and row.
type Listed interface {
	Source
	EntryName(index int64) string
}

// Entry is what is known of a sample without reading it.
type Entry struct {
	Name  string
	Label int64 // the class label; NoLabel where there is none
}

// NoLabel is the Label of an Entry that has none.
const NoLabel = -1

// EntryOf returns what is known of a sample: by Listed its name, or else its description,
// and by Labelled its label.
func EntryOf(src Source, index int64) Entry {
	e := Entry{Label: NoLabel}
	if l, ok := src.(Listed); ok {
		e.Name = l.EntryName(index)
	} else {
		e.Name = src.Describe(index)
	}
	if l, ok := src.(Labelled); ok {
		if label, ok := l.Label(index); ok {
			e.Label = int64(label)
		}
	}
	return e
}

// Prefetcher is a Source that can bring samples nearer before they are read, such
// as from a disk into the page cache.
//
// While workers make batches, goroutines beside them call Prefetch for what the
// workers are about to read: for every valid row at most once, roughly in the
// order of the rows. Where samples turn out to be at hand already, only one in 32 is asked
// for, until one is not at hand.
type Prefetcher interface {
	Source
	// Prefetch begins to fetch a sample and reports whether there was need for it.
	// It may block, and should return when ctx ends, since the end of a run waits for
	// it. It is called by several goroutines at once. It returns no error: Read will. A
	// panic fails the sample that Prefetch was called for; where a worker has read the
	// sample by then, the panic has no effect.
	Prefetch(ctx context.Context, index int64) (fetched bool)
	// ReadAhead returns how many samples ahead of the workers Prefetch is to be
	// called, as far as these samples belong to batches that are being made: at most
	// pipeline.Options.PrefetchDepth + 1 batches. There is one goroutine for every 32
	// samples; below 1 there is none.
	ReadAhead() int
}

// Toucher is a Source whose samples lie in memory. A worker calls Touch for a
// sample that it, or another worker, reads a few rows later. Touch asks the
// processor for the memory of the sample and does not wait for it, so that samples in a
// random order do not wait for memory one by one. It is called by several goroutines at
// once. A panic fails the sample that the worker is at.
type Toucher interface {
	Source
	Touch(index int64)
}

// Columned is a Source that knows numbers of its samples beside their outputs, such as lengths or weights: a column of
// a table, or the bytes of a member that an index has.
type Columned interface {
	Source
	// Column returns a number of each sample. It may read the whole column. The error says which columns there are.
	Column(ctx context.Context, name string) ([]float64, error)
}

// Labelled is a Source whose samples have labels that are known without reading them.
type Labelled interface {
	Source
	// Label returns the label of a sample; ok is false where it has none.
	Label(index int64) (label int32, ok bool)
}
