package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Warning is what an operator said of a sample that it made all the same, such as
// a decoder that kept a damaged picture.
type Warning struct {
	Source string `json:"source"` // where the sample comes from, as in SampleError
	Index  int64  `json:"index"`  // in the first reader's source
	Op     string `json:"op"`
	Text   string `json:"text"`
}

// WarningStats counts warnings.
type WarningStats struct {
	Count int64     `json:"count"`           // warnings of samples that became rows
	First []Warning `json:"first,omitempty"` // the first that each worker met, maxWarnings in all, by source
}

// maxWarnings is how many warnings a worker keeps, and how many Stats shows.
const maxWarnings = 16

// WarningEvent is a warning of a sample that became a row.
type WarningEvent struct {
	Warning
	Time        time.Time
	Epoch, Step int64
	Row         int
}

// Warn implements Host.
func (w *worker) Warn(err error) { w.warned = append(w.warned, warned{w.at, err}) }

// WholeIndex implements Host.
func (w *worker) WholeIndex(id int64) int64 { return w.p.readers[0].WholeIndex(id) }

// warned is a warning of the sample at work.
type warned struct {
	step int
	err  error
}

// warnings are those that a worker met.
type warnings struct {
	mu    sync.Mutex
	count int64
	first []Warning
}

// warn takes note of the warnings of a row that was made.
func (r *hostRegion) warn(w *worker, b *Batch, row int) {
	index := r.plans[b.slot][0][row]
	for _, v := range w.warned {
		one := Warning{Source: r.p.readers[0].describe(index), Index: index, Op: r.p.nodes[v.step].op.Name, Text: v.err.Error()}
		w.warnings.add(one)
		if f := r.p.opt.Events.Warned; f != nil {
			f(WarningEvent{Warning: one, Time: time.Now(), Epoch: b.epoch, Step: b.step, Row: row})
		}
	}
}

func (w *warnings) add(v Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if len(w.first) < maxWarnings {
		w.first = append(w.first, v)
	}
}

// addTo adds a worker's warnings to those of others.
func (w *warnings) addTo(s *WarningStats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Count += w.count
	s.First = append(s.First, w.first...)
	slices.SortFunc(s.First, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Op, b.Op))
	})
	s.First = s.First[:min(len(s.First), maxWarnings)]
}

// String says how many warnings there are, and the first of them.
func (s WarningStats) String() string {
	switch {
	case s.Count == 0:
		return "no warnings"
	case len(s.First) == 0:
		return fmt.Sprintf("%d warnings", s.Count)
	}
	v := s.First[0]
	return fmt.Sprintf("%d warnings, such as %s: %s: %s", s.Count, v.Source, v.Op, v.Text)
}
