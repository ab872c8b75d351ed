package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/rows"
)

// endpoint is one address at which workers are: one of them, or several behind a load
// balancer.
type endpoint struct {
	*link
	c     *client
	ctx   context.Context
	close context.CancelFunc

	greeted  bool   // the first hello was said by client.greet
	instance string // that has answered the last hello
	err      error  // of that
	up       bool   // what was told last

	mu       sync.Mutex
	told     map[string]bool // refusals that were told of
	bad      map[string]error
	refusals int // answers in a row that were refusals
}

// Waits between tries: a worker that comes back is used within a second.
const (
	leastWait   = 20 * time.Millisecond
	mostWait    = 500 * time.Millisecond
	refusedWait = 5 * time.Second // between looks at a worker that is refused
	mostRefused = 8               // refusals in a row after which an address is refused
)

// greet says hello.
func (e *endpoint) greet(timeout time.Duration) error {
	e.greeted = true
	for range 3 { // behind a load balancer another one may answer
		e.instance, e.err = e.hello(e.ctx, timeout)
		if e.err == nil {
			e.err = e.badInstance(e.instance)
		}
		var refused *RefusedError
		if !errors.As(e.err, &refused) {
			break
		}
		e.link.close() // the next hello takes another connection
	}
	return e.err
}

// note tells what the last hello has found, where that is new.
func (e *endpoint) note() {
	var refused *RefusedError
	switch {
	case e.ctx.Err() != nil:
		return
	case errors.As(e.err, &refused):
		e.refuse(e.err)
	case e.err == nil:
		e.c.house.Note(e.name, rows.Up, nil)
	case e.up:
		e.c.house.Note(e.name, rows.Down, e.err)
	}
	e.up = e.err == nil
}

// badInstance returns why a process is not used, nil if it is.
func (e *endpoint) badInstance(instance string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bad[instance]
}

// run has the worker work until the run ends, or the address is dropped.
func (e *endpoint) run() {
	defer e.link.close()
	down, again := backOff{least: leastWait, most: mostWait}, backOff{least: mostWait / 2, most: refusedWait}
	for {
		if !e.greeted {
			e.greet(helloTimeout)
			e.note()
		}
		e.greeted = false
		var refused *RefusedError
		switch err := e.err; {
		case e.ctx.Err() != nil:
			return
		case errors.As(err, &refused):
			if !again.wait(e.ctx) {
				return
			}
			continue
		case err != nil:
			if !down.wait(e.ctx) {
				return
			}
			continue
		}
		again.reset()
		began := time.Now()
		err := e.work()
		if e.ctx.Err() != nil {
			return
		}
		if time.Since(began) > mostWait { // else it may go up and down all the time
			down.reset()
		}
		if errors.As(err, &refused) {
			e.refuse(err)
		} else {
			e.c.house.Note(e.name, rows.Down, err)
		}
		e.up = false
		if !down.wait(e.ctx) {
			return
		}
	}
}

// refuse tells of a refusal, once of each.
func (e *endpoint) refuse(err error) {
	e.mu.Lock()
	told := e.told[err.Error()]
	if len(e.told) < 64 {
		e.told[err.Error()] = true
	}
	e.mu.Unlock()
	if !told {
		e.c.house.Note(e.name, rows.Refused, err)
	}
}

// work keeps requests in flight until one of them fails, and returns why.
func (e *endpoint) work() error {
	ctx, cancel := context.WithCancelCause(e.ctx)
	defer cancel(nil)
	e.mu.Lock()
	e.refusals = 0
	e.mu.Unlock()
	var group sync.WaitGroup
	for range e.c.o.InFlight {
		group.Go(func() {
			err := errLane
			defer func() { cancel(err) }()
			err = e.lane(ctx)
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

var errLane = errors.New("an operator behind the cut ended the goroutine of its rows")

// lane keeps a request in flight until it fails.
func (e *endpoint) lane(ctx context.Context) error {
	busy := backOff{least: leastWait, most: mostWait}
	m := &maker{l: e.link, answered: func() {
		busy.reset()
		e.mu.Lock()
		e.refusals = 0
		e.mu.Unlock()
	}}
	for {
		err := e.c.house.Lane(ctx, e.name, e.instance, m)
		var refused *RefusedError
		var other *rows.DistrustError
		var full *busyError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &full):
		case errors.As(err, &other):
			err = e.refused("process " + other.Instance + ": " + other.Error())
			e.mu.Lock()
			if e.bad == nil {
				e.bad = map[string]error{}
			}
			e.bad[other.Instance] = err
			e.mu.Unlock()
			if e.oneMore(err) {
				return err
			}
		case errors.As(err, &refused):
			if e.oneMore(err) {
				return err
			}
		default:
			return err
		}
		if !busy.wait(ctx) {
			return context.Cause(ctx)
		}
	}
}

// oneMore tells of a refusal, and reports whether there were so many in a row that the whole
// address is refused: behind a load balancer one refusal is not all.
func (e *endpoint) oneMore(err error) bool {
	e.refuse(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refusals++
	return e.refusals >= mostRefused
}
