package executor

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// errOver is the cause with which the context of a finished step ends.
var errOver = errors.New("executor: the run is over")

// step is one run of a program, or one loop: the root frame, and what its
// sessions share.
type step struct {
	x          *Executor
	ctx        context.Context
	parent     context.Context // the caller's
	cancel     context.CancelCauseFunc
	in         []Value
	rendezvous *Rendezvous
	lanes      *lanes // nil without a device
	alone      bool   // one goroutine at a time works on it
	helpers    int    // how many goroutines of the pool may work on it
	loop       *Loop  // nil for Run
	root       *iteration

	// inflight counts sessions, shared nodes and async nodes that are on their
	// way. At 0 nothing moves any more unless something from outside starts it.
	inflight atomic.Int64

	// failedAt is the first root iteration that failed, math.MaxInt64 if none
	// has. It and those behind it run no further nodes.
	failedAt atomic.Int64

	mu     sync.Mutex
	err    error // of failedAt
	gen    uint64
	frames [][]*frame // stock, by frameInfo
	calls  []*Call    // stock
	gates  []gate     // nil if every operator may run at any time

	// Under Executor.mu:
	shared      []shared // what any goroutine may take
	firstShared int      // of shared: those before are taken
	listed      bool     // in Executor.busy
	waiting     bool     // the caller of Run waits on moved
	done        bool
	moved       sync.Cond // shared or done changed

	ended atomic.Bool // the root iteration of a Run has no node left
}

func newStep(x *Executor) (*step, error) {
	st := &step{x: x, frames: make([][]*frame, len(x.prog.frames))}
	st.moved.L = &x.mu
	switch x.opts.Concurrency {
	case ConcurrencyNone:
		st.gates = make([]gate, 1)
	case ConcurrencyBackend:
		st.gates = make([]gate, numBackends)
	}
	if x.opts.Device != nil {
		var err error
		if st.lanes, err = newLanes(x.opts.Device, x.opts.Plan); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// begin makes the step ready to run under ctx.
func (st *step) begin(ctx context.Context, in []Value, r *Rendezvous) {
	st.parent = ctx
	st.ctx, st.cancel = context.WithCancelCause(ctx)
	st.in, st.rendezvous = in, r
	if r == nil && st.x.prog.transfers {
		st.rendezvous = NewRendezvous()
	}
	st.failedAt.Store(math.MaxInt64)
	st.err, st.done = nil, false
	st.ended.Store(false)
}

func (st *step) newRoot() *iteration {
	f := &frame{st: st, info: &st.x.prog.frames[0]}
	it := newIteration(f)
	it.outs = make([]Value, len(st.x.prog.outputs))
	return it
}

func (st *step) generation() uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.gen
}

// release gives up what the step has borrowed for a run.
func (st *step) release(ownRendezvous bool) {
	st.cancel(errOver)
	if ownRendezvous && st.rendezvous != nil {
		st.rendezvous.Abort(errOver)
	}
	st.in, st.ctx, st.parent, st.cancel, st.rendezvous = nil, nil, nil, nil, nil
}

// abandon gives up what a failed step has left behind.
func (st *step) abandon(root *iteration) {
	root.abandon()
	for i := range root.outs {
		root.outs[i].clear()
	}
	if st.lanes != nil {
		for _, l := range st.lanes.all {
			// An error of a stream has been reported by an event; it must not
			// stay for the next run.
			l.stream.Synchronize(context.Background())
		}
	}
}

// watch makes the end of the caller's context the end of the step, until stop
// is called.
func (st *step) watch(ctx context.Context) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	st.mu.Lock()
	gen := st.gen
	st.mu.Unlock()
	return context.AfterFunc(ctx, func() { st.abort(gen, context.Cause(ctx)) })
}

// abort ends all iterations of the step with err, if it is still the run of
// that generation.
func (st *step) abort(gen uint64, err error) {
	st.mu.Lock()
	stop := func() {}
	if gen == st.gen && st.note(-1, err) {
		stop = st.stopper()
	}
	st.mu.Unlock()
	stop()
	if st.loop != nil {
		st.loop.wake()
	}
}

// fail ends the step from the root iteration of `it` on. It reports whether
// what is on its way has to be stopped.
func (st *step) fail(it *iteration, item *nodeItem, err error) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.parent.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		// The kernel has noticed before the step did.
		return st.note(-1, context.Cause(st.parent))
	}
	root := it.root.index
	if root >= st.failedAt.Load() {
		return false
	}
	return st.note(root, &NodeError{
		Node: st.x.prog.names[item.id], Frame: it.frame.path(), Iteration: it.index, Root: root, Err: err,
	})
}

// note takes down the failure of a root iteration. An earlier iteration counts
// more than a later one; for the same one, the first failure counts. st.mu is
// held.
func (st *step) note(root int64, err error) (stop bool) {
	if root >= st.failedAt.Load() {
		return false
	}
	st.err = err
	st.failedAt.Store(root)
	return st.loop == nil || root < 0 || st.loop.settled(root)
}

// stop cancels everything that is on its way.
func (st *step) stop() {
	st.mu.Lock()
	stop := st.stopper()
	st.mu.Unlock()
	stop()
}

// stopper returns the function that cancels what is on its way now. st.mu is
// held; the function is called without locks, since receives fail in it and
// sessions go on from there.
func (st *step) stopper() func() {
	cancel, rendezvous, err := st.cancel, st.rendezvous, st.err
	return func() {
		cancel(err)
		if rendezvous != nil {
			rendezvous.Abort(err)
		}
	}
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
	c.item, c.iter, c.dead, c.stops, c.err, c.armed = item, t.iter, t.dead, false, nil, 0
	clear(c.issued)
	c.issued, c.held = c.issued[:0], c.held[:0]
	c.gated = st.gates != nil && item.kind == kindKernel
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
		st.lanes.close()
	}
}
