package run

import (
	"sync"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// memoryUse is what one worker or one batch has seen, by value.
type memoryUse struct {
	mu     sync.Mutex
	values []bufferUse
	beside []bufferUse // by step; only real and maxReal
}

type bufferUse struct{ real, maxReal, reserved, maxReserved int64 }

func (u *bufferUse) see(real, reserved int64) {
	u.real, u.maxReal = real, max(u.maxReal, real)
	u.reserved, u.maxReserved = reserved, max(u.maxReserved, reserved)
}

// addTo adds entry i of the outputs of o.
func (u *bufferUse) addTo(o *stats.OperatorMemory, i int) {
	o.Real[i] += u.real
	o.MaxReal[i] = max(o.MaxReal[i], u.maxReal)
	o.Reserved[i] += u.reserved
	o.MaxReserved[i] = max(o.MaxReserved[i], u.maxReserved)
}

// newMemoryUses returns those of slabs, by part; none unless the pipeline counts
// memory.
func newMemoryUses(p *compiled.Pipeline) (uses [compiled.Parts][]*memoryUse) {
	if p.Options().CountMemory {
		for of := range uses {
			for range p.SlabCount(compiled.Part(of)) {
				uses[of] = append(uses[of], newMemoryUse(p))
			}
		}
	}
	return uses
}

// use returns the counts of a slab, nil if there are none.
func (r *sampleRegion) use(of compiled.Part, i int) *memoryUse {
	if !r.p.Options().CountMemory {
		return nil
	}
	return r.uses[of][i]
}

// newMemoryUse returns nil unless the pipeline counts memory.
func newMemoryUse(p *compiled.Pipeline) *memoryUse {
	if !p.Options().CountMemory {
		return nil
	}
	return &memoryUse{values: make([]bufferUse, len(p.Values())), beside: make([]bufferUse, len(p.Nodes()))}
}

// note counts what a worker holds after a sample.
func (u *memoryUse) note(w *worker) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range w.tensors {
		if t := &w.tensors[i]; datum.RowOf(&t.Tensor) == nil {
			u.values[i].see(int64(len(datum.Shown(&t.Tensor))), int64(t.buf.Reserved()))
		}
	}
	for i := range w.steps {
		u.beside[i].see(w.steps[i].beside, 0)
	}
}

// noteDense counts a dense output of a batch, which has the size that it needs
// from the beginning, with so many bytes in a row and in all. First is the first
// output that shows the value: a batch may be allocated again when a run could not
// begin.
func (u *memoryUse) noteDense(value, row, all int, first bool) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	v := &u.values[value]
	if first {
		*v = bufferUse{}
	}
	v.real, v.reserved = v.real+int64(all), v.reserved+int64(all)
	v.maxReal, v.maxReserved = int64(row), int64(row)
}

// noteRagged counts what the ragged outputs of a batch hold when its rows are done.
func (u *memoryUse) noteRagged(f *Flight) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range f.outs {
		o := &f.outs[i]
		if o.Alias != i || o.ragged == nil {
			continue
		}
		v := &u.values[o.Value]
		v.real, v.reserved = 0, 0
		for row := range o.ragged {
			real, reserved := int64(len(datum.Shown(&o.ragged[row].Tensor))), int64(o.ragged[row].buf.Reserved())
			v.real += real
			v.reserved += reserved
			v.maxReal, v.maxReserved = max(v.maxReal, real), max(v.maxReserved, reserved)
		}
	}
}

// OperatorMemory returns the memory that every operator has needed in the
// latest run, in the order of execution; nil unless it is counted.
func (e *Engine) OperatorMemory() stats.Memory {
	p, r := e.p, e.latest.Load()
	if !p.Options().CountMemory || r == nil {
		return nil
	}
	var all stats.Memory
	names := p.NodeNames()
	for i, n := range p.Nodes() {
		if names[i] == "" {
			continue
		}
		m := newOperatorMemory(p, names[i], n.Out)
		for _, w := range r.workers {
			w.use.addTo(&m, n.Out)
			w.use.mu.Lock()
			m.Beside += w.use.beside[i].real
			m.MaxBeside = max(m.MaxBeside, w.use.beside[i].maxReal)
			w.use.mu.Unlock()
		}
		r.addBatches(&m, n.Out)
		all = append(all, m)
	}
	for i, name := range p.BatchOpNames() {
		out := p.ValuesOf(p.BatchOps()[i].Out)
		m := newOperatorMemory(p, name, out)
		r.addBatches(&m, out)
		all = append(all, m)
	}
	return all
}

func newOperatorMemory(p *compiled.Pipeline, name string, values []int) stats.OperatorMemory {
	n := len(values)
	m := stats.OperatorMemory{
		Name: name, Real: make([]int64, n), MaxReal: make([]int64, n), Reserved: make([]int64, n), MaxReserved: make([]int64, n),
		Kind: make([]memstats.Kind, n), Presizable: make([]bool, n),
	}
	for i, v := range values {
		m.Kind[i], m.Presizable[i] = memstats.Host, true
		for _, o := range p.Outputs() {
			if o.Value == v && o.Spec.Dense() { // which has the size that it needs from the beginning
				m.Kind[i], m.Presizable[i] = o.Kind, false
			}
		}
	}
	return m
}

// addBatches adds the figures of values that are outputs.
func (r *sampleRegion) addBatches(m *stats.OperatorMemory, values []int) {
	for _, uses := range r.uses {
		for _, u := range uses {
			u.addTo(m, values)
		}
	}
}

// addTo adds the figures of values to those of the operator that makes them.
func (u *memoryUse) addTo(o *stats.OperatorMemory, values []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, v := range values {
		u.values[v].addTo(o, i)
	}
}
