package executor

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// RowPool makes the rows of a program's loop (Rows). It hands rows out as tickets of
// Rows.Grain rows, in the order of the iterations: whoever takes the next ticket makes its
// rows. Pause, Quiet and Resume belong to one goroutine.
//
// No function of Rows is called while RowPool.mu is held.
type RowPool struct {
	x       *Executor
	cfg     *Rows
	workers int   // numbers
	tickets int64 // of an iteration
	grain   int

	next  atomic.Int64 // the next ticket to take
	limit atomic.Int64 // tickets below may be taken; 0 while parked

	slots  []rowSlot    // of the loop, by iteration modulo their number
	hands  []hand       // by worker
	active atomic.Int32 // workers below this number work, the others rest
	yield  atomic.Bool  // the consumer is at work: workers give way after each ticket
	shares atomic.Bool  // so are others who make rows (Share)
	held   atomic.Bool  // workers take no new rows (Hold)

	mu      leafMutex
	wake    sync.Cond // workers wait here for tickets
	rest    sync.Cond // and those that SetWorkers has sent to rest here
	quiet   sync.Cond // Quiet and end wait here
	waiting int       // workers that wait, resting ones included
	resting int
	taken   int // rows of Take that are not done or given back
	nudges  int // calls of Nudge
	ending  int // calls of Rows.Finish on their way
	times   times
	started bool
	closed  bool
	parked  bool
	owned   bool  // a loop has the rows
	open    bool  // the loop may arm
	armed   int64 // iterations armed so far

	own    rowQueue     // rows to be made once more by workers,
	again  rowQueue     // and by anybody
	order  rowQueue     // rows that are kept for takers, and some that were
	kept   int          // the number of the former
	agains atomic.Int32 // the number of all but the latter

	takers []*taker // by number; what is kept for 0 is for all of them
	ranks  []*taker // those with most rows first
	above  []int    // how many of them have more than so many rows
	idlers []*taker // those that wait
	turn   int      // among idlers
}

// Taken is rows that RowPool has handed out: from Row up to End, which is none of
// them, of one iteration. Where all rows of an iteration are done or given back, its Call is
// another iteration's soon: who has none of them in hand must not look at it.
type Taken struct {
	Call     *Call
	Row, End int

	seq int64 // of the iteration, by arming
}

// rowSlot is one iteration in flight, on a cache line of its own.
type rowSlot struct {
	pending atomic.Int64 // tickets not yet done
	call    *Call        // nil when there is none
	kept    []int32      // by ticket, 1 and the number of the taker that it is kept for, or 0
	_       [24]byte
}

func newRowPool(x *Executor, cfg *Rows) *RowPool {
	e := &RowPool{x: x, cfg: cfg, workers: x.opts.Workers, grain: max(cfg.Grain, 1), parked: true}
	e.hands = make([]hand, e.workers)
	e.tickets = int64((cfg.N + e.grain - 1) / e.grain)
	e.wake.L, e.rest.L, e.quiet.L = &e.mu, &e.mu, &e.mu
	e.active.Store(int32(e.workers))
	return e
}

// begin gives the pool to a loop, which has it until leave.
func (e *RowPool) begin(slots int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.owned {
		return errOneLoop
	}
	e.owned, e.open, e.armed = true, true, 0
	for _, x := range e.takers {
		for x.kept.len() > 0 {
			e.takeKept(x)
		}
	}
	e.own.clear()
	e.again.clear()
	e.order.clear()
	e.counted()
	e.next.Store(0)
	e.limit.Store(0)
	if len(e.slots) != slots {
		e.slots = make([]rowSlot, slots)
	}
	return nil
}

// end waits for the rows in hand, and for what follows finished iterations, and ends
// the calls that are not done with err. Row must return soon after the end of the
// loop's context.
func (e *RowPool) end(err error) {
	e.Pause()
	e.Quiet(context.Background())
	e.mu.Lock()
	for e.ending > 0 {
		e.quiet.Wait()
	}
	e.open = false
	var calls []*Call
	for i := range e.slots {
		if c := e.slots[i].call; c != nil {
			calls = append(calls, c)
		}
	}
	e.mu.Unlock()
	for _, c := range calls {
		c.Done(err)
	}
}

// leave lets another loop have the pool. Kernels of the loop that leaves are done: one
// that came later would arm its call among those of the other loop.
func (e *RowPool) leave() {
	e.mu.Lock()
	e.owned = false
	e.mu.Unlock()
}

// arm lets the rows of a call be made. Calls come in the order of their iterations.
func (e *RowPool) arm(c *Call) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		return false
	}
	s := e.slot(e.armed)
	s.call = c
	s.pending.Store(e.tickets) // before the limit: a worker may finish at once
	c.armed = e.armed + 1
	e.armed++
	if !e.parked {
		e.limit.Store(e.armed * e.tickets)
		if e.wakeUp(); e.cfg.Suits != nil {
			e.notifyAny(1)
		} else {
			e.notifyAny(int(e.tickets))
		}
	}
	return true
}

// forget takes a call that is done out of its slot.
func (e *RowPool) forget(c *Call) {
	e.mu.Lock()
	e.slot(c.armed - 1).call = nil
	c.armed = 0
	e.mu.Unlock()
}

func (e *RowPool) slot(seq int64) *rowSlot { return &e.slots[seq%int64(len(e.slots))] }

func (e *RowPool) call(seq int64) *Call { return e.slot(seq).call }

// wakeUp has workers that wait look again; mu is held.
func (e *RowPool) wakeUp() {
	if e.waiting > e.resting {
		e.wake.Broadcast()
	}
}

// SetWorkers makes n of the workers work, 1 ≤ n ≤ Options.Workers; the others rest when
// they have made the rows in hand. All work at first.
func (e *RowPool) SetWorkers(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.account()
	e.active.Store(int32(n))
	e.wake.Broadcast()
	e.rest.Broadcast()
}

// Yield says whether the consumer is at work. While it is, workers give way after each
// ticket, so that it gets the processor when it needs it. It may be called from any
// goroutine.
func (e *RowPool) Yield(consumer bool) { e.yield.Store(consumer) }

// Share says whether others make rows beside the workers (Take). While they do, workers
// give way after each ticket: what the others wait for may have come, and Go takes a
// processor from a goroutine after 10 ms at the soonest.
func (e *RowPool) Share(others bool) { e.shares.Store(others) }

// Hold says whether the workers leave new rows to others. Rows to be made once
// more are for the workers all the same.
func (e *RowPool) Hold(hold bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held.Store(hold)
	e.wakeUp()
}

// Nudge has workers that wait call Rows.Idle once more, and callers of Wait one by one, until it finds
// nothing.
func (e *RowPool) Nudge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nudges++
	e.wakeUp()
	e.notifyAny(1)
}

// Wanting reports whether the consumer has nothing to do.
func (e *RowPool) Wanting() bool { return !e.yield.Load() }

// Pause stops the workers: each finishes the rows it has in hand, for which Quiet waits.
// What follows a finished iteration goes on meanwhile.
func (e *RowPool) Pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.account()
	e.parked = true
	e.limit.Store(0)
}

// Quiet waits until all workers wait and what Take has handed out is done, and reports
// whether that is so; it gives up when ctx ends.
func (e *RowPool) Quiet(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		e.quiet.Broadcast()
		e.mu.Unlock()
	})
	defer stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for !e.isQuiet() && !e.closed && ctx.Err() == nil {
		e.quiet.Wait()
	}
	return e.isQuiet()
}

// isQuiet reports whether nobody makes rows; mu is held.
func (e *RowPool) isQuiet() bool {
	return !e.started || e.waiting == e.workers && e.taken == 0
}

// Resume lets parked workers go on where they stopped. The first call starts them; a
// pool is parked until then.
func (e *RowPool) Resume() {
	e.mu.Lock()
	if !e.parked || e.closed {
		e.mu.Unlock()
		return
	}
	e.account()
	first := !e.started
	e.parked, e.started = false, true
	e.limit.Store(e.armed * e.tickets)
	e.wake.Broadcast()
	e.notifyAny(math.MaxInt)
	e.mu.Unlock()
	if first {
		for w := range e.workers {
			e.x.lend(w)
		}
	}
}

// Again has a row of a call made once more by one of the workers, before all that was not
// begun yet, the oldest first. It is called from Row, for the row at hand or any other of a call that
// was armed and is not done; Finish is called, perhaps a second time, when all of its
// rows are made. It reports whether all rows were made before, so that Finish, which was
// called or is about to be, is called once more.
func (e *RowPool) Again(c *Call, row int) (anew bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	seq := c.armed - 1
	anew = e.slot(seq).pending.Add(1) == 1
	e.own.push(Taken{c, row, row + 1, seq})
	e.counted()
	e.wakeUp()
	return anew
}

// close ends the workers after the rows in hand.
func (e *RowPool) close() {
	e.mu.Lock()
	e.closed = true
	e.limit.Store(0)
	e.wake.Broadcast()
	e.rest.Broadcast()
	e.quiet.Broadcast()
	e.notifyAny(math.MaxInt)
	e.mu.Unlock()
}

// Times says what the workers that make rows did with their time. Time in which the pool was
// paused does not count, nor does the time of a worker that SetWorkers has put to rest.
type Times struct {
	Elapsed  time.Duration // of the clock, for one worker
	Capacity time.Duration // of all workers
	Idle     time.Duration // the part in which they waited for rows
	Yielded  time.Duration // the part in which they gave way to the consumer
}

// times adds up what workers do whenever that changes. RowPool.mu guards it.
type times struct {
	began time.Time // of the part that is not added up yet
	sum   Times
}

// account adds the time since the last call and returns now; mu is held.
func (e *RowPool) account() time.Time {
	now := time.Now()
	if !e.parked {
		d := now.Sub(e.times.began)
		e.times.sum.Elapsed += d
		e.times.sum.Capacity += d * time.Duration(e.workers-e.resting)
		e.times.sum.Idle += d * time.Duration(e.waiting-e.resting)
	}
	e.times.began = now
	return now
}

// Times returns what the workers have done so far. It may be called from any
// goroutine.
func (e *RowPool) Times() Times {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.account()
	t := e.times.sum
	for i := range e.hands {
		t.Yielded += time.Duration(e.hands[i].yielded.Load())
	}
	return t
}
