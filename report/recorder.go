package report

import (
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// How many events a Recorder keeps, the latest ones; a trace of all of them takes some 40 MB.
const (
	maxOperators = 150_000
	maxWaits     = 50_000
	maxBatches   = 100_000
	maxWorks     = 50_000
)

// Recorder keeps what happens in one pipeline of a loader, within bounds, however long the run is. New makes it. Its
// methods may be called from any goroutine, also while the loader runs.
type Recorder struct {
	opt   Options
	began time.Time

	mu        sync.Mutex
	operators []stats.OperatorEvent
	waits     []stats.WaitEvent
	batches   []batchEvent
	works     []stats.StreamEvent
	tuned     []stats.TuneEvent
	dropped   int64
	cut       bool // batches were dropped

	serving sync.Mutex // held while a page or a trace is made for a client, so that there is one copy of the events

	attached attached
	course   course
	samples  samples
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

// New returns an empty recorder; times count from now.
func New(o Options) *Recorder {
	o.setDefaults()
	return &Recorder{opt: o, began: time.Now()}
}

// Events are the functions that record, for the Events of pipeline.Options. Functions of the program's own
// may be called beside them: Events returns a value that can be changed.
func (r *Recorder) Events() stats.Events {
	batch := func(kind batchKind) func(stats.BatchEvent) {
		return func(e stats.BatchEvent) {
			if keep(r, &r.batches, batchEvent{kind, e}, maxBatches) {
				r.mu.Lock()
				r.cut = true
				r.mu.Unlock()
			}
		}
	}
	events := stats.Events{
		BatchBegun: batch(begun), BatchMade: batch(made), BatchFinished: batch(finished),
		BatchDelivered: batch(delivered), BatchReleased: batch(released),
		Stream:       func(e stats.StreamEvent) { keep(r, &r.works, e, maxWorks) },
		WorkerWaited: func(e stats.WaitEvent) { keep(r, &r.waits, e, maxWaits) },
		Tuned:        func(e stats.TuneEvent) { keep(r, &r.tuned, e, maxWaits) },
	}
	if r.opt.Spans {
		events.Operator = func(e stats.OperatorEvent) { keep(r, &r.operators, e, maxOperators) }
	}
	return events
}

// keep adds an event to a list. Of a list that is full the older half is dropped, and full is true.
func keep[E any](r *Recorder, list *[]E, e E, room int) (full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if full = len(*list) == room; full {
		n := copy(*list, (*list)[room/2:])
		*list = (*list)[:n]
		r.dropped += int64(room - n)
	}
	*list = append(*list, e)
	return full
}

// snapshot returns a recorder with the events so far, which nobody else has. Whoever records waits
// only while they are copied; memory for them is there before.
func (r *Recorder) snapshot() *Recorder {
	s := &Recorder{opt: r.opt, began: r.began}
	r.mu.Lock()
	operators, waits, batches, works, tuned := len(r.operators), len(r.waits), len(r.batches), len(r.works), len(r.tuned)
	r.mu.Unlock()
	s.operators, s.waits, s.batches = roomFor[stats.OperatorEvent](operators), roomFor[stats.WaitEvent](waits), roomFor[batchEvent](batches)
	s.works, s.tuned = roomFor[stats.StreamEvent](works), roomFor[stats.TuneEvent](tuned)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.operators, s.waits, s.batches = append(s.operators, r.operators...), append(s.waits, r.waits...), append(s.batches, r.batches...)
	s.works, s.tuned = append(s.works, r.works...), append(s.tuned, r.tuned...)
	return s
}

// roomFor returns an empty list with room for n events, and for some that come meanwhile.
func roomFor[E any](n int) []E {
	list := make([]E, n+n/16+64)
	clear(list) // so that the memory is there in fact
	return list[:0]
}

// droppedEvents returns how many events were dropped for later ones.
func (r *Recorder) droppedEvents() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// series is what happened over time, in equal parts of it.
type series struct {
	Width   time.Duration // of one part
	Samples []float64     // samples delivered per second
	Ready   []float64     // batches ready when one was asked for, on average
}

// series returns the course of the run in at most n parts.
func (r *Recorder) series(n int) series {
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
		return series{}
	}
	s := series{Width: last.Sub(first)/time.Duration(n) + 1, Samples: make([]float64, n), Ready: make([]float64, n)}
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
