package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/planktonml/plankton/pipeline/stats"
)

// warnings collects what operators warned of, which workers tell in any order.
type warnings struct {
	mu     sync.Mutex
	events []stats.WarningEvent
}

func (w *warnings) add(e stats.WarningEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// within returns the warnings of so many epochs in the order of the samples. Workers go on
// with the epoch behind the last one, whose warnings do not count.
func (w *warnings) within(epochs int) (list []benchSkipped) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.events, func(a, b stats.WarningEvent) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Row, b.Row))
	})
	for _, e := range w.events {
		if e.Epoch < int64(epochs) {
			list = append(list, benchSkipped{e.Source, e.Op, e.Text})
		}
	}
	return list
}
