package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Runner carries a plan out: it issues kernels on streams of its own, in the
// order of the plan, with its waits. Make one with NewRunner and close it.
type Runner struct {
	plan    *Plan
	streams []Stream
	waits   [][]int // per node: the nodes that it waits for
	records []bool  // per node: whether somebody waits for it

	turn   sync.Mutex // held by the run that uses the streams
	host   Context    // what kernels of nodes on the host receive
	events []Event    // per node: what it recorded in this run; nil for a node on the host
}

// NewRunner makes the streams of the plan on the devices that the function
// returns for the plan's device numbers. The plan must be one that Verify
// accepts.
func NewRunner(plan *Plan, device func(number int) (Device, error)) (*Runner, error) {
	n := len(plan.Streams)
	r := &Runner{plan: plan, waits: make([][]int, n), records: make([]bool, n), events: make([]Event, n)}
	for _, number := range plan.Device {
		d, err := device(number)
		var s Stream
		if err == nil {
			s, err = d.NewStream()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("streams: no stream on device %d: %w", number, err), r.Close())
		}
		r.streams = append(r.streams, s)
	}
	for _, w := range plan.Waits {
		if w.Distance == 0 { // a run is over before the next one starts
			r.waits[w.Consumer] = append(r.waits[w.Consumer], w.Producer)
			r.records[w.Producer] = true
		}
	}
	return r, nil
}

// Run issues one run of the graph as the next work of s and returns at once.
// Runs and other work on s come one after the other; so do runs on different
// streams, since they share the streams of the runner.
//
// kernel returns what a node does. A node on the host runs on the goroutine of
// the run, one at a time, with a Context of its own; a node on several streams
// receives the Context of the first.
//
// The event completes when all nodes have. The first error of a kernel is the
// error of the event and of s. What depends on a failed node is skipped. When
// ctx ends, nothing more is issued, what has been issued is waited for, and the
// error is the cause.
func (r *Runner) Run(ctx context.Context, s Stream, kernel func(node int) func(*Context) error) Event {
	return Schedule(ctx, s, func(ctx context.Context) error {
		r.turn.Lock()
		defer r.turn.Unlock()
		clear(r.events)
		err := r.issue(ctx, kernel)
		for _, s := range r.streams {
			if e := s.Synchronize(context.WithoutCancel(ctx)); err == nil {
				err = e
			}
		}
		return err
	})
}

// Close waits for the run that is going on and closes the streams. Kernels of
// later runs are not called on them, and those runs fail with ErrClosed.
func (r *Runner) Close() error {
	r.turn.Lock()
	defer r.turn.Unlock()
	var first error
	for _, s := range r.streams {
		if err := s.Close(); first == nil {
			first = err
		}
	}
	return first
}

func (r *Runner) issue(ctx context.Context, kernel func(node int) func(*Context) error) error {
	for _, v := range r.plan.Order {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if on := r.plan.Streams[v]; len(on) > 0 {
			r.onStreams(v, on, kernel(v))
		} else if err := r.onHost(ctx, v, kernel(v)); err != nil {
			return err
		}
	}
	return nil
}

// onStreams issues a node. The work is on its first stream; the others meet it
// there before, and go on from there after.
func (r *Runner) onStreams(v int, on []int, fn func(*Context) error) {
	first := r.streams[on[0]]
	for _, k := range on[1:] {
		first.Wait(r.streams[k].Record())
	}
	for _, u := range r.waits[v] {
		if r.events[u] != nil { // a node on the host has run by now
			first.Wait(r.events[u])
		}
	}
	first.Do(fn)
	if !r.records[v] && len(on) == 1 {
		return
	}
	r.events[v] = first.Record()
	for _, k := range on[1:] {
		r.streams[k].Wait(r.events[v])
	}
}

func (r *Runner) onHost(ctx context.Context, v int, fn func(*Context) error) (err error) {
	for _, u := range r.waits[v] {
		if r.events[u] == nil {
			continue
		}
		if err := r.events[u].Wait(ctx); err != nil {
			return err
		}
	}
	guard(func() error { return fn(&r.host) }, func(e error) { err = e })
	return err
}
