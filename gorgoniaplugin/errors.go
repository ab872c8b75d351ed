package gorgoniaplugin

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/iterator"
)

var (
	// ErrRagged is an output whose samples differ in shape, so that no node
	// can hold a batch of them.
	ErrRagged = errors.New("its samples differ in shape")
	// ErrUnmasked is a loader whose batches may have rows that are not valid,
	// used by a graph that would take them for data.
	ErrUnmasked = errors.New("rows that are not valid would count as data")
	// ErrNotAttached is a loop over a feed before Attach.
	ErrNotAttached = errors.New("gorgoniaplugin: the feed is not attached: call Attach with the machine first")
	// ErrOtherGraph is Attach to a machine of a graph that the feed has no node in.
	ErrOtherGraph = errors.New("the machine belongs to another graph")
	// ErrNotReset is a loop's body in which the machine computed nothing, since it stood
	// behind its last run: see the package documentation.
	ErrNotReset = errors.New("gorgoniaplugin: the machine still stands behind an earlier RunAll, so that another one does nothing: call vm.Reset at the end of the loop's body")
	// ErrNoBatch is a run of a machine outside of the body of a loop over its
	// feed, when the batches are on the GPU.
	ErrNoBatch = errors.New("gorgoniaplugin: there is no batch: call RunAll in the body of a loop over the feed")
	// ErrMachineClosed is the use of a feed after its machine was closed, when the
	// batches are on the GPU: they were in its memory.
	ErrMachineClosed = errors.New("gorgoniaplugin: the machine was closed before the feed: close the feed first")
	// ErrMachineFailed is a feed attached to a machine that computes no more on the GPU:
	// something has failed there, as a RunAll or an Attach before has told.
	ErrMachineFailed = errors.New("gorgoniaplugin: the machine's engine has ended, since the driver or cuBLAS has failed: make another machine, or start the program again where that fails, too")
	// ErrClosed is the use of a feed or its loader after Close.
	ErrClosed = iterator.ErrClosed
	// ErrBusy is a loop inside another one over the same feed or loader.
	ErrBusy = iterator.ErrBusy
)

// BindError is a node and an output that do not fit together, or one of them
// that cannot be used.
type BindError struct {
	Output string // name of the pipeline's output, or ""
	Node   string // name of the node, or ""
	Err    error
}

func (e *BindError) Error() string {
	s := "gorgoniaplugin: "
	if e.Output != "" {
		s += fmt.Sprintf("output %q: ", e.Output)
	}
	if e.Node != "" {
		s += fmt.Sprintf("node %q: ", e.Node)
	}
	return s + e.Err.Error()
}

func (e *BindError) Unwrap() error { return e.Err }
