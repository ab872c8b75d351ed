package executor

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Whoever takes rows does so in one way: take a ticket or several, make the rows, say
// that they are done. The executor's workers take one ticket at a time; Take is for
// others, such as a device that makes many rows at once.

// hand is what a worker has in hand.
type hand struct {
	Taken
	busy    bool
	yielded atomic.Int64 // nanoseconds in which the worker gave way to the consumer
	_       [16]byte
}

// work makes rows with a worker's number until the pool is closed or the number has
// gone to another goroutine. When Row ends the goroutine, the row in hand is reported
// lost, and who takes the number next does the rest of the ticket.
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
		if h.busy {
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

// finish ends what finishing(1) began.
func (e *RowPool) finish(c *Call) {
	defer e.finishing(-1) // also if what follows the iteration ends the goroutine
	e.cfg.Finish(c)
}

// giveWay lets the consumer have the processor, if it is at work.
func (e *RowPool) giveWay(h *hand) {
	if !e.yield.Load() {
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
			if t, ok := e.takeAgain(); ok {
				return t, true
			}
		}
		if int32(worker) < e.active.Load() {
			if t, ok := e.takeNew(1); ok {
				return t, true
			}
		}
		if !e.wait(worker) {
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

// takeAgain returns the oldest row that is to be made once more.
func (e *RowPool) takeAgain() (Taken, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parked || e.closed || len(e.again) == 0 {
		return Taken{}, false
	}
	oldest := 0
	for i, r := range e.again {
		if o := e.again[oldest]; r.seq < o.seq || r.seq == o.seq && r.Row < o.Row {
			oldest = i
		}
	}
	t := e.again[oldest]
	last := len(e.again) - 1
	e.again[oldest] = e.again[last]
	e.again = e.again[:last]
	e.agains.Store(int32(last))
	return t, true
}

// wait blocks until there may be a ticket for the worker to take; false means closed.
func (e *RowPool) wait(worker int) bool {
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
		} else if e.nothing() {
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

// nothing reports whether there is no row to take; mu is held.
func (e *RowPool) nothing() bool {
	return e.next.Load() >= e.limit.Load() && (e.parked || len(e.again) == 0)
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
// for somebody who is none of the executor's workers. Every Take is ended by Done. The
// error is the cause of ctx, or ErrClosed. It may be called from any goroutine.
//
// Whoever holds rows must not wait in Take for more. Quiet waits for what was taken, so
// rows that do not come are to be given back: Again for each, then Done.
func (e *RowPool) Take(ctx context.Context, n int) (Taken, error) {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		e.wake.Broadcast()
		e.mu.Unlock()
	})
	defer stop()
	for {
		e.count(&e.taken, 1) // before, so that Quiet cannot miss it
		t, ok := e.takeAgain()
		if !ok {
			t, ok = e.takeNew(int64(max(n, 1)))
		}
		if ok {
			return t, nil
		}
		e.count(&e.taken, -1)
		e.mu.Lock()
		for e.nothing() && !e.closed && ctx.Err() == nil {
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

// Done says that rows of Take are made. If they were the last ones of their iteration,
// what follows it runs before Done returns.
func (e *RowPool) Done(t Taken) {
	tickets := int64((t.End - t.Row + e.grain - 1) / e.grain)
	if e.slot(t.seq).pending.Add(-tickets) > 0 {
		e.count(&e.taken, -1)
		return
	}
	e.finishing(1)
	e.count(&e.taken, -1)
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
