package run

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

const (
	aheadPerGoroutine = 32
	AheadAtHand       = 64 // samples at hand in a row, after which
	AheadSample       = 32 // one in so many is looked at
)

// readAhead calls the Prefetch of one reader's source. Rows are counted over
// batches, from the beginning of the run.
type readAhead struct {
	src    datum.Prefetcher
	reader int
	rows   int64 // of a batch
	ahead  int64

	stride int64 // rows that it is woken for at least

	at     atomic.Int64 // the row that a worker has begun last; others may have begun one behind it
	report atomic.Int64 // workers wake it when they begin this row or one behind it

	broken atomic.Int32 // panics of the batches in flight

	mu      sync.Mutex
	changed sync.Cond
	queue   []*fetch // of batches that were begun, in order, from that of next on
	next    int64    // row to fetch
	atHand  int      // samples in a row that did not have to be fetched
	parked  bool
	ended   bool

	group sync.WaitGroup
}

// fetch is what a readAhead has to do with one flight; its lock guards it.
type fetch struct {
	first   int64                       // row of the batch
	samples []int64                     // of the valid rows
	panics  map[int]*streams.PanicError // of Prefetch, by row of the batch
}

// task is one sample to fetch.
type task struct {
	f     *fetch
	first int64 // that f had
	row   int
	index int64
}

// newReadAheads returns one for every reader that wants it.
func newReadAheads(p *compiled.Pipeline) (aheads []*readAhead) {
	for i, r := range p.Readers() {
		src, ok := r.Source.(datum.Prefetcher)
		if !ok || src.ReadAhead() < 1 {
			continue
		}
		a := &readAhead{src: src, reader: i, rows: int64(p.Options().BatchSize), ahead: int64(src.ReadAhead())}
		a.stride = max(1, a.ahead/8)
		a.changed.L = &a.mu
		aheads = append(aheads, a)
	}
	return aheads
}

// start begins a run from batch 0, and ends the one before it.
func (a *readAhead) start(ctx context.Context) {
	a.stop()
	a.queue, a.next, a.atHand, a.parked, a.ended = a.queue[:0], 0, 0, false, false
	a.at.Store(-1)
	a.report.Store(math.MaxInt64)
	for range (a.ahead + aheadPerGoroutine - 1) / aheadPerGoroutine {
		a.group.Go(func() {
			for {
				t, ok := a.take()
				if !ok {
					return
				}
				a.note(a.fetch(ctx, t))
			}
		})
	}
}

// stop ends the run and joins its goroutines.
func (a *readAhead) stop() {
	a.mu.Lock()
	a.ended = true
	a.changed.Broadcast()
	a.mu.Unlock()
	a.group.Wait()
}

// park says whether the workers are parked: nothing is fetched meanwhile.
func (a *readAhead) park(parked bool) {
	a.mu.Lock()
	a.parked = parked
	a.changed.Broadcast()
	a.mu.Unlock()
}

// begin says that a flight has its next batch, before workers begin that, and what the
// valid rows read.
func (a *readAhead) begin(f *fetch, seq int64, samples []int64) {
	a.mu.Lock()
	*f = fetch{first: seq * a.rows, samples: samples}
	a.queue = append(a.queue, f)
	a.changed.Broadcast()
	a.mu.Unlock()
}

// forget says that a flight is done with its batch, before it has another.
func (a *readAhead) forget(f *fetch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.queue, f); i >= 0 { // all batches in front of it are done, too
		a.queue = slices.Delete(a.queue, 0, i+1)
		a.next = max(a.next, f.first+a.rows)
	}
	a.broken.Add(-int32(len(f.panics)))
	f.samples, f.panics = nil, nil
}

// row says that a worker begins a row of a batch. It costs the worker next to
// nothing unless somebody waits to know.
func (a *readAhead) row(seq int64, row int) {
	n := seq*a.rows + int64(row)
	a.at.Store(n)
	if n < a.report.Load() {
		return
	}
	a.mu.Lock()
	a.report.Store(math.MaxInt64)
	a.changed.Broadcast()
	a.mu.Unlock()
}

// take waits for the next sample to fetch; false means that the run is over.
func (a *readAhead) take() (t task, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		at := a.at.Load()
		if a.next <= at {
			a.next = at + 2 // the next one is read before it is fetched
		}
		for len(a.queue) > 0 && a.next >= a.queue[0].first+a.rows {
			a.queue = slices.Delete(a.queue, 0, 1)
		}
		switch {
		case a.ended:
			return task{}, false
		case !a.parked && len(a.queue) > 0 && a.next <= at+a.ahead:
			f, row := a.queue[0], int(a.next-a.queue[0].first)
			if a.next++; a.atHand >= AheadAtHand {
				a.next += AheadSample - 1
			}
			if row < len(f.samples) {
				return task{f, f.first, row, f.samples[row]}, true
			}
			continue
		}
		// Some rows at a time, since to wake a goroutine costs as much as to fetch;
		// with samples at hand, once a batch.
		if a.atHand < AheadAtHand {
			a.report.Store(max(a.next-a.ahead, at+a.stride))
		}
		a.changed.Wait()
	}
}

// fetch calls Prefetch for a row. A panic is kept for the worker that reads it.
func (a *readAhead) fetch(ctx context.Context, t task) (fetched bool) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked(t, streams.NewPanicError(v))
		}
	}()
	return a.src.Prefetch(ctx, t.index)
}

func (a *readAhead) panicked(t task, e *streams.PanicError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.f.first != t.first || t.f.samples == nil { // the flight has another batch by now
		return
	}
	if t.f.panics == nil {
		t.f.panics = map[int]*streams.PanicError{}
	}
	t.f.panics[t.row] = e
	a.broken.Add(1)
}

// failure returns the panic of Prefetch for a row, if there was one. It stays: the row
// may be made again.
func (a *readAhead) failure(f *fetch, row int) error {
	if a.broken.Load() == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := f.panics[row]; err != nil {
		return err
	}
	return nil
}

// note counts a sample that was looked at.
func (a *readAhead) note(fetched bool) {
	a.mu.Lock()
	if a.atHand++; fetched {
		a.atHand = 0
	}
	a.mu.Unlock()
}
