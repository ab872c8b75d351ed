package pipeline

// Toucher is a Source whose samples lie in memory. A worker calls Touch for a
// sample that it, or another one, reads a few rows later: Touch asks the
// processor for the sample's memory and does not wait for it, so that reading
// samples in a random order does not wait for the memory each time. It is called
// by several goroutines at once. A panic fails the sample that the worker is at.
type Toucher interface {
	Source
	Touch(index int64)
}

// touchAhead is how many rows ahead samples are touched: in about as many cheap
// samples memory answers.
const touchAhead = 4

// touchers returns the sources that want it, by reader; nil for the others.
func (p *Pipeline) touchers() []Toucher {
	ts := make([]Toucher, len(p.readers))
	for i, r := range p.readers {
		ts[i], _ = r.Source.(Toucher)
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
