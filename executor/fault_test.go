package executor

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/planktonml/plankton/streams"
)

// fault is what goes wrong at one call of a kernel in a run.
type fault uint8

const (
	noFault fault = iota
	failing
	panicking
	exiting
	leavingEmpty
	faults
)

var errBoom = errors.New("boom")

// sabotage goes with the context of a run: at call number at, the fault occurs.
type sabotage struct {
	what  fault
	at    int64
	calls atomic.Int64
}

type sabotageKey struct{}

// due reports the fault of this call.
func due(ctx context.Context) fault {
	if s, ok := ctx.Value(sabotageKey{}).(*sabotage); ok && s.calls.Add(1) == s.at {
		return s.what
	}
	return noFault
}

// commit makes the fault of a call happen.
func commit(f fault, c *Call) error {
	switch f {
	case failing:
		return errBoom
	case panicking:
		panic(errBoom)
	case exiting:
		runtime.Goexit()
	case leavingEmpty:
		c.Set(0, Value{})
	}
	return nil
}

// explains reports whether err is what the fault leads to.
func (s *sabotage) explains(err error) bool {
	switch s.what {
	case failing, panicking:
		return errors.Is(err, errBoom) && errors.As(err, new(*NodeError))
	case exiting: // of the node, or of the goroutine of RunAsync or RunOn
		return errors.Is(err, ErrGoexit) || errors.As(err, new(*streams.PanicError))
	case leavingEmpty:
		return errors.Is(err, ErrMissingOutput)
	}
	return false
}
