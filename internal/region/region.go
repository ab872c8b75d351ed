// Package region runs one function for every row of every batch, in order, on
// a fixed set of workers.
//
// Batches are numbered from 0. Arm allows the next one to run, and Finish is
// called when its last row is done. Workers take rows in order across batch
// borders, so none idles at the end of a batch, and they wait when every armed
// row is taken: that is the whole of back-pressure. Park stops the workers after
// the rows in hand, Resume lets them go on, Reset forgets every batch, Close
// joins the workers.
package region

import (
	"runtime"
	"sync"
	"sync/atomic"
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

	// Finish is called once per batch, by the worker that completed its last
	// row. It must not block.
	Finish func(seq int64)

	// Lost is called when Run left its goroutine through runtime.Goexit; the
	// row counts as done and a fresh worker takes over. It may be nil.
	Lost func(worker int, seq int64, row int)
}

// Engine is a running region. Create it with New and end it with Close.
type Engine struct {
	cfg     Config
	tickets int64 // per batch
	grain   int

	next  atomic.Int64 // the next ticket to take
	limit atomic.Int64 // tickets below may be taken; 0 while parked

	slots []slot
	hands []hand      // one per worker
	yield atomic.Bool // the consumer is at work: workers give way after each ticket

	mu      sync.Mutex
	wake    sync.Cond // workers wait here for tickets
	quiet   sync.Cond // Park waits here for workers
	waiting int
	closed  bool
	parked  bool
	workers sync.WaitGroup

	armed int64 // batches armed so far
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
	e.wake.L, e.quiet.L = &e.mu, &e.mu
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
		if e.waiting > 0 {
			e.wake.Broadcast()
		}
	}
}

// Yield says whether the consumer is at work. While it is, workers give way
// after each ticket, so that it gets the processor when it needs it.
func (e *Engine) Yield(consumer bool) { e.yield.Store(consumer) }

// Park stops the workers: each finishes the rows it has in hand. It returns
// when all of them wait. Park, Resume, Reset and Close belong to one goroutine.
func (e *Engine) Park() {
	e.mu.Lock()
	e.parked = true
	e.limit.Store(0)
	for e.waiting < e.cfg.Workers && !e.closed {
		e.quiet.Wait()
	}
	e.mu.Unlock()
}

// Resume lets parked workers go on where they stopped.
func (e *Engine) Resume() {
	if !e.parked { // only this goroutine changes it
		return
	}
	e.mu.Lock()
	e.parked = false
	e.limit.Store(e.armed * e.tickets)
	e.wake.Broadcast()
	e.mu.Unlock()
}

// Reset forgets every batch, finished or not. The engine must be parked and
// stays so.
func (e *Engine) Reset() {
	e.mu.Lock()
	e.next.Store(0)
	e.armed = 0
	e.mu.Unlock()
}

// Close stops the workers after the rows in hand and joins them.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.limit.Store(0)
	e.wake.Broadcast()
	e.quiet.Broadcast()
	e.mu.Unlock()
	e.workers.Wait()
}

// hand is what a worker has in hand: rows [row, end) of batch seq.
type hand struct {
	seq      int64
	row, end int
	busy     bool
	_        [32]byte
}

// work is a worker. When Run ends its goroutine, the row in hand is reported
// lost and a fresh goroutine does the rest of the ticket.
func (e *Engine) work(worker int) {
	h := &e.hands[worker]
	defer func() {
		if !h.busy {
			e.workers.Done()
			return
		}
		if e.cfg.Lost != nil {
			e.cfg.Lost(worker, h.seq, h.row)
		}
		h.row++
		go e.work(worker)
	}()
	for {
		if !h.busy {
			ticket, ok := e.take()
			if !ok {
				return
			}
			h.seq = ticket / e.tickets
			h.row = int(ticket%e.tickets) * e.grain
			h.end = min(h.row+e.grain, e.cfg.Rows)
			h.busy = true
		}
		for ; h.row < h.end; h.row++ {
			e.cfg.Run(worker, h.seq, h.row)
		}
		h.busy = false
		e.done(h.seq)
	}
}

// done counts one ticket of a batch and finishes the batch with the last one.
// The worker that does gives way: otherwise the consumer that it made runnable
// waits in its queue for as long as it keeps its processor.
func (e *Engine) done(seq int64) {
	if e.slots[seq%int64(e.cfg.Slots)].pending.Add(-1) == 0 {
		e.cfg.Finish(seq)
		runtime.Gosched()
	} else if e.yield.Load() {
		runtime.Gosched()
	}
}

// take returns the next ticket, or false when the engine is closed.
func (e *Engine) take() (int64, bool) {
	for {
		t := e.next.Load()
		if t < e.limit.Load() {
			if e.next.CompareAndSwap(t, t+1) {
				return t, true
			}
			continue
		}
		if !e.wait() {
			return 0, false
		}
	}
}

// wait blocks until there is a ticket to take; false means closed.
func (e *Engine) wait() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting++
	if e.waiting == e.cfg.Workers {
		e.quiet.Broadcast()
	}
	for !e.closed && e.next.Load() >= e.limit.Load() {
		e.wake.Wait()
	}
	e.waiting--
	return !e.closed
}
