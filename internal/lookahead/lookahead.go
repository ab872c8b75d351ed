package lookahead

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// Samples says where samples lie. Its methods are called by several goroutines at once.
type Samples interface {
	// AppendRanges appends what reading a sample asks for, one range after the other.
	AppendRanges(dst []Range, sample int64) []Range
	// Object returns the name of an object of a Range.
	Object(object int64) string
}

// Options says what is fetched, and how far ahead. All of it is needed.
type Options struct {
	Place    storage.RangeReader
	Samples  Samples
	Bytes    int64 // of memory for what was fetched
	Requests int   // in flight
}

// Run fetches for one run.
type Run struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup // the planner and requests
	slots  chan struct{}  // one for each request in flight
	told   storage.AheadCounter

	mu      sync.Mutex
	changed sync.Cond // for reads: the planner got on, or does not
	room    sync.Cond // for the planner: there is more memory, or reads are in another epoch
	arena   *arena
	windows []*window          // that have pieces left or are being fetched, in the order of their places
	planned int64              // the places before this one are in windows, or were
	top     int64              // the highest place that was read
	short   bool               // the planner waits for memory
	far     bool               // the planner waits until reads are in the epoch that it is through with
	ended   bool               // the planner is through, or the run is over
	skip    map[int64]struct{} // places that are not planned yet and need not be
	waiting int                // reads that wait for changed
	reading int                // reads that copy
	idle    sync.Cond          // for Close: no read copies
	counts  storage.LookAhead  // that the store was not told yet
}

// Start begins to fetch what comes. Close the run.
func Start(ctx context.Context, o Options, coming iter.Seq[datum.Coming]) (*Run, error) {
	mem, err := newArena(o.Bytes)
	if err != nil {
		return nil, err
	}
	r := &Run{o: o, arena: mem, slots: make(chan struct{}, o.Requests), skip: map[int64]struct{}{}, top: -1}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.changed.L, r.room.L, r.idle.L = &r.mu, &r.mu, &r.mu
	r.told, _ = o.Place.(storage.AheadCounter)
	stop := context.AfterFunc(r.ctx, r.end)
	r.all.Go(func() {
		defer stop()
		r.plan(coming)
	})
	return r, nil
}

// end says that nothing more is planned.
func (r *Run) end() {
	r.mu.Lock()
	r.ended = true
	clear(r.skip)
	r.changed.Broadcast()
	r.room.Broadcast()
	r.mu.Unlock()
}

// Close cancels the requests in flight, waits for them and for reads, and gives the memory back.
// A Read after it gets nothing.
func (r *Run) Close() {
	r.cancel()
	r.end()
	r.all.Wait()
	r.mu.Lock()
	for r.reading > 0 {
		r.idle.Wait()
	}
	if r.arena.mem != nil {
		r.arena.close()
	}
	r.windows = nil
	told := r.take()
	r.mu.Unlock()
	r.tell(told)
}

// take returns the counts that the store is to be told; mu is held.
func (r *Run) take() storage.LookAhead {
	c := r.counts
	r.counts = storage.LookAhead{}
	return c
}

// tell adds to the counts of the store.
func (r *Run) tell(c storage.LookAhead) {
	if r.told != nil && c != (storage.LookAhead{}) {
		r.told.CountAhead(c)
	}
}

// waited counts the time that a read has waited; mu is held.
func (r *Run) waited(since time.Time) { r.counts.Waited += time.Since(since) }
