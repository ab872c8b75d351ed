package run

import (
	"context"
	"errors"
)

// ending is the end of a loop that was given up. What is at work then ends when it
// looks at its context, and what does not look takes its time, so that a goroutine
// waits for that: whoever needs the loop to be over waits for the goroutine, as long as
// its own context lasts. That makes it the one place in which a Runner waits for the
// program's code, but for Park, which takes a context as well.
type ending struct {
	over     chan struct{} // closed when nothing of the loop is left
	panicked any           // of a sequence that panicked when it was stopped
}

// end gives up the loop and everything in it. It does not wait.
func (r *Runner) end() {
	if r.loop == nil {
		return
	}
	r.Stop()
	e, loop := &ending{over: make(chan struct{})}, r.loop
	r.ending, r.loop = e, nil
	go func() {
		defer close(e.over)
		defer func() { e.panicked = recover() }()
		loop.Close()
		r.region.abandon()
	}()
}

// ended waits until nothing is left of the loop before, or returns the cause of ctx if
// that ends first. It panics if the program's sequence did.
func (r *Runner) ended(ctx context.Context) error {
	e := r.ending
	if e == nil {
		return nil
	}
	select {
	case <-e.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.ending = nil
	if e.panicked != nil {
		panic(e.panicked)
	}
	return nil
}

// errAbandoned ends the nodes of batches that nobody waits for any more.
var errAbandoned = errors.New("pipeline: the batch was given up")
