package pipeline

import (
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/streams"
)

var (
	// ErrClosed is returned by everything that is used after Close.
	ErrClosed = fault.ErrClosed
	// ErrBusy is returned when a pipeline already has an owner: a loader, or a
	// run that is not over.
	ErrBusy = fault.ErrBusy
	// ErrReleased is returned, or the value of a panic where there is no error to
	// return, when a batch is used that was released.
	ErrReleased = fault.ErrReleased
	// ErrTooManyBad is returned when more samples failed than the options allow.
	ErrTooManyBad = fault.ErrTooManyBad
)

// The errors of a pipeline, whose fields stand in package fault.
type (
	// BuildError is a mistake in a pipeline's definition, found by New.
	BuildError = fault.BuildError
	// SampleError is a sample that could not be made.
	SampleError = fault.SampleError
	// MachineError is a sample that could not be made because of the state that the
	// process or the machine is in.
	MachineError = fault.MachineError
	// TimeoutError is a sample that took longer than Options.SampleTimeout.
	TimeoutError = fault.TimeoutError
	// WroteInputError is an operator that has changed one of its inputs.
	WroteInputError = fault.WroteInputError
	// MemoryError is memory for a dense output that could not be had.
	MemoryError = fault.MemoryError
	// BatchBudgetError is a batch whose samples do not fit into Options.MemoryBudget
	// together.
	BatchBudgetError = fault.BatchBudgetError
	// PanicError is a panic in an operator or reader. One for single samples fails its
	// sample, one for whole batches the run.
	PanicError = streams.PanicError
)
