package pipeline

import (
	"context"
	"maps"
	"math"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/pipeline/datum"
)

const (
	aheadPerGoroutine = 32
	aheadAtHand       = 64 // samples at hand in a row, after which
	aheadSample       = 32 // one in so many is looked at
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

	broken atomic.Int32 // entries of panics

	mu      sync.Mutex
	panics  map[int64]*PanicError // of Prefetch, by row, of the batches in flight
	changed sync.Cond
	samples [][]int64 // of the valid rows of the batches in flight, by batch modulo their number
	begun   int64     // batches
	next    int64     // row to fetch
	atHand  int       // samples in a row that did not have to be fetched
	parked  bool
	ended   bool

	group sync.WaitGroup
}

// newReadAheads returns one for every reader that wants it.
func newReadAheads(p *Pipeline) (aheads []*readAhead) {
	for i, r := range p.readers {
		src, ok := r.Source.(datum.Prefetcher)
		if !ok || src.ReadAhead() < 1 {
			continue
		}
		a := &readAhead{src: src, reader: i, rows: int64(p.opt.BatchSize), ahead: int64(src.ReadAhead()), samples: make([][]int64, p.slots())}
		a.stride = max(1, a.ahead/8)
		a.changed.L = &a.mu
		aheads = append(aheads, a)
	}
	return aheads
}

// start begins a run from batch 0, and ends the one before it.
func (a *readAhead) start(ctx context.Context) {
	a.stop()
	a.begun, a.next, a.atHand, a.parked, a.ended = 0, 0, 0, false, false
	clear(a.panics)
	a.broken.Store(0)
	a.at.Store(-1)
	a.report.Store(math.MaxInt64)
	for range (a.ahead + aheadPerGoroutine - 1) / aheadPerGoroutine {
		a.group.Go(func() {
			for {
				row, index, ok := a.take()
				if !ok {
					return
				}
				a.note(a.fetch(ctx, row, index))
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

// begin says what the next batch reads, before workers begin it.
func (a *readAhead) begin(seq int64, samples []int64) {
	a.mu.Lock()
	slots := int64(len(a.samples))
	a.samples[seq%slots] = append(a.samples[seq%slots][:0], samples...)
	a.begun = seq + 1
	oldest := (a.begun - slots) * a.rows // that may still be read
	a.next = max(a.next, oldest)
	maps.DeleteFunc(a.panics, func(row int64, _ *PanicError) bool { return row < oldest })
	a.broken.Store(int32(len(a.panics)))
	a.changed.Broadcast()
	a.mu.Unlock()
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
func (a *readAhead) take() (row, index int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		at := a.at.Load()
		if a.next <= at {
			a.next = at + 2 // the next one is read before it is fetched
		}
		switch {
		case a.ended:
			return 0, 0, false
		case !a.parked && a.next < a.begun*a.rows && a.next <= at+a.ahead:
			n := a.next
			if a.next++; a.atHand >= aheadAtHand {
				a.next += aheadSample - 1
			}
			batch := a.samples[n/a.rows%int64(len(a.samples))]
			if row := n % a.rows; row < int64(len(batch)) {
				return n, batch[row], true
			}
			continue
		}
		// Some rows at a time, since to wake a goroutine costs as much as to fetch;
		// with samples at hand, once a batch.
		if a.atHand < aheadAtHand {
			a.report.Store(max(a.next-a.ahead, at+a.stride))
		}
		a.changed.Wait()
	}
}

// fetch calls Prefetch for a row. A panic is kept for the worker that reads it.
func (a *readAhead) fetch(ctx context.Context, row, index int64) (fetched bool) {
	defer func() {
		if v := recover(); v != nil {
			e := newPanicError(v)
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.panics == nil {
				a.panics = map[int64]*PanicError{}
			}
			a.panics[row] = e
			a.broken.Store(int32(len(a.panics)))
		}
	}()
	return a.src.Prefetch(ctx, index)
}

// failure returns the panic of Prefetch for a row, if there was one. It stays: the row
// may be made again.
func (a *readAhead) failure(row int64) error {
	if a.broken.Load() == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.panics[row]; err != nil {
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
