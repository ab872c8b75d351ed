// Package fault has the errors of a pipeline's definition and of its runs. Programs know
// them by the names that package pipeline gives them.
package fault

import (
	"errors"
	"fmt"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/memstats"
)

var (
	// ErrClosed is returned by everything that is used after Close.
	ErrClosed = errors.New("pipeline: closed")
	// ErrBusy is returned when a pipeline already has an owner: a loader, or a
	// run that is not over.
	ErrBusy = errors.New("pipeline: in use")
	// ErrReleased is returned, or the value of a panic where there is no error to
	// return, when a batch is used that was released.
	ErrReleased = errors.New("pipeline: the batch was released")
	// ErrTooManyBad is returned when more samples failed than the options allow.
	ErrTooManyBad = errors.New("pipeline: too many bad samples")
)

// BuildError is a mistake in a pipeline's definition, found by New.
type BuildError struct {
	Op  string // the operator or reader, by its name
	Err error
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("pipeline: %s: %s", e.Op, printable.Line(e.Err.Error()))
}
func (e *BuildError) Unwrap() error { return e.Err }

// SampleError is a sample that could not be made.
type SampleError struct {
	Source string // where the sample comes from: a path, or "reader[index]"
	Index  int64  // its index in the reader's data set, as datum.Sample.Index
	Op     string // the operator that failed
	Ended  bool   // it ended the run, under the policy Fail; Error then says how to go on without it
	Err    error
}

func (e *SampleError) Error() string {
	s := fmt.Sprintf("pipeline: %s: %s: %s", printable.Name(e.Source), e.Op, printable.Line(e.Err.Error()))
	if e.Ended {
		s += "; set OnError to Skip or Replace to go on without such samples"
	}
	return s
}
func (e *SampleError) Unwrap() error { return e.Err }

// MemoryError is memory for a dense output that could not be had when a run began,
// or under Autotune, when it needed one batch more.
type MemoryError struct {
	Op    string        // the operator or reader that makes the output, as in Pipeline.OperatorMemory
	Kind  memstats.Kind // of the memory
	Bytes int64         // for a batch
	Err   error         // of the allocator or the budget; it knows how much is free
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("pipeline: %d bytes of %s memory for a batch of %q: %v; lower BatchSize or the prefetch depth, or free memory", e.Bytes, e.Kind, e.Op, e.Err)
}
func (e *MemoryError) Unwrap() error { return e.Err }

// BatchBudgetError is a batch whose samples do not fit into pipeline.Options.MemoryBudget
// together, or not beside batches that the consumer holds while it waits for this
// one. It ends the run, whatever pipeline.Options.OnError says.
type BatchBudgetError struct {
	Held       int   // batches with the consumer
	Made, Rows int   // rows of the batch that had been made, of so many
	Estimate   int64 // bytes of a budget that would probably do, going by the rows there are; batches differ
	Err        *memstats.BudgetError
}

func (e *BatchBudgetError) Error() string {
	beside, release := "", ""
	if e.Held > 0 {
		beside, release = fmt.Sprintf(" beside the %d that are held", e.Held), "; or release them first"
	}
	return fmt.Sprintf("pipeline: a batch does not fit%s: after %d of its %d rows, %d bytes do not fit into the memory budget of %d with %d in use; raise it to about %d (an estimate from the rows so far), or use smaller batches or pictures%s",
		beside, e.Made, e.Rows, e.Err.Need, e.Err.Limit, e.Err.Used, e.Estimate, release)
}
func (e *BatchBudgetError) Unwrap() error { return e.Err }

// TimeoutError is a sample that took longer than pipeline.Options.SampleTimeout.
type TimeoutError struct {
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the sample took longer than SampleTimeout, %v; raise it, or leave the sample out", e.Limit)
}

// Timeout reports true: the error is one of time.
func (e *TimeoutError) Timeout() bool { return true }

// WroteInputError is an operator that has changed one of its inputs. It fails the
// sample, or, of an operator for whole batches, the run. Only builds with the tag
// invariants look for it.
type WroteInputError struct {
	Input int // its number
}

func (e *WroteInputError) Error() string {
	return fmt.Sprintf("input %d was changed; inputs are read-only, and others read them as well: write the result into an output", e.Input)
}
