package streams

import (
	"context"
	"sync"
)

// Runner carries a plan out: it issues kernels in the order of the plan, through
// Lanes of its own, behind the producers of the plan's waits. Make one with
// NewRunner and close it.
type Runner struct {
	plan    *Plan
	lanes   *Lanes
	waits   [][]int // per node: the nodes that it waits for
	records []bool  // per node: whether somebody waits for it

	turn  sync.Mutex // held by the run that uses the lanes
	host  Context    // what kernels of nodes on the host receive
	marks []*Mark    // per node: its mark in this run
	after []*Mark    // scratch of issue
}

// NewRunner makes the streams of the plan on the devices that the function
// returns for the plan's device numbers. A plan that cannot be carried out, such as
// one with a wait for what is issued later, is refused with an error that matches
// ErrPlan. Whether it orders the edges of a graph, which a Runner does not know, is
// for the caller to have Verify prove.
func NewRunner(plan *Plan, device func(number int) (Device, error)) (*Runner, error) {
	lanes, err := NewLanes(plan, device)
	if err != nil {
		return nil, err
	}
	n := len(plan.Streams)
	r := &Runner{plan: plan, lanes: lanes, waits: make([][]int, n), records: make([]bool, n), marks: make([]*Mark, n)}
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
		clear(r.marks)
		err := r.run(ctx, kernel)
		if e := r.lanes.Synchronize(context.WithoutCancel(ctx)); err == nil {
			err = e
		}
		return err
	})
}

// Close waits for the run that is going on and closes the streams. Kernels of
// later runs are not called on them, and those runs fail with ErrClosed.
func (r *Runner) Close() error {
	r.turn.Lock()
	defer r.turn.Unlock()
	return r.lanes.Close()
}

func (r *Runner) run(ctx context.Context, kernel func(node int) func(*Context) error) error {
	for _, v := range r.plan.Order {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.issue(ctx, v, kernel(v)); err != nil {
			return err
		}
	}
	return nil
}

// issue issues a node on its streams, or runs it here if it has none.
func (r *Runner) issue(ctx context.Context, v int, fn func(*Context) error) (err error) {
	r.after = r.after[:0]
	for _, u := range r.waits[v] {
		r.after = append(r.after, r.marks[u])
	}
	if len(r.plan.Streams[v]) > 0 {
		r.marks[v] = r.lanes.issue(v, r.after, r.records[v], []func(*Context) error{fn})
		return nil
	}
	if r.marks[v], err = r.lanes.Await(ctx, r.after); err != nil {
		return err
	}
	guard(func() error { return fn(&r.host) }, func(e error) { err = e })
	return err
}
