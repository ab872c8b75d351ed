// Package rows is the seam between a run of a pipeline and whoever makes rows for it in
// other processes. A row is a pure function of the definition, the data and a Key, so any
// process that has the same definition and data can make it. Package remote brings rows
// over HTTP; what else makes rows elsewhere implements Makers.
//
// The run owns the batches: it hands out keys, and takes values in where a row is still
// wanted. Nobody else knows which batch a row belongs to.
package rows

import (
	"context"
	"errors"
	"time"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Key is all that a row depends on beside the definition, the data and the seed.
type Key struct {
	Epoch int64   // the visit of the sample, as datum.Sample.Epoch
	IDs   []int64 // by reader of the definition: the sample that it reads
}

// Definition is what both sides must share, and what they need to know of it.
type Definition struct {
	Lines   []string     // describe all that decides what a row is; to be compared
	Readers int          // IDs of a Key
	Values  []datum.Spec // that cross from the maker to the run, in this order
	Samples int64        // of the first reader's data set
}

// Makers make rows elsewhere: pipeline.Options.Remote.
type Makers interface {
	// Check returns what is wrong with the makers as they are configured. A pipeline is not
	// built with makers that Check refuses.
	Check() error
	// Plan says how the run is to use them.
	Plan() Plan
	// Open begins a run that ends with ctx. It waits, not for long, until it is known which
	// makers there are. Where first is true, which it is for the first run of a pipeline, a
	// maker that makes other rows is an error. The function that Open returns is called once,
	// and returns when ctx has ended and nothing of the run is left.
	Open(ctx context.Context, house House, first bool) (serve func(), err error)
}

// Plan is how a run uses makers.
type Plan struct {
	Lanes    int           // requests at once, over all makers, at most
	Rows     int           // rows of a request, at most
	Only     bool          // workers of the process take new rows only when no maker has worked for Patience
	Patience time.Duration // the shortest time after which rows that do not come are overdue
	Audit    int           // one row in so many is made in this process as well and compared; 0 none
	Cached   bool          // makers keep what they have read: rows go to the one that has read their block before, if it is free
}

// House is a run that has rows to make.
type House interface {
	Definition() Definition
	// Lane lets m make rows of the run, one request after the other, until ctx ends or the
	// maker fails, and returns why: the cause of ctx, the error of m.Make, ErrOverdue, or a
	// *DistrustError. Instance names the process behind m, and name what the statistics call
	// it. There may be several lanes for a maker, each with an m of its own.
	Lane(ctx context.Context, name, instance string, m Maker) error
	// Note tells the statistics and the listeners what has become of the maker of a name.
	Note(name string, n Note, err error)
}

// Note is what may become of a maker.
type Note uint8

const (
	Up      Note = iota // it answers, and makes rows from now on
	Down                // it does not answer, or too late
	Refused             // it makes other rows, or takes no requests of this run
)

// ErrOverdue ends a lane whose rows have not come in time.
var ErrOverdue = errors.New("rows: a request is overdue")

// DistrustError is a maker that is not used, although its definition is the same: its rows
// differ from those that this process makes, or it makes none. It reads other data, or its
// memory or processor is broken.
type DistrustError struct {
	Instance string // the process
	Reason   string // what was seen, with the sample
}

func (e *DistrustError) Error() string { return e.Reason }

// Maker makes rows elsewhere. It belongs to one lane.
type Maker interface {
	// Make asks for rows and gives each to the answer as it comes. It returns when all have
	// come, when ctx has ended, or with an error. Rows that have not come are made by
	// somebody else.
	Make(ctx context.Context, q *Request, a Answer) error
}

// Request is rows that somebody wants. It is valid during Make.
type Request struct {
	Seed uint64
	Keys []Key
}

// Answer takes rows in. Its methods belong to the goroutine that is in Make.
type Answer interface {
	// From says which process the answer is from, before its first row. An error means that
	// the rows of that process are not taken; Make returns it.
	From(instance string) error
	// Row is called when the first byte of row i of the request has come, i from 0 in order.
	// Nil means that the row is not wanted any more; its bytes are to be skipped.
	Row(i int) Row
	// Failed says that the maker could not make row i, and why. The process makes it itself.
	Failed(i int, why string)
	// Received counts bytes that have come, now and then while a large row comes.
	Received(n int64)
}

// Row takes the values of one row in.
type Row interface {
	// Value returns where the bytes of the next value go to, which are to be written before
	// the next call. The error says why there cannot be such a value.
	Value(t datum.DType, l datum.Layout, shape []int) ([]byte, error)
	// End says that all values have been written. The row must not be used afterwards.
	End()
}

// Kitchen makes rows for other processes: the maker's side.
type Kitchen interface {
	Definition() Definition
	// Parallel returns how many calls of Make are worked on at once.
	Parallel() int
	// Make makes a row and shows its values, which are valid until show returns. It waits for
	// a worker that is free, or until ctx ends. The error, other than that of ctx or of show,
	// says why this process cannot make the row.
	Make(ctx context.Context, seed uint64, k Key, show func(values []*datum.Tensor) error) error
}
