package run

import (
	"encoding/binary"
	"slices"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Samples that lie in memory cost less than what is looked after for each of them. So where a
// pipeline can do without, a worker makes all rows of its ticket at once: sources copy them
// straight into the batch, and operators take them together. What is not as it should be, such as a
// sample that fails, is left to worker.run, which makes the same rows one by one; what was
// written by then does not count.

// A worker that gathers takes so many rows at a time, fewer where all that is made of them does not
// stay in the cache, or where a batch has few. Rows that are large are made one by one: what is looked
// after for each is little then, and what a source lends is not copied.
const (
	gatherRows  = 64
	gatherBytes = 256 << 10
	gatherLarge = gatherBytes / 16
)

const (
	// The first tickets of a worker are timed, and then one in so many: the first of all finds
	// nothing in the cache, and must not stand for many.
	timedTickets = 8
	// After a ticket that could not be made at once, so many are not tried.
	restTickets = 8
)

// gather makes rows at once, for one worker.
type gather struct {
	w      *worker
	steps  []gatherStep
	values []gatherValue
	bytes  int     // of all values of a row
	index  []int64 // scratch
	ran    int     // tickets that were tried
	rest   int     // tickets that are not tried
}

// gatherStep is a source or an operator.
type gatherStep struct {
	source  datum.Gatherer   // nil for an operator
	kernel  datum.RowsKernel // nil for a reader
	reader  int
	in, out []datum.Rows
	ins     []int // the values that in are
	outs    []int // the values that out are
	busy    int64 // nanoseconds for the rows at hand, if they are timed
	wrote   int   // the input that the operator has written, or -1; only builds with the tag invariants look
}

// gatherValue says where the rows of a value are made.
type gatherValue struct {
	output int // in the batch, by the place of the output, or -1
	used   bool
	bytes  int // of a row
	data   []byte
}

// newGather returns what gathers rows for a worker of a region, nil where its rows are made one
// by one: where any of them needs something of its own, or something that could.
func newGather(r *sampleRegion, w *worker) *gather {
	o := r.p.Options()
	if o.MemoryBudget > 0 || o.Remote != nil || o.SampleTimeout > 0 || o.CountMemory || o.Events.Operator != nil ||
		r.p.LookAhead() > 0 || r.p.Branches() {
		return nil
	}
	g := &gather{w: w, values: make([]gatherValue, len(r.p.Values()))}
	for i, n := range r.p.Nodes() {
		s := gatherStep{reader: n.Reader, wrote: -1, ins: n.In, outs: n.Out, in: make([]datum.Rows, len(n.In)), out: make([]datum.Rows, len(n.Out))}
		var ok bool
		if n.Reader >= 0 {
			s.source, ok = r.p.Readers()[n.Reader].Source.(datum.Gatherer)
			ok = ok && s.source.Gathers()
		} else {
			s.kernel, ok = w.steps[i].kernel.(datum.RowsKernel)
		}
		if !ok || !g.take(n.In, s.in) || !g.take(n.Out, s.out) {
			return nil
		}
		for _, v := range n.In {
			g.values[v].used = true
		}
		for _, v := range n.Out {
			g.values[v] = gatherValue{output: -1, used: s.kernel != nil, bytes: r.p.Values()[v].Spec.Bytes()}
		}
		g.steps = append(g.steps, s)
	}
	for i, out := range r.p.Outputs() {
		if !out.Whole && out.Alias == i {
			g.values[out.Value].output, g.values[out.Value].used = i, true
		}
	}
	for _, v := range g.values {
		if v.used {
			g.bytes += v.bytes
		}
	}
	if g.bytes > gatherLarge {
		return nil
	}
	return g
}

// take says what rows of values are. It reports false if one is not dense.
func (g *gather) take(values []int, rows []datum.Rows) bool {
	for k, v := range values {
		rows[k].Spec = &g.w.p.Values()[v].Spec
		if !rows[k].Spec.Dense() {
			return false
		}
	}
	return true
}

// gathers reports whether all workers gather their rows.
func (r *sampleRegion) gathers() bool {
	return !slices.ContainsFunc(r.workers, func(w *worker) bool { return w.gather == nil })
}

// grain returns how many rows a worker takes at a time.
func (r *sampleRegion) grain() int {
	if !r.gathers() {
		return r.p.Grain()
	}
	o, g := r.p.Options(), r.workers[0].gather
	n := min(gatherRows, gatherBytes/max(g.bytes, 1), o.BatchSize/2/o.MaxWorkers)
	for _, a := range r.aheads { // what is fetched is to be ahead of the ticket
		n = min(n, int(a.ahead/2))
	}
	return max(1, n)
}

// ticket makes rows of a batch at once, from row up to end. It reports false where they are to be
// made one by one.
func (r *sampleRegion) ticket(worker int, c *executor.Call, row, end int) bool {
	f := r.flights[c.Slot()]
	for _, a := range r.aheads {
		a.row(f.seq, row)
	}
	valid := min(end, len(f.samples[0]))
	if row < valid && !r.workers[worker].gather.run(f, row, valid) {
		return false
	}
	for row = max(row, valid); row < end; row++ {
		r.memory.void(f, row)
	}
	return true
}

// run makes the rows from row up to end, all of them valid.
func (g *gather) run(f *Flight, row, end int) (made bool) {
	if g.rest > 0 {
		g.rest--
		return false
	}
	g.rest = restTickets // also where this goroutine is ended
	defer func() {
		if recover() != nil { // the sample at fault is found by worker.run
			made = false
		}
		if made {
			g.rest = 0
		}
	}()
	if !g.place(f, row, end) {
		return false
	}
	timing := g.ran < timedTickets || g.ran%timedTickets == 0
	g.ran++
	var last int64
	if timing {
		last = now()
	}
	for i := range g.steps {
		s := &g.steps[i]
		g.show(s.in, s.ins)
		g.show(s.out, s.outs)
		if !g.step(s, f, row, end) {
			return false
		}
		if timing {
			t := now()
			s.busy, last = t-last, t
		}
	}
	if g.w.delivers {
		f.copyRows(row, end)
	}
	if timing {
		g.note(end - row)
	}
	g.w.rec.gathered(end - row)
	return true
}

// place finds the memory of all values.
func (g *gather) place(f *Flight, row, end int) bool {
	for v := range g.values {
		at := &g.values[v]
		switch n := at.bytes; {
		case !at.used:
		case at.output >= 0:
			at.data = f.outs[at.output].dense[row*n : end*n : end*n]
		default:
			t := &g.w.tensors[v]
			var err error
			if at.data, err = t.buf.Resize(t.pool, (end-row)*n); err != nil {
				return false
			}
		}
	}
	return true
}

// show has rows show values.
func (g *gather) show(rows []datum.Rows, values []int) {
	for k, v := range values {
		rows[k].Data = g.values[v].data
	}
}

// step does the work of a source or an operator.
func (g *gather) step(s *gatherStep, f *Flight, row, end int) bool {
	for _, v := range s.outs {
		g.values[v].mark()
	}
	if s.source != nil {
		g.index = append(g.index[:0], f.samples[s.reader][row:end]...)
		return s.source.Gather(g.index, s.out) && g.allWritten(s) && !g.w.fetchFailed(s.reader)
	}
	sums := sumsOfRows(s.in)
	made := s.kernel.RunRows(end-row, s.in, s.out)
	for i, sum := range sumsOfRows(s.in) {
		if sum != sums[i] {
			s.wrote, made = i, false
		}
	}
	return made && g.allWritten(s)
}

// allWritten reports whether a source or an operator has written all that it is to make.
func (g *gather) allWritten(s *gatherStep) bool {
	return !slices.ContainsFunc(s.outs, func(v int) bool { return g.values[v].marked() })
}

// A mark is put where something is to be made: at the beginning of each row, or, where rows
// are shorter than it, at both ends of them all. What lay there before is an earlier sample's.
const (
	rowMark   = 0xc57f2bd68a37e144
	markBytes = 8
)

func (v *gatherValue) mark() {
	if memstats.Invariants {
		memstats.Poison(v.data)
	}
	switch {
	case len(v.data) < markBytes: // also where nobody wants it
		clear(v.data)
	case v.bytes < markBytes:
		binary.NativeEndian.PutUint64(v.data, rowMark)
		binary.NativeEndian.PutUint64(v.data[len(v.data)-markBytes:], rowMark)
	default:
		for at := 0; at < len(v.data); at += v.bytes {
			binary.NativeEndian.PutUint64(v.data[at:], rowMark)
		}
	}
}

// marked reports whether a mark is left.
func (v *gatherValue) marked() bool {
	switch {
	case len(v.data) < markBytes:
		return false
	case v.bytes < markBytes:
		return binary.NativeEndian.Uint64(v.data) == rowMark || binary.NativeEndian.Uint64(v.data[len(v.data)-markBytes:]) == rowMark
	}
	for at := 0; at < len(v.data); at += v.bytes {
		if binary.NativeEndian.Uint64(v.data[at:]) == rowMark {
			return true
		}
	}
	return false
}

// note counts the time that the rows at hand took, of which there are so many.
func (g *gather) note(rows int) {
	for i := range g.steps {
		s := &g.steps[i]
		var bytes int64
		for _, v := range s.outs {
			bytes += int64(rows) * int64(g.values[v].bytes)
		}
		g.w.rec.timed(i, rows, s.busy, bytes)
	}
}

// copyRows makes rows of outputs that show a value a second time; all outputs are dense.
func (f *Flight) copyRows(row, end int) {
	for i := range f.outs {
		if o := &f.outs[i]; !o.Whole && o.Alias != i {
			n := o.rowBytes
			copy(o.dense[row*n:end*n], f.outs[o.Alias].dense[row*n:end*n])
		}
	}
}
