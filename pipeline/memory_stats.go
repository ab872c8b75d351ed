package pipeline

import (
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/planktonml/plankton/memstats"
)

// MemoryStatistics says, per operator and output, how much memory samples
// needed.
type MemoryStatistics []OperatorMemory

// OperatorMemory is the memory of one operator or reader, in bytes, with an entry
// for each of its outputs. The figures are NVIDIA DALI's, under its names.
//
// An operator's results are in the scratch of each worker, or in the batches if
// they are outputs of the pipeline: Real and Reserved are sums over all workers
// or batches, MaxReal and MaxReserved are those of a single sample.
type OperatorMemory struct {
	Name        string  `json:"name"`                     // with #2 and so on where others have the same
	Real        []int64 `json:"real_memory_size"`         // what the latest samples take
	MaxReal     []int64 `json:"max_real_memory_size"`     // what the largest sample took so far
	Reserved    []int64 `json:"reserved_memory_size"`     // what the buffers hold
	MaxReserved []int64 `json:"max_reserved_memory_size"` // what the largest buffer held so far

	Kind      []memstats.Kind `json:"memory_kind"`            // of the memory: page-locked or of the device where operators for whole batches ask for it
	Beside    int64           `json:"beside_memory_size"`     // what kernels hold beside, such as decoders: Sample.Reserve
	MaxBeside int64           `json:"max_beside_memory_size"` // the most of one worker so far

	presizable []bool // by output: its buffer follows a hint
}

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
func (u *bufferUse) addTo(o *OperatorMemory, i int) {
	o.Real[i] += u.real
	o.MaxReal[i] = max(o.MaxReal[i], u.maxReal)
	o.Reserved[i] += u.reserved
	o.MaxReserved[i] = max(o.MaxReserved[i], u.maxReserved)
}

// newMemoryUses returns those of slabs, by part; none unless the pipeline counts
// memory.
func (p *Pipeline) newMemoryUses() (uses [parts][]*memoryUse) {
	if p.opt.EnableMemoryStats {
		for of := range uses {
			for range p.slabCount(part(of)) {
				uses[of] = append(uses[of], p.newMemoryUse())
			}
		}
	}
	return uses
}

// use returns the counts of a slab, nil if there are none.
func (r *hostRegion) use(of part, i int) *memoryUse {
	if !r.p.opt.EnableMemoryStats {
		return nil
	}
	return r.uses[of][i]
}

// newMemoryUse returns nil unless the pipeline counts memory.
func (p *Pipeline) newMemoryUse() *memoryUse {
	if !p.opt.EnableMemoryStats {
		return nil
	}
	return &memoryUse{values: make([]bufferUse, len(p.values)), beside: make([]bufferUse, len(p.nodes))}
}

// note counts what a worker holds after a sample.
func (u *memoryUse) note(w *worker) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range w.tensors {
		if t := &w.tensors[i]; t.Row() == nil {
			u.values[i].see(int64(len(t.Shown())), int64(t.buf.Reserved()))
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
func (u *memoryUse) noteRagged(b *Batch) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range b.outs {
		o := &b.outs[i]
		if o.alias != i || o.ragged == nil {
			continue
		}
		v := &u.values[b.p.outputs[i].value]
		v.real, v.reserved = 0, 0
		for row := range o.ragged {
			real, reserved := int64(len(o.ragged[row].Shown())), int64(o.ragged[row].buf.Reserved())
			v.real += real
			v.reserved += reserved
			v.maxReal, v.maxReserved = max(v.maxReal, real), max(v.maxReserved, reserved)
		}
	}
}

// ExecutorStatistics returns the memory that every operator has needed in the
// latest run, in the order of execution; nil without Options.EnableMemoryStats. It
// may be called from any goroutine, while the pipeline runs and after it was
// closed.
func (p *Pipeline) ExecutorStatistics() MemoryStatistics {
	r := p.latest.Load()
	if !p.opt.EnableMemoryStats || r == nil {
		return nil
	}
	var all MemoryStatistics
	names := p.nodeNames()
	for i := range p.nodes {
		if names[i] == "" {
			continue
		}
		m := p.newOperatorMemory(names[i], p.nodes[i].out)
		for _, w := range r.workers {
			w.use.addTo(&m, p.nodes[i].out)
			w.use.mu.Lock()
			m.Beside += w.use.beside[i].real
			m.MaxBeside = max(m.MaxBeside, w.use.beside[i].maxReal)
			w.use.mu.Unlock()
		}
		r.addBatches(&m, p.nodes[i].out)
		all = append(all, m)
	}
	for i, name := range p.batchOpNames() {
		out := p.valuesOf(p.batchOps[i].out)
		m := p.newOperatorMemory(name, out)
		r.addBatches(&m, out)
		all = append(all, m)
	}
	return all
}

func (p *Pipeline) newOperatorMemory(name string, values []int) OperatorMemory {
	n := len(values)
	m := OperatorMemory{
		Name: name, Real: make([]int64, n), MaxReal: make([]int64, n), Reserved: make([]int64, n), MaxReserved: make([]int64, n),
		Kind: make([]memstats.Kind, n), presizable: make([]bool, n),
	}
	for i, v := range values {
		m.Kind[i], m.presizable[i] = memstats.Host, true
		for _, o := range p.outputs {
			if o.value == v && o.spec.Dense() { // which has the size that it needs from the beginning
				m.Kind[i], m.presizable[i] = o.kind, false
			}
		}
	}
	return m
}

// addBatches adds the figures of values that are outputs.
func (r *hostRegion) addBatches(m *OperatorMemory, values []int) {
	for _, uses := range r.uses {
		for _, u := range uses {
			u.addTo(m, values)
		}
	}
}

// addTo adds the figures of values to those of the operator that makes them.
func (u *memoryUse) addTo(o *OperatorMemory, values []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, v := range values {
		u.values[v].addTo(o, i)
	}
}

// Hint returns what to set Options.BytesPerSampleHint to, as Go source. Dense
// outputs need no hint: they have 0.
func (s MemoryStatistics) Hint() string {
	var entries []string
	for _, o := range s {
		any := false
		var sizes []string
		for i, n := range o.MaxReal {
			if !o.presizable[i] {
				n = 0
			}
			any = any || n > 0
			sizes = append(sizes, fmt.Sprint(n))
		}
		if any {
			entries = append(entries, fmt.Sprintf("%q: {%s}", o.Name, strings.Join(sizes, ", ")))
		}
	}
	return fmt.Sprintf("BytesPerSampleHint: map[string][]int{%s},", strings.Join(entries, ", "))
}

// String writes the figures as a table, and the hint to set.
func (s MemoryStatistics) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "operator\toutput\tmemory\treal\tmax real\treserved\tmax reserved\tbeside\tmax beside")
	for _, o := range s {
		for i := range o.Real {
			fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t", o.Name, i, o.Kind[i], o.Real[i], o.MaxReal[i], o.Reserved[i], o.MaxReserved[i])
			if i == 0 {
				fmt.Fprintf(t, "%d\t%d\n", o.Beside, o.MaxBeside)
			} else {
				fmt.Fprint(t, "\t\n")
			}
		}
	}
	t.Flush()
	return b.String() + s.Hint() + "\n"
}
