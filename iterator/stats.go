package iterator

import (
	"fmt"
	"io"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// Stats says what a loader has delivered, how long its consumer waited, and why.
type Stats struct {
	Batches    int64         `json:"batches"`
	Samples    int64         `json:"samples"`        // valid rows
	Bad        int64         `json:"bad"`            // samples that were skipped or replaced
	Active     time.Duration `json:"active_ns"`      // time spent in loops over epochs: Waited and Body
	Waited     time.Duration `json:"waited_ns"`      // time in which a loop waited for a batch
	Body       time.Duration `json:"body_ns"`        // time in which the body of a loop had a batch
	FirstBatch time.Duration `json:"first_batch_ns"` // the wait for the first batch
	Gaps       int64         `json:"gaps"`           // times an epoch followed another
	Gap        time.Duration `json:"gap_ns"`         // the waits for those epochs' first batches

	Pipelines []stats.Run `json:"pipelines"` // in the order given to New
}

// Stats returns the counts so far. It may be called from any goroutine, also
// while a loop runs and after Close, so it can be published:
//
//	expvar.Publish("train", expvar.Func(func() any { return loader.Stats() }))
func (l *Loader) Stats() Stats {
	var s Stats
	for i := range l.parts {
		s.Pipelines = append(s.Pipelines, l.parts[i].run.Stats())
	}
	s.sum()
	return s
}

// sum makes the totals from those of the pipelines. The loader takes the batches of a step
// from one pipeline after the other, so the waits add up; the body runs when all are there.
func (s *Stats) sum() {
	for i := range s.Pipelines {
		c := &s.Pipelines[i].Consumer
		s.Batches, s.Body, s.Gaps = c.Batches, c.Body, c.Gaps
		s.Samples += c.Samples
		s.Bad += c.Bad
		s.Waited += c.Waited
		s.FirstBatch += c.FirstBatch
		s.Gap += c.Gap
	}
	s.Active = s.Waited + s.Body
}

// Sub returns what was done since an earlier Stats of the same loader.
func (s Stats) Sub(earlier Stats) Stats {
	var d Stats
	for i := range s.Pipelines {
		d.Pipelines = append(d.Pipelines, s.Pipelines[i].Sub(earlier.Pipelines[i]))
	}
	d.sum()
	return d
}

// WaitShare returns the part of Active in which loops waited for data, 0 to 1.
func (s Stats) WaitShare() float64 {
	if s.Active <= 0 {
		return 0
	}
	return float64(s.Waited) / float64(s.Active)
}

// Rate returns the valid samples per second of Active.
func (s Stats) Rate() float64 {
	if s.Active <= 0 {
		return 0
	}
	return float64(s.Samples) / s.Active.Seconds()
}

// Verdict says what bounds the loops and what to change: the verdict of the
// pipeline that they waited for the longest.
func (s Stats) Verdict() stats.Verdict {
	var slowest stats.Run
	for i, p := range s.Pipelines {
		if i == 0 || p.Consumer.Waited > slowest.Consumer.Waited {
			slowest = p
		}
	}
	return slowest.Verdict()
}

// String writes the counts on one line. Those of a pipeline (stats.Run) write a table.
func (s Stats) String() string {
	return fmt.Sprintf("%d samples in %d batches, %.0f samples/s, waited %.1f %% of the time, first batch after %v, %d bad",
		s.Samples, s.Batches, s.Rate(), 100*s.WaitShare(), s.FirstBatch.Round(time.Microsecond), s.Bad)
}

// WritePrometheus writes the counts of every pipeline in the text format of
// Prometheus, for a handler of /metrics. Pipelines are told apart by the label
// "pipeline", their place in the order given to New.
func (s Stats) WritePrometheus(w io.Writer) error { return stats.WritePrometheus(w, s.Pipelines...) }
