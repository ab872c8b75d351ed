package executor

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/streams"
)

// step is one run of a program, or one loop: the root frame, and what its
// sessions share.
type step struct {
	x       *Executor
	ctx     context.Context // of the kernels
	in      []Value
	lanes   *streams.Lanes // nil without devices
	alone   bool           // one goroutine at a time works on it
	helpers int            // how many goroutines of the pool may work on it
	loop    *Loop          // nil for Run
	root    *iteration
	life    life

	// inflight counts sessions, shared nodes and async nodes that are on their
	// way. At 0 nothing moves any more unless something from outside starts it.
	inflight atomic.Int64

	limiters []limiter // nil if every operator may run at any time

	mu     leafMutex
	frames [][]*frame // stock, by frameInfo
	calls  []*Call    // stock

	// Under Executor.mu:
	shared      []sharedWork // what any goroutine may take
	firstShared int          // of shared: those before are taken
	listed      bool         // in Executor.busy
	waiting     bool         // the caller of Run waits on moved
	done        bool
	moved       sync.Cond // shared or done changed

	ended atomic.Bool // the root iteration of a Run has no node left
}

func newStep(x *Executor) (*step, error) {
	st := &step{x: x, frames: make([][]*frame, len(x.prog.frames))}
	st.moved.L = &x.mu
	switch x.opts.Concurrency {
	case ConcurrencyNone:
		st.limiters = make([]limiter, 1)
	case ConcurrencyBackend:
		st.limiters = make([]limiter, numBackends)
	}
	if len(x.opts.Devices) > 0 {
		var err error
		if st.lanes, err = x.opts.newLanes(); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// begin starts a run of the step under ctx.
func (st *step) begin(ctx context.Context, in []Value, r *Rendezvous) handle {
	if r == nil && st.x.prog.transfers {
		r = NewRendezvous()
	}
	var cancel context.CancelCauseFunc
	st.ctx, cancel = context.WithCancelCause(ctx)
	st.in, st.done = in, false
	st.ended.Store(false)
	return handle{st, st.life.begin(ctx, cancel, r)}
}

// over ends the run when nothing of it is on its way any more, and gives up what
// the step has borrowed for it.
func (st *step) over(ownRendezvous bool) error {
	var otherwise error
	if st.loop == nil && !st.ended.Load() {
		otherwise = ErrStalled
	}
	err := st.life.over(otherwise, ownRendezvous)
	st.in, st.ctx = nil, nil
	return err
}

func (st *step) newRoot() *iteration {
	f := &frame{st: st, info: &st.x.prog.frames[0]}
	it := newIteration(f)
	it.outs = make([]Value, len(st.x.prog.outputs))
	return it
}

// abandon gives up what a failed step has left behind.
func (st *step) abandon(root *iteration) {
	root.abandon()
	for i := range root.outs {
		root.outs[i].clear()
	}
	if st.lanes != nil {
		// An error of a stream has been reported by an event; it must not stay for
		// the next run.
		st.lanes.Synchronize(context.Background())
	}
}

// fail ends the run from the root iteration of `it` on. It reports whether what
// is on its way has to be stopped.
func (st *step) fail(it *iteration, item *nodeItem, err error) bool {
	root := it.root.index
	return st.life.fail(root, err, func() error {
		return &NodeError{
			Node: st.x.prog.names[item.id], Frame: it.frame.path(), Iteration: it.index, Root: root, Err: err,
		}
	})
}

// quiesce is called when nothing of the step is on its way.
func (st *step) quiesce() {
	st.x.mu.Lock()
	st.done = true
	st.moved.Broadcast()
	st.x.mu.Unlock()
	if st.loop != nil {
		st.loop.wake()
	}
}

// newCall takes a Call for an async node from the stock.
func (st *step) newCall(item *nodeItem, t tagged) *Call {
	st.mu.Lock()
	var c *Call
	if n := len(st.calls); n > 0 {
		c = st.calls[n-1]
		st.calls = st.calls[:n-1]
	} else {
		c = &Call{st: st, own: make([]Value, st.x.maxOuts+1)}
	}
	st.mu.Unlock()
	c.item, c.iter, c.dead, c.err, c.armed = item, t.iter, t.dead, nil, 0
	if c.stops.Load() {
		c.stops.Store(false)
	}
	clear(c.issued)
	c.issued, c.held = c.issued[:0], c.held[:0]
	c.limited = st.limiters != nil && item.kind == kindKernel && item.flags&nodeUnlimited == 0
	c.in = t.iter.in[item.in : item.in+item.numIn]
	if item.flags&nodeStream != 0 {
		c.in = c.in[:item.numIn-item.arg]
	}
	c.out = c.own[:item.outs]
	c.state.Store(callStarting)
	return c
}

func (st *step) keepCall(c *Call) {
	st.mu.Lock()
	st.calls = append(st.calls, c)
	st.mu.Unlock()
}

// resume goes on behind an async node that has been finished, on the goroutine
// that called Done.
func (st *step) resume(c *Call) {
	s := st.x.newSession(st)
	s.cur = c.iter
	s.delta = -1
	s.foreign = true
	s.finishCall(c)
	s.run()
}

func (st *step) close() {
	if st.lanes != nil {
		st.lanes.Close() // errors have been reported by the events
	}
}
