package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/planktonml/plankton/internal/printable"
)

// MachineError is a sample that could not be made because of the state that the
// process or the machine is in: too many open files, no memory, a device that
// cannot be read. The sample may be intact, so no error policy applies: the run ends,
// and goes on with the same batch when it is asked again.
type MachineError struct {
	Source string        // where the sample comes from: a path, or "reader[index]"
	Index  int64         // its index in the reader
	Op     string        // the reader or operator that failed
	Tried  time.Duration // for how long it was tried again; see Options.RetryFor
	Err    error
}

func (e *MachineError) Error() string {
	return fmt.Sprintf("pipeline: %s: %s: %s, after trying for %v; this is no fault of the sample, so it ends the run whatever OnError says: %s",
		printable.Name(e.Source), e.Op, printable.Line(e.Err.Error()), e.Tried.Round(time.Millisecond), machineState(e.Err).remedy)
}
func (e *MachineError) Unwrap() error { return e.Err }

// state is a state of the process or the machine in which reading fails.
type state struct {
	err    error
	remedy string
}

// What helps out of a state; machineStates has the errors of each operating system.
const (
	tooManyFiles     = "raise the process's limit of open files (ulimit -n), or lower Workers"
	tooManyOnMachine = "raise the machine's limit of open files, or end other programs"
	outOfMemory      = "free memory, or lower Workers, BatchSize or PrefetchDepth"
	unreadable       = "look at the disk or the network that the data are on"
)

// machineState returns the state that an error of a reader or operator comes from,
// nil where it is the sample's own.
func machineState(err error) *state {
	for i := range machineStates {
		if errors.Is(err, machineStates[i].err) {
			return &machineStates[i]
		}
	}
	return nil
}

// Between tries a worker waits, longer each time.
const (
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// retry is what a worker knows of the tries of the step at work.
type retry struct {
	step  int
	pause time.Duration // before the next try; 0 where the step has not failed
	began int64         // when the step failed first
}

// tryAgain waits and reports whether the step at work is to be tried once more,
// because its error is the machine's and a moment may mend that. A step is a pure
// function of the sample, so another try does no harm; only a sequence cannot be read
// again.
func (w *worker) tryAgain(s *step, err error) bool {
	if machineState(err) == nil || s.reader >= 0 && w.p.readers[s.reader].Sequence != nil {
		return false
	}
	r := &w.retry
	if r.pause == 0 || r.step != w.at {
		*r = retry{step: w.at, pause: firstPause, began: now()}
	}
	left := w.p.opt.RetryFor - r.tried()
	if left <= 0 {
		return false
	}
	w.limit.pause()
	defer w.limit.resume()
	timer := time.NewTimer(min(r.pause, left))
	defer timer.Stop()
	select {
	case <-w.sample.Context().Done():
		return false
	case <-timer.C:
	}
	r.pause = min(2*r.pause, longestPause)
	return true
}

// tried returns for how long the step has been tried again.
func (r *retry) tried() time.Duration {
	if r.pause == 0 {
		return 0
	}
	return time.Duration(now() - r.began)
}

// blame makes the error of the step at work a MachineError where it is one.
func (w *worker) blame(err error) error {
	if machineState(err) == nil {
		return err
	}
	e := &MachineError{Err: err}
	if w.retry.step == w.at {
		e.Tried = w.retry.tried()
	}
	return e
}
