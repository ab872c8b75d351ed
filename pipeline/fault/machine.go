package fault

import (
	"errors"
	"fmt"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage"
)

// MachineError is a sample that could not be made because of the state that the
// process or the machine is in: too many open files, no memory, a device or a store that
// cannot be read. The sample may be intact, so no error policy applies: the run ends,
// and goes on with the same batch when it is asked again.
type MachineError struct {
	Source string        // where the sample comes from: a path, or "reader[index]"
	Index  int64         // its index in the reader
	Op     string        // the reader or operator that failed
	Tried  time.Duration // for how long it was tried again; see pipeline.Options.RetryFor
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

// OfMachine reports whether an error of a reader or operator comes from the state that the
// process or the machine is in, and not from the sample.
func OfMachine(err error) bool { return machineState(err) != nil }

// MachineStates returns the errors that OfMachine goes by: those of the operating system,
// and that of a store which cannot be reached.
func MachineStates() (errs []error) {
	for _, s := range machineStates {
		errs = append(errs, s.err)
	}
	return append(errs, away.err)
}

// away is the state of a store over a network; see [storage.ErrUnavailable].
var away = state{storage.ErrUnavailable, "look at the server and the network, or at the credentials, that the error names"}

// machineState returns the state that an error of a reader or operator comes from,
// nil where it is the sample's own.
func machineState(err error) *state {
	if errors.Is(err, away.err) {
		return &away
	}
	for i := range machineStates {
		if errors.Is(err, machineStates[i].err) {
			return &machineStates[i]
		}
	}
	return nil
}
