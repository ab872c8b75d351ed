package run

import (
	"fmt"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Reserve implements Host.
func (w *worker) Reserve(n int64) error {
	s := &w.steps[w.at]
	switch more := n - s.beside; {
	case more > 0:
		if err := memstats.Room(more); err != nil {
			return err
		}
		if err := w.pool.Take(more); err != nil {
			return err
		}
	case more < 0:
		w.pool.Give(-more)
	}
	s.beside = n
	return nil
}

// attach gives a worker the pool that its memory comes from, and presizes its
// scratch.
func (w *worker) attach(k keeper) error {
	w.memory = k
	presize := k.attach(w)
	rows := make([]bool, len(w.tensors)) // values that are rows of a dense output
	for _, o := range w.p.Outputs() {
		rows[o.Value] = o.Spec.Dense()
	}
	for i := range w.tensors {
		w.tensors[i].pool = w.pool
		if hint := w.p.Hint(i); hint > 0 && !rows[i] {
			if err := w.tensors[i].buf.Reserve(presize, hint); err != nil {
				return fmt.Errorf("pipeline: presizing the buffers of %d workers: %w", w.p.Options().MaxWorkers, err)
			}
		}
	}
	return nil
}

// release gives up all memory that the worker holds between samples.
func (w *worker) release() {
	for i := range w.tensors {
		w.tensors[i].buf.Free()
	}
	for i := range w.steps {
		if s := &w.steps[i]; s.beside > 0 {
			if k, ok := s.kernel.(datum.Releaser); ok {
				k.Release()
			}
			w.pool.Give(s.beside)
			s.beside = 0
		}
	}
}

// reserved returns the bytes that the worker holds.
func (w *worker) reserved() (n int64) {
	for i := range w.tensors {
		n += int64(w.tensors[i].buf.Reserved())
	}
	for i := range w.steps {
		n += w.steps[i].beside
	}
	return n
}

// keep takes over what a sequence has delivered for the sample that gives up,
// nil if the pipeline reads sources or the sample was not read yet.
func (w *worker) keep() []cell {
	for i := range w.steps[:w.at+1] {
		s := &w.steps[i]
		if s.kind != compiled.Operator || s.kernel != nil || w.p.Readers()[s.reader].Sequence == nil {
			continue
		}
		kept := make([]cell, len(s.made))
		for j, v := range s.made {
			kept[j].move(&w.tensors[v])
		}
		return kept
	}
	return nil
}

// restore makes what was kept the results of a reader again.
func (w *worker) restore(s *step) {
	for j, v := range s.made {
		if t := &w.tensors[v]; !t.Fill() { // a row has what the first attempt has left
			t.buf.Free()
			t.move(&w.kept[j])
		}
	}
	w.kept = nil
}

// putAside keeps what a sequence has delivered for the sample of a row, until that is made
// again.
func (f *Flight) putAside(row int, kept []cell) {
	if f.setAside == nil {
		f.setAside = map[int][]cell{}
	}
	f.setAside[row] = kept
}

// freeAside frees what was put aside.
func (f *Flight) freeAside() {
	for _, kept := range f.setAside {
		for i := range kept {
			kept[i].buf.Free()
		}
	}
	clear(f.setAside)
}

// freeRow frees the memory of a row's ragged outputs.
func (f *Flight) freeRow(row int) {
	for i := range f.outs {
		if r := f.outs[i].ragged; r != nil && r[row].buf.Reserved() > 0 {
			r[row].buf.Free()
			r[row].Clear()
		}
	}
}

// holds reports whether a row's ragged outputs hold memory.
func (f *Flight) holds(row int) bool {
	for i := range f.outs {
		if r := f.outs[i].ragged; r != nil && r[row].buf.Reserved() > 0 {
			return true
		}
	}
	return false
}

// freeRows frees the memory of all ragged outputs.
func (f *Flight) freeRows() {
	for row := range f.mask {
		f.freeRow(row)
	}
}

// ShrinkEvery is how many uses of a batch decide on the size of its ragged rows.
const ShrinkEvery = 16

// trim readies ragged outputs for another use. Their rows shrink to the largest of
// all rows in the last uses of the batch: memory that is larger than any recent
// sample is given up, and none is allocated over and over for samples of mixed sizes.
func (f *Flight) trim() {
	for i := range f.outs {
		o := &f.outs[i]
		if o.ragged == nil {
			continue
		}
		for row := range o.ragged {
			o.top = max(o.top, len(datum.Shown(&o.ragged[row].Tensor)))
			o.ragged[row].taken = false
		}
		if o.uses++; o.uses < ShrinkEvery {
			continue
		}
		for row := range o.ragged {
			o.ragged[row].buf.Fit(o.top)
		}
		o.top, o.uses = 0, 0
	}
}

// poison makes what the consumer had unreadable, in builds with the tag
// invariants.
func (f *Flight) poison() {
	if f.gone.Load() {
		return
	}
	for i := range f.outs {
		o := &f.outs[i]
		if !o.Output.OnDevice() {
			memstats.Poison(o.dense)
		}
		for row := range o.ragged {
			memstats.Poison(datum.Shown(&o.ragged[row].Tensor))
		}
	}
}
