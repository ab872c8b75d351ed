// Package report records what a pipeline does and shows it: as a trace that
// Perfetto and chrome://tracing open, and as a page of HTML that needs nothing
// beside itself.
package report

import (
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// How many events a Recorder keeps; a trace of all of them takes some 40 MB.
const (
	maxOperators = 150_000
	maxWaits     = 50_000
	maxBatches   = 100_000
	maxWorks     = 50_000
)

// Recorder keeps the events of one pipeline. Give its Listener to the pipeline's
// options. Its methods may be called from any goroutine.
type Recorder struct {
	began time.Time

	mu        sync.Mutex
	operators []stats.OperatorEvent
	waits     []stats.WaitEvent
	batches   []batchEvent
	works     []stats.StreamEvent
	tuned     []stats.TuneEvent
	dropped   int64
}

// batchEvent is one of the events of a batch.
type batchEvent struct {
	kind batchKind
	stats.BatchEvent
}

type batchKind int

const (
	begun batchKind = iota
	made
	finished // only where there are operators for whole batches
	delivered
	released
)

// NewRecorder returns an empty recorder; times count from now.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Listener returns the functions that record.
func (r *Recorder) Listener() stats.Events {
	batch := func(kind batchKind) func(stats.BatchEvent) {
		return func(e stats.BatchEvent) { keep(r, &r.batches, batchEvent{kind, e}, maxBatches) }
	}
	return stats.Events{
		BatchBegun: batch(begun), BatchMade: batch(made), BatchFinished: batch(finished),
		BatchDelivered: batch(delivered), BatchReleased: batch(released),
		Operator:     func(e stats.OperatorEvent) { keep(r, &r.operators, e, maxOperators) },
		Stream:       func(e stats.StreamEvent) { keep(r, &r.works, e, maxWorks) },
		WorkerWaited: func(e stats.WaitEvent) { keep(r, &r.waits, e, maxWaits) },
		Tuned:        func(e stats.TuneEvent) { keep(r, &r.tuned, e, maxWaits) },
	}
}

// keep adds an event to a list while there is room.
func keep[E any](r *Recorder, list *[]E, e E, room int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(*list) == room {
		r.dropped++
		return
	}
	*list = append(*list, e)
}

// Dropped returns how many events came after there was no more room for them.
func (r *Recorder) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Series is what happened over time, in equal parts of it.
type Series struct {
	Width   time.Duration // of one part
	Samples []float64     // samples delivered per second
	Ready   []float64     // batches ready when one was asked for, on average
}

// Series returns the course of the run in at most n parts.
func (r *Recorder) Series(n int) Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first, last time.Time
	count := 0
	for _, b := range r.batches {
		if b.kind != delivered {
			continue
		}
		if count == 0 {
			first = b.Time.Add(-b.Waited)
		}
		last = b.Time
		count++
	}
	// A part with hardly a batch in it would say more about the clock than the run.
	n = min(n, count/2)
	if n == 0 || !last.After(first) {
		return Series{}
	}
	s := Series{Width: last.Sub(first)/time.Duration(n) + 1, Samples: make([]float64, n), Ready: make([]float64, n)}
	asked := make([]float64, n)
	for _, b := range r.batches {
		if b.kind != delivered {
			continue
		}
		i := int(b.Time.Sub(first) / s.Width)
		s.Samples[i] += float64(b.Valid)
		s.Ready[i] += float64(b.Ready)
		asked[i]++
	}
	for i := range n {
		s.Samples[i] /= s.Width.Seconds()
		if asked[i] > 0 {
			s.Ready[i] /= asked[i]
		}
	}
	return s
}
