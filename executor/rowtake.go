package executor

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Whoever makes rows takes a ticket or several, makes the rows, and says that they are done.
// The executor's workers take one ticket at a time. Take is for others, such as a device
// that makes many rows at once.

// hand is what a worker has in hand.
type hand struct {
	Taken
	busy    bool
	whole   bool         // Rows.Ticket is at work on it
	single  bool         // its rows are made one by one
	yielded atomic.Int64 // nanoseconds in which the worker gave way to the consumer
	_       [16]byte
}

// work makes rows with a worker's number until the pool is closed or the number has
// gone to another goroutine. When Row ends the goroutine, the row in hand is reported
// lost, and the goroutine that takes the number next makes the rest of the ticket.
func (e *RowPool) work(worker int) {
	h := &e.hands[worker]
	var end func()
	if e.cfg.Start != nil {
		end = e.cfg.Start(worker)
	}
	over := false
	release := func() { // gives up the number
		over = true
		if end != nil {
			end()
		}
	}
	defer func() {
		if over {
			return
		}
		release()
		switch {
		case h.whole:
			h.whole = false
		case h.busy:
			if e.cfg.Lost != nil {
				e.cfg.Lost(worker, h.Call, h.Row)
			}
			h.Row++
		}
		e.x.lend(worker)
	}()
	for {
		if !h.busy {
			if h.Taken, h.busy = e.take(worker); !h.busy {
				release()
				return
			}
			h.single = e.cfg.Ticket == nil
		}
		if !h.single {
			e.makeWhole(worker, h)
		}
		for ; h.Row < h.End; h.Row++ {
			e.cfg.Row(worker, h.Call, h.Row)
		}
		if e.cfg.Ran != nil {
			e.cfg.Ran(worker)
		}
		h.busy = false
		if e.slot(h.seq).pending.Add(-1) > 0 {
			e.giveWay(h)
			continue
		}
		c := h.Call
		e.finishing(1)
		if e.x.prog.expensive {
			release()
			e.x.lend(worker)
		}
		e.finish(c)
		// Otherwise the consumer that was made runnable waits in this processor's
		// queue for as long as the worker keeps it.
		runtime.Gosched()
		if over {
			return
		}
	}
}

// makeWhole has Rows.Ticket make what a worker has in hand, if it can.
func (e *RowPool) makeWhole(worker int, h *hand) {
	h.single, h.whole = true, true
	if e.cfg.Ticket(worker, h.Call, h.Row, h.End) {
		h.Row = h.End
	}
	h.whole = false
}

// finish ends what finishing(1) began.
func (e *RowPool) finish(c *Call) {
	defer e.finishing(-1) // also if what follows the iteration ends the goroutine
	e.cfg.Finish(c)
}

// giveWay lets the consumer have the processor, if it is at work, or others who make rows.
func (e *RowPool) giveWay(h *hand) {
	if !e.yield.Load() {
		if e.shares.Load() {
			runtime.Gosched()
		}
		return
	}
	began := time.Now()
	runtime.Gosched()
	h.yielded.Store(h.yielded.Load() + int64(time.Since(began))) // only this worker writes
}

// take returns the rows of the next ticket, or false when the pool is closed.
func (e *RowPool) take(worker int) (Taken, bool) {
	for {
		// Also by a worker that is about to rest: others may wait for the row.
		if e.agains.Load() > 0 {
			if t, ok := e.takeAgain(true); ok {
				return t, true
			}
		}
		works := int32(worker) < e.active.Load()
		if works && !e.held.Load() {
			if t, ok := e.takeNew(1); ok {
				return t, true
			}
		}
		nudges, stolen := 0, false
		if e.cfg.Idle != nil && works {
			nudges, stolen = e.idle(worker)
		}
		if !stolen && !e.wait(worker, nudges) {
			return Taken{}, false
		}
	}
}

// takeNew takes up to n tickets of one iteration that nobody has taken yet.
func (e *RowPool) takeNew(n int64) (Taken, bool) {
	for {
		t := e.next.Load()
		limit := e.limit.Load()
		if t >= limit {
			return Taken{}, false
		}
		seq := t / e.tickets
		m := min(n, (seq+1)*e.tickets-t)
		if e.next.CompareAndSwap(t, t+m) {
			first := int(t%e.tickets) * e.grain
			return Taken{e.call(seq), first, min(first+int(m)*e.grain, e.cfg.N), seq}, true
		}
	}
}

// idle calls Rows.Idle, and returns the number of nudges before.
func (e *RowPool) idle(worker int) (nudges int, stolen bool) {
	e.mu.Lock()
	nudges = e.nudges
	e.mu.Unlock()
	return nudges, e.cfg.Idle(worker)
}

// takeAgain returns the oldest row that is to be made once more, by a worker or by others.
func (e *RowPool) takeAgain(worker bool) (Taken, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.held.Load()
	return e.takeOldest(func(r *againRow) bool { return r.isFor(worker, held) })
}

// takeOldest takes the oldest row to be made once more that fits; mu is held.
func (e *RowPool) takeOldest(fits func(*againRow) bool) (Taken, bool) {
	if e.parked || e.closed {
		return Taken{}, false
	}
	oldest := -1
	for i := range e.again {
		if r := &e.again[i]; fits(r) && (oldest < 0 || r.before(&e.again[oldest])) {
			oldest = i
		}
	}
	if oldest < 0 {
		return Taken{}, false
	}
	return e.takeAt(oldest), true
}

// isFor reports whether the row may be made by a worker, or by others who have no rows kept for
// them; workers are told to leave new rows to others, or not.
func (r *againRow) isFor(worker, held bool) bool {
	if worker {
		return r.taker == 0 || !held
	}
	return !r.own
}

// before reports whether a row is of an older iteration than x, or an earlier one of the same.
func (r *againRow) before(x *againRow) bool {
	return r.seq < x.seq || r.seq == x.seq && r.Row < x.Row
}

// takeAt takes a row off again; mu is held.
func (e *RowPool) takeAt(i int) Taken {
	r := e.again[i]
	last := len(e.again) - 1
	e.again[i] = e.again[last]
	e.again = e.again[:last]
	e.agains.Store(int32(last))
	if r.taker > 0 {
		e.kept[r.taker]--
	}
	return r.Taken
}

// wait blocks until there may be a ticket for the worker to take, or a nudge came after
// those that it knows of; false means closed.
func (e *RowPool) wait(worker, nudges int) bool {
	e.mu.Lock()
	began := e.account()
	e.waiting++
	if e.waiting == e.workers {
		e.quiet.Broadcast()
	}
	rested := false
	for !e.closed {
		if int32(worker) >= e.active.Load() {
			e.restOne()
			rested = true
		} else if e.nothing(true) && (e.cfg.Idle == nil || nudges == e.nudges) {
			e.wake.Wait()
		} else {
			break
		}
	}
	e.account()
	e.waiting--
	open := !e.closed
	e.mu.Unlock()
	if e.cfg.Waited != nil && open && !rested {
		e.cfg.Waited(worker, began)
	}
	return open
}

// nothing reports whether there is no row to take, for a worker or for others; mu is held.
func (e *RowPool) nothing(worker bool) bool {
	if e.next.Load() < e.limit.Load() && !(worker && e.held.Load()) {
		return false
	}
	return e.parked || !slices.ContainsFunc(e.again, func(r againRow) bool { return r.isFor(worker, e.held.Load()) })
}

// restOne blocks a worker until SetWorkers or close; mu is held.
func (e *RowPool) restOne() {
	e.account()
	e.resting++
	e.rest.Wait()
	e.account()
	e.resting--
}

// Take waits for rows to make and takes up to n tickets of them, all of one iteration,
// for somebody who is none of the executor's workers. Every row of Take is ended by Done or
// GiveBack, alone or with others. The error is the cause of ctx, or ErrClosed. It may be
// called from any goroutine.
//
// Whoever holds rows must not wait in Take for more. Quiet waits for what was taken, so
// rows that do not come are to be given back.
func (e *RowPool) Take(ctx context.Context, n int) (Taken, error) {
	return e.await(ctx, func() (Taken, bool) {
		if t, ok := e.takeAgain(false); ok {
			return t, true
		}
		return e.takeNew(int64(max(n, 1)))
	})
}

// await waits until try, which does not wait, has taken rows.
func (e *RowPool) await(ctx context.Context, try func() (Taken, bool)) (Taken, error) {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		e.wake.Broadcast()
		e.mu.Unlock()
	})
	defer stop()
	for {
		if t, ok := e.counted(try); ok {
			return t, nil
		}
		nudges, stolen := 0, false
		if e.cfg.Idle != nil {
			nudges, stolen = e.idle(-1)
		}
		e.mu.Lock()
		for !stolen && e.nothing(false) && !e.closed && ctx.Err() == nil && (e.cfg.Idle == nil || nudges == e.nudges) {
			e.others++
			e.wake.Wait()
			e.others--
		}
		closed := e.closed
		e.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return Taken{}, context.Cause(ctx)
		case closed:
			return Taken{}, ErrClosed
		}
	}
}

// counted counts what try takes.
func (e *RowPool) counted(try func() (Taken, bool)) (Taken, bool) {
	e.count(&e.taken, 1) // before, so that Quiet cannot miss it
	t, ok := try()
	if !ok {
		t.Row, t.End = 0, 0
	}
	e.count(&e.taken, t.End-t.Row-1)
	return t, ok
}

// GiveBack gives rows of Take back, which have not been made: they are made before all that
// was not begun yet, by whoever is free, or where own is set by one of the executor's
// workers.
func (e *RowPool) GiveBack(t Taken, own bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for row := t.Row; row < t.End; row += e.grain {
		e.again = append(e.again, againRow{Taken{t.Call, row, min(row+e.grain, t.End), t.seq}, own, 0})
	}
	e.returned(t)
}

// returned ends rows of Take that are among those to be made once more now; mu is held.
func (e *RowPool) returned(t Taken) {
	e.agains.Store(int32(len(e.again)))
	if e.taken -= t.End - t.Row; e.taken == 0 {
		e.quiet.Broadcast()
	}
	e.wakeUp()
}

// Part returns the rows from row up to end of t.
func (t Taken) Part(row, end int) Taken { return Taken{t.Call, row, end, t.seq} }

// Age tells which of two Taken is older: the smaller one.
func (t Taken) Age() int64 { return t.seq }

// Done says that rows of Take are made: all of a Take, or whole tickets (Rows.Grain) of it.
// If they were the last ones of their iteration, what follows it runs before Done returns,
// or where it may take long (Op.Expensive), on a goroutine of its own.
func (e *RowPool) Done(t Taken) {
	tickets := int64((t.End - t.Row + e.grain - 1) / e.grain)
	if e.slot(t.seq).pending.Add(-tickets) > 0 {
		e.count(&e.taken, t.Row-t.End)
		return
	}
	e.finishing(1)
	e.count(&e.taken, t.Row-t.End)
	if e.x.prog.expensive {
		e.x.pool.Go(func() { e.finish(t.Call) })
		return
	}
	e.finish(t.Call)
}

// finishing counts the calls of Rows.Finish that are on their way. A worker counts its
// own while it has its number, so whoever has parked the pool knows them all.
func (e *RowPool) finishing(n int) { e.count(&e.ending, n) }

// count adds to a number that somebody may wait to see at 0.
func (e *RowPool) count(what *int, n int) {
	e.mu.Lock()
	*what += n
	if *what == 0 {
		e.quiet.Broadcast()
	}
	e.mu.Unlock()
}
