package run

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// Warn implements Host.
func (w *worker) Warn(err error) { w.warned = append(w.warned, warned{w.at, err}) }

// WholeIndex implements Host.
func (w *worker) WholeIndex(id int64) int64 { return w.p.Readers()[0].Index(id) }

// warned is a warning of the sample at work.
type warned struct {
	step int
	err  error
}

// warnings are those that a worker met.
type warnings struct {
	mu    sync.Mutex
	count int64
	first []stats.Warning
}

// warn takes note of the warnings of a row that was made.
func (r *sampleRegion) warn(w *worker, f *Flight, row int) {
	index := f.samples[0][row]
	for _, v := range w.warned {
		one := stats.Warning{Source: r.p.Readers()[0].Describe(index), Index: index, Op: r.p.Nodes()[v.step].Name, Text: v.err.Error()}
		w.warnings.add(one)
		if told := r.p.Options().Events.Warned; told != nil {
			told(stats.WarningEvent{Warning: one, Time: time.Now(), Epoch: f.epoch, Step: f.step, Row: row})
		}
	}
}

func (w *warnings) add(v stats.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if len(w.first) < stats.MaxWarnings {
		w.first = append(w.first, v)
	}
}

// addTo adds a worker's warnings to those of others.
func (w *warnings) addTo(s *stats.Warnings) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Count += w.count
	s.First = append(s.First, w.first...)
	slices.SortFunc(s.First, func(a, b stats.Warning) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Op, b.Op))
	})
	s.First = s.First[:min(len(s.First), stats.MaxWarnings)]
}
