package run

import (
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
)

// TouchAhead is how many rows ahead samples are touched: in about as many cheap
// samples memory answers.
const TouchAhead = 4

// touchers returns the sources that want it, by reader; nil for the others.
func touchers(p *compiled.Pipeline) []datum.Toucher {
	ts := make([]datum.Toucher, len(p.Readers()))
	for i, r := range p.Readers() {
		ts[i], _ = r.Source.(datum.Toucher)
	}
	return ts
}

// touch touches the sample of a row in every source that wants it.
func (w *worker) touch(plan [][]int64, row int) {
	for i, t := range w.touchers {
		if t != nil && row < len(plan[i]) {
			t.Touch(plan[i][row])
		}
	}
}
