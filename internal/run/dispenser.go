package run

import (
	"context"
	"sync"
)

// dispenser hands out a number of things, such as slabs, to the calls that ask for one, in
// the order in which they ask. A call for which none is left waits until one is given
// back, or until the run ends. Waiting keeps no goroutine.
type dispenser[C waiter, T any] struct {
	// grant has a call go on with a thing. It is called without the lock.
	grant func(c C, thing T)

	mu      sync.Mutex
	free    []T
	waiting []C  // only while free is empty
	watched bool // abandon is called when the run ends
	over    bool // the run has ended
}

// waiter is a call that waits, such as an executor.Call of an async node.
type waiter interface {
	// Done ends the wait with an error.
	Done(err error)
}

func newDispenser[C waiter, T any](grant func(c C, thing T), free ...T) *dispenser[C, T] {
	return &dispenser[C, T]{grant: grant, free: free}
}

// take grants a thing to c, now or later. All calls have the context of the run. Its end
// ends those that wait with errAbandoned, and take returns that error for later ones.
func (d *dispenser[C, T]) take(ctx context.Context, c C) error {
	thing, ok, err := d.next(ctx, c)
	if ok {
		d.grant(c, thing)
	}
	return err
}

// next returns a free thing, or keeps the call until there is one.
func (d *dispenser[C, T]) next(ctx context.Context, c C) (thing T, ok bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return thing, false, errAbandoned
	}
	if !d.watched {
		d.watched = true
		context.AfterFunc(ctx, d.abandon)
	}
	n := len(d.free)
	if n == 0 {
		d.waiting = append(d.waiting, c)
		return thing, false, nil
	}
	thing = d.free[n-1]
	d.free = d.free[:n-1]
	return thing, true, nil
}

// give takes a thing back, and grants it to the call that has waited longest.
func (d *dispenser[C, T]) give(thing T) {
	d.mu.Lock()
	if len(d.waiting) == 0 {
		d.free = append(d.free, thing)
		d.mu.Unlock()
		return
	}
	c := d.waiting[0]
	d.waiting = d.waiting[1:]
	d.mu.Unlock()
	d.grant(c, thing)
}

// abandon ends the calls that wait.
func (d *dispenser[C, T]) abandon() {
	d.mu.Lock()
	waiting := d.waiting
	d.waiting, d.over = nil, true
	d.mu.Unlock()
	for _, c := range waiting {
		c.Done(errAbandoned)
	}
}
