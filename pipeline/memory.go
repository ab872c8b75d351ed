package pipeline

import (
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

// Releaser is a Kernel that holds memory beside the tensors: what it tells
// Sample.Reserve.
type Releaser interface {
	// Release gives that memory up. It is called between samples, perhaps by
	// another goroutine than Run, when memory is short.
	Release()
}

// Reserve says that the kernel is about to hold n bytes in all beside the
// tensors, from now on and beyond this sample. They count as the pipeline's
// memory, and under Options.MemoryBudget Reserve waits until they fit. Its error is
// to be returned from Run; nothing may be allocated then. More than the machine has is
// an error as well. Kernels that reserve
// anything must be Releasers.
func (c *Sample) Reserve(n int64) error {
	if c.worker == nil {
		return nil
	}
	return c.worker.reserve(n)
}

func (w *worker) reserve(n int64) error {
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
func (w *worker) attach(a *arbiter, number int) error {
	w.pool = w.p.pool
	presize := w.pool
	if a != nil {
		w.gate = &gate{a: a, worker: number}
		w.pool, presize = w.p.pool.With(w.gate), w.p.pool.With(a.free)
	}
	rows := make([]bool, len(w.tensors)) // values that are rows of a dense output
	for _, o := range w.p.outputs {
		rows[o.value] = o.spec.Dense()
	}
	for i := range w.tensors {
		w.tensors[i].pool = w.pool
		if hint := w.p.hints[i]; hint > 0 && !rows[i] {
			if err := w.tensors[i].buf.Reserve(presize, hint); err != nil {
				return fmt.Errorf("pipeline: presizing the buffers of %d workers: %w", w.p.maxWorkers(), a.explain(err))
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
			if k, ok := s.kernel.(Releaser); ok {
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
func (w *worker) keep() []Tensor {
	for i := range w.steps[:w.at+1] {
		s := &w.steps[i]
		if s.kind != noControl || s.kernel != nil || w.p.readers[s.reader].Sequence == nil {
			continue
		}
		kept := make([]Tensor, len(s.out))
		for j, t := range s.out {
			kept[j] = *t
			t.buf = memstats.Buffer{}
		}
		return kept
	}
	return nil
}

// restore makes what was kept the results of a reader again.
func (w *worker) restore(out []*Tensor) {
	for j, t := range out {
		if t.row == nil {
			t.buf.Free()
			*t = w.kept[j]
			t.pool = w.pool
		} else {
			t.data, t.written = t.row, true // where the first attempt has left it
		}
	}
	w.kept = nil
}

// freeRow frees the memory of a row's ragged outputs. It reports whether there
// was any.
func (b *Batch) freeRow(row int) (any bool) {
	for i := range b.outs {
		if r := b.outs[i].ragged; r != nil && r[row].buf.Reserved() > 0 {
			r[row].buf.Free()
			r[row].data = nil
			any = true
		}
	}
	return any
}

// freeRows frees the memory of all ragged outputs.
func (b *Batch) freeRows() {
	for row := range b.mask {
		b.freeRow(row)
	}
}

// shrinkEvery is how many uses of a batch decide on the size of its ragged rows.
const shrinkEvery = 16

// trim readies ragged outputs for another use. Their rows shrink to the largest of
// all rows in the last uses of the batch: memory that is larger than any recent
// sample is given up, and none is allocated over and over for samples of mixed sizes.
func (b *Batch) trim() {
	for i := range b.outs {
		o := &b.outs[i]
		if o.ragged == nil {
			continue
		}
		for row := range o.ragged {
			o.top = max(o.top, len(o.ragged[row].data))
			o.ragged[row].taken = false
		}
		if o.uses++; o.uses < shrinkEvery {
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
func (b *Batch) poison() {
	if b.gone.Load() {
		return
	}
	for i := range b.outs {
		if !b.onDevice(i) {
			memstats.Poison(b.outs[i].dense)
		}
		for row := range b.outs[i].ragged {
			memstats.Poison(b.outs[i].ragged[row].data)
		}
	}
}
