package serial

import (
	"context"
	"sync"
)

// Outcome is an error, or none, that whoever comes first settles. Its methods may
// be called from any goroutine.
type Outcome struct {
	once    sync.Once
	settled chan struct{}
	err     error
}

// MakeOutcome returns an outcome that is open. Once used it must not be copied.
func MakeOutcome() Outcome { return Outcome{settled: make(chan struct{})} }

// Settle makes err the outcome and reports true, unless there is one already.
func (o *Outcome) Settle(err error) (first bool) {
	o.once.Do(func() {
		o.err, first = err, true
		close(o.settled)
	})
	return first
}

// Wait blocks until the outcome is settled and returns it. When ctx ends first,
// its cause becomes the outcome.
func (o *Outcome) Wait(ctx context.Context) error {
	select {
	case <-o.settled:
	case <-ctx.Done():
		o.Settle(context.Cause(ctx))
	}
	return o.err
}
