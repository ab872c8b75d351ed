package executor

import (
	"context"
	"runtime"
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
			if t, ok := e.takeAgain(); ok {
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

// takeAgain takes the oldest row that is to be made once more, or that is kept for others, for a
// worker.
func (e *RowPool) takeAgain() (Taken, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parked || e.closed {
		return Taken{}, false
	}
	defer e.counted()
	q := older(&e.own, &e.again)
	if !e.held.Load() {
		var than *Taken
		if q != nil {
			than = q.first()
		}
		if t, ok := e.takeOrder(than); ok {
			return t, true
		}
	}
	if q == nil {
		return Taken{}, false
	}
	return q.pop(), true
}

// counted counts the rows that wait, where these have changed; mu is held.
func (e *RowPool) counted() { e.agains.Store(int32(e.own.len() + e.again.len() + e.kept)) }

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
		} else if e.nothing() && (e.cfg.Idle == nil || nudges == e.nudges) {
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

// nothing reports whether there is no row for a worker to take; mu is held.
func (e *RowPool) nothing() bool {
	if e.next.Load() < e.limit.Load() && !e.held.Load() {
		return false
	}
	return e.parked || e.own.len() == 0 && e.again.len() == 0 && (e.kept == 0 || e.held.Load())
}

// restOne blocks a worker until SetWorkers or close; mu is held.
func (e *RowPool) restOne() {
	e.account()
	e.resting++
	e.rest.Wait()
	e.account()
	e.resting--
}

// Wait waits until there may be rows to take for somebody who is none of the executor's workers: for the
// taker of a number from 1 (Join), or 0 for one that no rows are kept for. It reports whether they are its own or
// anybody's, to be had from Take; else, and only where relieve is set or something has changed meanwhile, there may be some of another
// one to be had from Relieve. The error is the cause of ctx, or ErrClosed. Wait may be called from any goroutine.
func (e *RowPool) Wait(ctx context.Context, number int, relieve bool) (own bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, nudges := e.taker(number), e.nudges
	var stop func() bool
	for {
		switch {
		case ctx.Err() != nil:
			e.notify(x) // of what this one was notified of
			e.notifyAny(1)
			return false, context.Cause(ctx)
		case e.closed:
			return false, ErrClosed
		case !e.parked && (e.again.len() > 0 || x.kept.len() > 0 || e.takers[0].kept.len() > 0):
			return true, nil
		case e.next.Load() < e.limit.Load():
			if number == 0 || e.cfg.Suits == nil {
				return true, nil
			}
			e.suit()
			continue
		case relieve && e.loaded() != nil:
			return false, nil
		case nudges != e.nudges:
			nudges = e.nudges
			if e.cfg.Idle != nil {
				e.mu.Unlock()
				found := e.cfg.Idle(-1)
				e.mu.Lock()
				if found {
					e.notifyAny(1) // it may find another one
				}
				continue
			}
		}
		if stop == nil {
			stop = context.AfterFunc(ctx, func() {
				e.mu.Lock()
				x.wake.Broadcast()
				e.mu.Unlock()
			})
			defer stop()
		}
		e.await(x)
		relieve = true
	}
}

// await waits until the taker is notified, or for no reason; mu is held.
func (e *RowPool) await(x *taker) {
	if x.waiting++; x.waiting == 1 {
		x.idle = len(e.idlers)
		e.idlers = append(e.idlers, x)
	}
	x.wake.Wait()
	if x.notified > 0 {
		x.notified--
	} else {
		e.waitsNoMore(x)
	}
}

// waitsNoMore takes a goroutine off those of a taker that wait; mu is held.
func (e *RowPool) waitsNoMore(x *taker) {
	if x.waiting--; x.waiting > 0 {
		return
	}
	last := len(e.idlers) - 1
	e.idlers[x.idle] = e.idlers[last]
	e.idlers[x.idle].idle = x.idle
	e.idlers = e.idlers[:last]
}

// notify has a taker that waits look again; mu is held.
func (e *RowPool) notify(x *taker) {
	if x.waiting > 0 {
		e.waitsNoMore(x)
		x.notified++
		x.wake.Signal()
	}
}

// notifyAny has up to n takers that wait look again, by turns; mu is held.
func (e *RowPool) notifyAny(n int) {
	for ; n > 0 && len(e.idlers) > 0; n-- {
		e.turn++
		e.notify(e.idlers[e.turn%len(e.idlers)])
	}
}

// came has those that wait look for n rows that anybody may make; mu is held.
func (e *RowPool) came(n int) {
	e.counted()
	if n > 0 {
		e.wakeUp()
		e.notifyAny(n)
	}
}

// suit keeps all new rows of an iteration for those whom they suit; mu is held, but not while it asks.
func (e *RowPool) suit() {
	t, ok := e.takeNew(e.tickets)
	if !ok {
		return
	}
	e.taken += t.End - t.Row
	e.mu.Unlock()
	suits := e.cfg.Suits(t.Call, t.Row, t.End)
	e.mu.Lock()
	e.keep(t, suits)
}

// Take takes up to n tickets of rows that are kept for a taker, are to be made once more, or where Rows.Suits is
// nil are new, and adds them to picked. Every row is ended by Done or GiveBack, alone or with others. Rows that do
// not come are to be given back.
func (e *RowPool) Take(number, n int, picked []Taken) []Taken {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parked || e.closed {
		return picked
	}
	x, anyone, most := e.taker(number), e.taker(0), len(picked)+n
	add := func(t Taken) {
		e.taken += t.End - t.Row
		picked = append(picked, t)
	}
	for len(picked) < most {
		from := x
		if older(&x.kept, &anyone.kept) == &anyone.kept {
			from = anyone
		}
		q := older(&from.kept, &e.again)
		if q == nil {
			break
		}
		if q == &e.again {
			add(q.pop())
		} else {
			add(e.takeKept(from))
		}
	}
	if left := most - len(picked); left > 0 && (number == 0 || e.cfg.Suits == nil) {
		if t, ok := e.takeNew(int64(left)); ok {
			add(t)
		}
	}
	e.counted()
	e.passOn(x)
	return picked
}

// passOn has others look for the rows that somebody leaves who has taken some: each that waits was notified of some rows, and may
// have found others. Mu is held.
func (e *RowPool) passOn(x *taker) {
	if x.kept.len() > 0 {
		e.notify(x)
	}
	if e.again.len() > 0 || e.takers[0].kept.len() > 0 || e.next.Load() < e.limit.Load() {
		e.notifyAny(1)
	}
}

// GiveBack gives rows of Take back, which have not been made: they are made before all that
// was not begun yet, by whoever is free, or where own is set by one of the executor's
// workers.
func (e *RowPool) GiveBack(t Taken, own bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for row := t.Row; row < t.End; row += e.grain {
		one := t.Part(row, min(row+e.grain, t.End))
		if own {
			e.own.push(one)
		} else {
			e.again.push(one)
		}
	}
	e.returned(t)
	if own {
		e.counted()
		e.wakeUp()
	} else {
		e.came(t.End - t.Row)
	}
}

// returned ends rows of Take that wait again; mu is held.
func (e *RowPool) returned(t Taken) {
	if e.taken -= t.End - t.Row; e.taken == 0 {
		e.quiet.Broadcast()
	}
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
