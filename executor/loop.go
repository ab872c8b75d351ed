package executor

import (
	"context"
	"fmt"
	"io"
	"math"
)

// LoopOptions configures a Loop. The zero value is ready to use.
type LoopOptions struct {
	// Slots is the number of root iterations that may be alive at once, those
	// that the consumer holds included: a prefetch depth of D is Slots = D + 1.
	// Default 3; 1 means that iteration k+1 starts when k has been released.
	Slots int

	// Limit is the number of iterations that may start; 0 means no limit.
	// Loop.Limit changes it later.
	Limit int64

	// In holds the values of the graph's inputs, in the order in which they
	// were declared; every iteration sees the same ones.
	In []Value

	// Rendezvous connects Send and Recv nodes with other programs. It is
	// aborted when the loop ends. Default: one of the loop's own.
	Rendezvous *Rendezvous
}

// Loop runs a program again and again as the body of a root loop frame: an
// input pipeline is a loop whose iterations are batches.
//
//   - Iterations start in order, as soon as one of the Slots is free, and may
//     overlap. Op.Order says what a node may do with its own earlier iteration:
//     overlap freely, start in order, or wait for it to finish.
//   - Iterations finish in any order; Next hands them out in iteration order.
//   - A Result is a hold on its iteration: its outputs and its slot stay as
//     they are until Release. Results may be released in any order; the last
//     release of an iteration deletes it and starts the next one.
//
// Nodes that are neither async nor expensive run on the goroutine that makes
// them ready: the one that calls Executor.Loop, Limit, Release, or Call.Done.
// No goroutine is kept for the loop itself, and a warm loop allocates nothing.
//
// A failure ends the loop in order as well: the iterations before the failed
// one are finished and delivered, then Next returns the *NodeError, and nothing
// of the loop is running any more. When the context given to Executor.Loop
// ends, all iterations do, and Next returns its cause.
//
// Next, Limit and Release may be called from different goroutines; Next from
// one at a time. Always Close a loop.
type Loop struct {
	st   *step
	run  handle
	stop func() bool // stops watching the caller's context

	ready chan struct{} // wakes Next; capacity 1

	mu      loopMutex
	asleep  bool // Next waits on ready
	slots   int
	limit   int64
	started int64        // the next iteration to start
	next    int64        // the next iteration to hand out
	alive   int          // iterations started and not deleted
	armed   *iteration   // iteration `started`: it collects order tokens
	window  []*iteration // those from next to started, by index modulo slots
	stock   []*iteration
	free    []int // slot numbers
	closed  bool
}

// Result is the consumer's hold on a finished iteration. It is passed by
// value; the copies are one hold.
type Result struct {
	it    *iteration
	index int64
}

// Loop starts a loop, which runs until Close. It ends when ctx does. The first
// iterations are started before it returns.
func (x *Executor) Loop(ctx context.Context, o LoopOptions) (*Loop, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := x.checkArgs(o.In, nil); err != nil {
		return nil, err
	}
	st, err := newStep(x)
	if err != nil {
		return nil, err
	}
	l := &Loop{st: st, ready: make(chan struct{}, 1), slots: o.Slots, limit: o.Limit, window: make([]*iteration, o.Slots)}
	for i := range o.Slots {
		l.free = append(l.free, o.Slots-1-i)
	}
	st.loop, st.helpers = l, x.opts.Workers
	if x.rows != nil {
		if err := x.rows.begin(o.Slots); err != nil {
			st.close()
			return nil, err
		}
	}
	st.life.settled = l.settled
	l.run = st.begin(ctx, o.In, o.Rendezvous)
	l.arm()
	l.stop = l.run.watch(ctx)
	if err := x.activate(l.run); err != nil {
		l.stop()
		l.run.end(err)
		st.over(o.Rendezvous == nil)
		l.endRows()
		st.close()
		l.leaveRows()
		return nil, err
	}
	if x.rows != nil {
		x.rows.Resume()
	}
	l.start()
	return l, nil
}

func (o *LoopOptions) setDefaults() error {
	switch {
	case o.Slots < 0:
		return fmt.Errorf("executor: LoopOptions.Slots is %d, expected 1 or more, or 0 for 3", o.Slots)
	case o.Limit < 0:
		return fmt.Errorf("executor: LoopOptions.Limit is %d, expected 0 or more", o.Limit)
	}
	if o.Slots == 0 {
		o.Slots = 3
	}
	if o.Limit == 0 {
		o.Limit = math.MaxInt64
	}
	return nil
}

// Next waits for the next iteration and returns a hold on it. It returns io.EOF when all
// iterations below the limit have been handed out, and goes on when the limit is raised. It
// returns the loop's error when an iteration has failed and nothing of the loop is running
// any more. If ctx, which is for this call only, ends first, it returns the cause of ctx.
//
// While the consumer holds results of all slots, Next waits for a Release.
func (l *Loop) Next(ctx context.Context) (Result, error) {
	for {
		r, ok, err := l.poll()
		if ok || err != nil {
			return r, err
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
	}
}

// poll is Next without the waiting.
func (l *Loop) poll() (r Result, ok bool, err error) {
	st := l.st
	l.mu.Lock()
	// Whoever notes that an iteration starts, finishes or fails is in flight meanwhile. So if
	// nothing is in flight, nothing more will be noted of the iterations that have started.
	quiet := st.inflight.Load() == 0
	failedAt := st.life.failedAt.Load()
	if quiet && l.next >= failedAt { // and stays so: nothing starts any more
		l.mu.Unlock()
		return Result{}, false, st.life.failure()
	}
	defer l.mu.Unlock()
	if l.next < l.started && l.next < failedAt {
		if it := l.window[l.next%int64(l.slots)]; it.finished {
			l.next++
			return Result{it, it.index}, true, nil
		}
	}
	switch {
	case l.next >= failedAt:
	case l.next == l.started:
		if l.next >= l.limit {
			return Result{}, false, io.EOF
		}
	case quiet:
		return Result{}, false, ErrStalled
	}
	l.asleep = true
	return Result{}, false, nil
}

// Ready returns the number of iterations that Next would hand out without
// waiting.
func (l *Loop) Ready() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.next
	for n < l.started && l.window[n%int64(l.slots)].finished {
		n++
	}
	return int(n - l.next)
}

// Limit sets the number of iterations that may start in all, and starts those that may start
// now. It returns n, or the number that has been started already if that is more. After
// Limit(0) no further iteration starts.
func (l *Loop) Limit(n int64) int64 {
	l.mu.Lock()
	l.limit = max(n, l.started)
	n = l.limit
	l.mu.Unlock()
	l.wake()
	l.start()
	return n
}

// Close ends the loop: it cancels what is running with ErrClosed and waits for
// it. Results that are still held stay valid. Further calls do nothing.
func (l *Loop) Close() {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	st, x := l.st, l.st.x
	l.run.end(ErrClosed)
	if !closed { // else another loop may have the rows by now
		l.endRows()
	}
	x.mu.Lock()
	for st.inflight.Load() > 0 {
		st.moved.Wait()
	}
	x.mu.Unlock()
	if closed {
		return
	}
	l.stop()
	l.mu.Lock()
	for ; l.next < l.started; l.next++ {
		st.abandon(l.window[l.next%int64(l.slots)])
	}
	l.mu.Unlock()
	st.over(true)
	st.close()
	l.leaveRows()
	x.mu.Lock()
	delete(x.active, st)
	x.inactive.Broadcast()
	x.mu.Unlock()
}

// endRows ends the calls whose rows are not made.
func (l *Loop) endRows() {
	if rows := l.st.x.rows; rows != nil {
		rows.end(ErrClosed)
	}
}

// leaveRows lets another loop have the rows.
func (l *Loop) leaveRows() {
	if rows := l.st.x.rows; rows != nil {
		rows.leave()
	}
}

// Index returns the number of the iteration.
func (r Result) Index() int64 { return r.index }

// Slot returns what Call.Slot was in the iteration.
func (r Result) Slot() int { return r.it.slot }

// Output returns output i of the graph, empty if it is dead. It is valid until
// the last Release.
func (r Result) Output(i int) Value {
	if r.it.index != r.index {
		panic(r.misuse())
	}
	return r.it.outs[i]
}

// Retain adds a hold, which takes a further Release to end.
func (r Result) Retain() {
	l := r.it.frame.st.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	r.check()
	r.it.holds++
}

// Release ends a hold. The last Release of an iteration deletes it and starts the next
// iteration that waits for a slot; nodes of that one that are neither async nor expensive run
// before Release returns. It panics if there is no hold left.
func (r Result) Release() {
	l := r.it.frame.st.loop
	if l.drop(r) {
		l.start()
	}
}

// drop ends a hold and reports whether it was the last one.
func (l *Loop) drop(r Result) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.check()
	r.it.holds--
	if r.it.holds > 0 {
		return false
	}
	for i := range r.it.outs {
		r.it.outs[i].clear()
	}
	l.free = append(l.free, r.it.slot)
	l.stock = append(l.stock, r.it)
	l.alive--
	return true
}

// check panics if r holds nothing any more. Loop.mu is held.
func (r Result) check() {
	if r.it.index != r.index || r.it.holds == 0 {
		panic(r.misuse())
	}
}

func (r Result) misuse() string {
	return fmt.Sprintf("executor: the result of iteration %d is used after its last Release", r.index)
}

// arm prepares the iteration after the one that is armed. l.mu is held, or l
// is new.
func (l *Loop) arm() {
	var it *iteration
	if n := len(l.stock); n > 0 {
		it = l.stock[n-1]
		l.stock = l.stock[:n-1]
	} else {
		it = l.st.newRoot()
	}
	index := l.started
	if l.armed != nil {
		index++
		l.armed.next = it
	}
	it.next, it.finished, it.holds = nil, false, 0
	it.armRoot(index)
	l.armed = it
}

// start starts iterations as far as there are slots and the limit allows.
func (l *Loop) start() {
	for {
		l.mu.Lock()
		if l.closed || l.alive == l.slots || l.started >= l.limit || l.started >= l.st.life.failedAt.Load() {
			l.mu.Unlock()
			return
		}
		it := l.armed
		l.arm()
		n := len(l.free)
		it.slot, it.holds = l.free[n-1], 1
		l.free = l.free[:n-1]
		l.window[it.index%int64(l.slots)] = it
		l.started++
		l.alive++
		l.st.inflight.Add(1)
		l.mu.Unlock()
		s := l.st.x.newSession(l.st)
		s.borrowed = true
		s.startRoot(it)
		s.run()
	}
}

// finished notes that all nodes of an iteration are done. It reports whether a
// consumer was woken, and whether the oldest iteration is now one that has failed, so that
// all that still runs has to be stopped.
func (l *Loop) finished(it *iteration) (woke, stop bool) {
	if it.index >= l.st.life.failedAt.Load() {
		return false, false
	}
	for i := range it.outs {
		it.outs[i].unstage()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	it.finished = true
	if it.index == l.next {
		woke = l.wakeLocked()
	}
	failedAt := l.st.life.failedAt.Load()
	return woke, failedAt != math.MaxInt64 && l.settledLocked(failedAt)
}

// settled reports whether all iterations before index have finished.
func (l *Loop) settled(index int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settledLocked(index)
}

func (l *Loop) settledLocked(index int64) bool {
	for i := l.next; i < min(index, l.started); i++ {
		if !l.window[i%int64(l.slots)].finished {
			return false
		}
	}
	return true
}

// wake makes Next look again.
func (l *Loop) wake() {
	l.mu.Lock()
	l.wakeLocked()
	l.mu.Unlock()
}

func (l *Loop) wakeLocked() bool {
	if !l.asleep {
		return false
	}
	l.asleep = false
	select {
	case l.ready <- struct{}{}:
	default:
	}
	return true
}
