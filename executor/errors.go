package executor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/streams"
)

// Errors that can be told apart with errors.Is.
var (
	// ErrClosed is returned by what is used after Close, and is the cause of
	// the cancellation of what Close interrupts.
	ErrClosed = errors.New("executor: closed")

	// ErrInUse is returned by New for a Program that has an Executor already.
	ErrInUse = errors.New("executor: the program has an executor already")

	// ErrNoValue is returned by Run when an output of the graph is dead: the
	// branch that computes it was not taken.
	ErrNoValue = errors.New("the output has no value: the branch that computes it was not taken")

	// ErrStalled is returned when nothing is running and outputs are missing:
	// a control-flow node waits for a value that nobody will send, as in a
	// loop of which only some variables go on.
	ErrStalled = errors.New("executor: nothing is left to run, but the step is not finished: a node waits for a value that never comes")

	// ErrTwoValues is the error of a Merge node that receives two live values,
	// and of an Exit node that is live in two iterations.
	ErrTwoValues = errors.New("received two live values where the graph may send only one")

	// ErrMissingOutput is the error of a kernel that returned without setting
	// an output that another node reads.
	ErrMissingOutput = errors.New("the kernel left an output empty that another node reads")

	// ErrSelector is the error of a switch whose selector names no branch.
	ErrSelector = errors.New("the selector names no branch")

	// ErrAborted is what a Rendezvous that was aborted without a reason
	// reports.
	ErrAborted = errors.New("executor: rendezvous aborted")

	// ErrGoexit is the error of a kernel that ended its goroutine.
	ErrGoexit = errors.New("the kernel called runtime.Goexit")
)

// NodeError says which node failed and in which frame and iteration. The first
// failure of a run or loop is the one that is reported.
type NodeError struct {
	Node      string
	Frame     string // path of frames, "" for the root frame, else like "outer@3/inner"
	Iteration int64  // within Frame
	Root      int64  // iteration of the root frame: 0 for Run, the number of the batch in a Loop
	Err       error
}

func (e *NodeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "executor: node %q", e.Node)
	if e.Frame != "" {
		fmt.Fprintf(&b, " in iteration %d of loop %q", e.Iteration, e.Frame)
	}
	if e.Root != 0 {
		fmt.Fprintf(&b, " (root iteration %d)", e.Root)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

func (e *NodeError) Unwrap() error { return e.Err }

// GraphError says what is wrong with a graph. Node is "" where no single node
// is to blame.
type GraphError struct {
	Node   string
	Reason string
	Err    error // of the kernel's constructor, else nil
}

func (e *GraphError) Error() string {
	msg := "executor: " + e.Reason
	if e.Node != "" {
		msg = fmt.Sprintf("executor: node %q: %s", e.Node, e.Reason)
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

func (e *GraphError) Unwrap() error { return e.Err }

// PanicError is the error of a kernel that panicked.
type PanicError = streams.PanicError

// notReturned is the error of a kernel that did not return, given what recover
// returned. The deferred function that recovers calls it.
func notReturned(recovered any) error {
	if recovered == nil {
		return ErrGoexit
	}
	return streams.NewPanicError(recovered)
}

// TypeError says that a Value was read as something that it does not hold.
type TypeError struct {
	Want, Got string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("expected %s on the edge, but it carries %s", e.Want, e.Got)
}

// OutputError names the output of the graph that an error concerns.
type OutputError struct {
	Output string
	Err    error
}

func (e *OutputError) Error() string { return fmt.Sprintf("executor: output %q: %v", e.Output, e.Err) }

func (e *OutputError) Unwrap() error { return e.Err }
