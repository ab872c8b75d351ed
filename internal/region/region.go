// Package region runs one function for every row of every batch, in order, on
// a fixed set of workers.
//
// Batches are numbered from 0. Arm allows the next one to run, and Finish is
// called when its last row is done. Workers take rows in order across batch
// borders, so none idles at the end of a batch, and they wait when every armed
// row is taken: that is the whole of back-pressure. Pause stops the workers after
// the rows in hand, Quiet waits until they have, Park is both, Resume lets them go on, Reset forgets every batch, Close
// joins the workers. SetWorkers changes how many of them work. Again has a row
// done once more.
package region

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Config sizes an engine and says what it runs.
type Config struct {
	Workers int // goroutines that run rows; at least 1
	Slots   int // batches armed and not finished at the most; at least 1
	Rows    int // rows of a batch; at least 1
	Grain   int // rows a worker takes at a time; 0 means 1

	// Run does one row. It is called from worker goroutines, each row once,
	// and must not panic. Worker is in [0, Workers).
	Run func(worker int, seq int64, row int)

	// Ran is called by a worker after the last of the rows that it took at a time,
	// before they count as done. It may be nil.
	Ran func(worker int)

	// Finish is called once per batch, by the worker that completed its last
	// row. It must not block. When it leaves its goroutine through
	// runtime.Goexit, a fresh worker takes over.
	Finish func(seq int64)

	// Lost is called when Run left its goroutine through runtime.Goexit; the
	// row counts as done and a fresh worker takes over. It may be nil.
	Lost func(worker int, seq int64, row int)

	// Start is called by every worker's goroutine when it begins; what it
	// returns is called by the same goroutine at its end. It may be nil.
	Start func(worker int) (end func())

	// Waited is called by a worker that had to wait for a batch to be armed, or
	// was parked, with the time at which it began to. It may be nil.
	Waited func(worker int, since time.Time)
}

// Engine is a running region. Create it with New and end it with Close.
type Engine struct {
	cfg     Config
	tickets int64 // per batch
	grain   int

	next  atomic.Int64 // the next ticket to take
	limit atomic.Int64 // tickets below may be taken; 0 while parked

	slots  []slot
	hands  []hand       // one per worker
	active atomic.Int32 // workers below this number work, the others rest
	yield  atomic.Bool  // the consumer is at work: workers give way after each ticket

	mu      sync.Mutex
	wake    sync.Cond // workers wait here for tickets
	rest    sync.Cond // and those that SetWorkers has sent to rest here
	quiet   sync.Cond // Quiet waits here for workers
	waiting int       // workers that wait, resting ones included
	resting int
	times   times
	closed  bool
	parked  bool
	workers sync.WaitGroup

	armed int64 // batches armed so far

	again  []rows       // rows to be done once more, no particular order
	agains atomic.Int32 // their number
}

// rows are rows [row, end) of batch seq.
type rows struct {
	seq      int64
	row, end int
}

// slot counts one batch in flight, on a cache line of its own.
type slot struct {
	pending atomic.Int64 // tickets of the batch not yet done
	_       [56]byte
}

// New starts the workers of an engine; they wait until a batch is armed.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, grain: max(cfg.Grain, 1), slots: make([]slot, cfg.Slots), hands: make([]hand, cfg.Workers)}
	e.tickets = int64((cfg.Rows + e.grain - 1) / e.grain)
	e.wake.L, e.rest.L, e.quiet.L = &e.mu, &e.mu, &e.mu
	e.active.Store(int32(cfg.Workers))
	e.times.began = time.Now()
	e.workers.Add(cfg.Workers)
	for w := range cfg.Workers {
		go e.work(w)
	}
	return e
}

// Arm allows the next batch to run, number 0 after New and Reset. It may be
// called from any goroutine, one at a time, and from Finish.
func (e *Engine) Arm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slots[e.armed%int64(e.cfg.Slots)].pending.Store(e.tickets) // before the limit: a worker may finish at once
	e.armed++
	if !e.parked {
		e.limit.Store(e.armed * e.tickets)
		if e.waiting > e.resting {
			e.wake.Broadcast()
		}
	}
}

// SetWorkers makes n of the workers work, 1 ≤ n ≤ Config.Workers; the others
// rest when they have done the rows in hand. All work at first. It may be called
// from any goroutine.
func (e *Engine) SetWorkers(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.account()
	e.active.Store(int32(n))
	e.wake.Broadcast()
	e.rest.Broadcast()
}

// Yield says whether the consumer is at work. While it is, workers give way
// after each ticket, so that it gets the processor when it needs it.
func (e *Engine) Yield(consumer bool) { e.yield.Store(consumer) }

// Pause stops the workers: each finishes the rows it has in hand, for which Quiet
// waits. Pause, Quiet, Park, Resume, Reset and Close belong to one goroutine.
func (e *Engine) Pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.account()
	e.parked = true
	e.limit.Store(0)
}

// Quiet waits until all workers wait, and reports whether they do; it gives up when
// ctx ends.
func (e *Engine) Quiet(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		e.quiet.Broadcast()
		e.mu.Unlock()
	})
	defer stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.waiting < e.cfg.Workers && !e.closed && ctx.Err() == nil {
		e.quiet.Wait()
	}
	return e.waiting == e.cfg.Workers
}

// Park is Pause and waits until all workers are quiet.
func (e *Engine) Park() {
	e.Pause()
	e.Quiet(context.Background())
}

// Resume lets parked workers go on where they stopped.
func (e *Engine) Resume() {
	if !e.parked { // only this goroutine changes it
		return
	}
	e.mu.Lock()
	e.account()
	e.parked = false
	e.limit.Store(e.armed * e.tickets)
	e.wake.Broadcast()
	e.mu.Unlock()
}

// Again has a row done once more, before all that was not begun yet, the oldest
// first. It is called from Run, for the row at hand or any other of a batch
// that was armed; the batch is finished, perhaps a second time, when
// all of its rows are done.
func (e *Engine) Again(seq int64, row int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slots[seq%int64(e.cfg.Slots)].pending.Add(1)
	e.again = append(e.again, rows{seq, row, row + 1})
	e.agains.Store(int32(len(e.again)))
	if e.waiting > e.resting {
		e.wake.Broadcast()
	}
}

// takeAgain returns the oldest row that is to be done once more.
func (e *Engine) takeAgain() (rows, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parked || e.closed || len(e.again) == 0 {
		return rows{}, false
	}
	oldest := 0
	for i, r := range e.again {
		if o := e.again[oldest]; r.seq < o.seq || r.seq == o.seq && r.row < o.row {
			oldest = i
		}
	}
	r := e.again[oldest]
	e.again[oldest] = e.again[len(e.again)-1]
	e.again = e.again[:len(e.again)-1]
	e.agains.Store(int32(len(e.again)))
	return r, true
}

// Reset forgets every batch, finished or not. The engine must be parked and
// stays so.
func (e *Engine) Reset() {
	e.mu.Lock()
	e.next.Store(0)
	e.armed = 0
	e.again = e.again[:0]
	e.agains.Store(0)
	e.mu.Unlock()
}

// Close stops the workers after the rows in hand and joins them.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.limit.Store(0)
	e.wake.Broadcast()
	e.rest.Broadcast()
	e.quiet.Broadcast()
	e.mu.Unlock()
	e.workers.Wait()
}

// hand is what a worker has in hand.
type hand struct {
	rows
	busy    bool
	yielded atomic.Int64 // nanoseconds in which the worker gave way to the consumer
	_       [24]byte
}

// work is a worker. When Run ends its goroutine, the row in hand is reported
// lost and a fresh goroutine does the rest of the ticket. Finish may end it as
// well, by what it leads to, with nothing in hand.
func (e *Engine) work(worker int) {
	h := &e.hands[worker]
	closed := false
	var end func()
	if e.cfg.Start != nil {
		end = e.cfg.Start(worker)
	}
	defer func() {
		if end != nil {
			end()
		}
		if closed {
			e.workers.Done()
			return
		}
		if h.busy {
			if e.cfg.Lost != nil {
				e.cfg.Lost(worker, h.seq, h.row)
			}
			h.row++
		}
		go e.work(worker)
	}()
	for {
		if !h.busy {
			if h.rows, h.busy = e.take(worker); !h.busy {
				closed = true
				return
			}
		}
		for ; h.row < h.end; h.row++ {
			e.cfg.Run(worker, h.seq, h.row)
		}
		if e.cfg.Ran != nil {
			e.cfg.Ran(worker)
		}
		h.busy = false
		e.done(h)
	}
}

// done counts one ticket of a batch and finishes the batch with the last one.
// The worker that does gives way: otherwise the consumer that it made runnable
// waits in its queue for as long as it keeps its processor.
func (e *Engine) done(h *hand) {
	if e.slots[h.seq%int64(e.cfg.Slots)].pending.Add(-1) == 0 {
		e.cfg.Finish(h.seq)
		runtime.Gosched()
	} else if e.yield.Load() {
		began := time.Now()
		runtime.Gosched()
		h.yielded.Store(h.yielded.Load() + int64(time.Since(began))) // only this worker writes
	}
}

// take returns the rows of the next ticket, or false when the engine is closed.
func (e *Engine) take(worker int) (rows, bool) {
	for {
		// Also by a worker that is about to rest: others may wait for the row.
		if e.agains.Load() > 0 {
			if r, ok := e.takeAgain(); ok {
				return r, true
			}
		}
		if t := e.next.Load(); t < e.limit.Load() && int32(worker) < e.active.Load() {
			if e.next.CompareAndSwap(t, t+1) {
				return e.rowsOf(t), true
			}
			continue
		}
		if !e.wait(worker) {
			return rows{}, false
		}
	}
}

// rowsOf returns the rows of a ticket.
func (e *Engine) rowsOf(ticket int64) rows {
	first := int(ticket%e.tickets) * e.grain
	return rows{ticket / e.tickets, first, min(first+e.grain, e.cfg.Rows)}
}

// wait blocks until there is a ticket for the worker to take; false means
// closed.
func (e *Engine) wait(worker int) bool {
	e.mu.Lock()
	began := e.account()
	e.waiting++
	if e.waiting == e.cfg.Workers {
		e.quiet.Broadcast()
	}
	rested := false
	for !e.closed {
		if int32(worker) >= e.active.Load() {
			e.restOne()
			rested = true
		} else if e.next.Load() >= e.limit.Load() && (e.parked || len(e.again) == 0) {
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

// restOne blocks a worker until SetWorkers or Close; mu is held.
func (e *Engine) restOne() {
	e.account()
	e.resting++
	e.rest.Wait()
	e.account()
	e.resting--
}
