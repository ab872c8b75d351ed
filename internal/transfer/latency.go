package transfer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	remembered = 256 // times that the percentile is of
	relearned  = 32  // new times after which it is worked out again
	fewest     = 64  // times without which nothing is hedged
)

// latency learns from how long answers take to begin when an answer is late.
type latency struct {
	percentile int          // negative for never
	late       atomic.Int64 // the time after which to hedge; 0 while it is not known

	mu    sync.Mutex
	times [remembered]time.Duration
	seen  int
}

// add tells how long an answer took to begin.
func (l *latency) add(d time.Duration) {
	if l.percentile < 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[l.seen%remembered] = d
	l.seen++
	if l.seen < fewest || l.seen%relearned != 0 {
		return
	}
	sorted := l.times // a copy
	known := sorted[:min(l.seen, remembered)]
	slices.Sort(known)
	late := max(2*known[len(known)*l.percentile/100], time.Millisecond)
	l.late.Store(int64(late))
}

// hedgeAfter returns after what time to ask again, 0 for never.
func (l *latency) hedgeAfter() time.Duration { return time.Duration(l.late.Load()) }

// mayHedge keeps hedges to one request in 20, whatever the server does: one that is slow
// because it has much to do must not get twice as much.
func (c *counts) mayHedge() bool { return 20*(c.hedges.Load()+1) <= c.requests.Load() }
