package iterator

import (
	"fmt"
	"time"
)

// Stats counts what a loader has delivered and how long its consumer waited.
type Stats struct {
	Batches    int64
	Samples    int64         // valid rows
	Bad        int64         // samples that were skipped or replaced
	Active     time.Duration // time spent in loops over epochs
	Waited     time.Duration // the part of it in which the loop's body had no batch
	FirstBatch time.Duration // time to the first batch
}

// Stats returns the counts so far. It must not be called while another
// goroutine uses the loader.
func (l *Loader) Stats() Stats {
	s := Stats{Batches: l.batches, Samples: l.samples, Active: l.active, FirstBatch: l.first}
	for i := range l.parts {
		s.Bad += l.parts[i].run.Bad()
		s.Waited += l.parts[i].run.Waited()
	}
	return s
}

// WaitShare returns the share of the loops' time that their bodies waited for
// data, 0 to 1.
func (s Stats) WaitShare() float64 {
	if s.Active <= 0 {
		return 0
	}
	return min(1, float64(s.Waited)/float64(s.Active))
}

// Rate returns valid samples per second of the loops' time.
func (s Stats) Rate() float64 {
	if s.Active <= 0 {
		return 0
	}
	return float64(s.Samples) / s.Active.Seconds()
}

// String writes the counts on one line.
func (s Stats) String() string {
	return fmt.Sprintf("%d samples in %d batches, %.0f samples/s, waited %.1f %% of the time, first batch after %v, %d bad",
		s.Samples, s.Batches, s.Rate(), 100*s.WaitShare(), s.FirstBatch.Round(time.Microsecond), s.Bad)
}
