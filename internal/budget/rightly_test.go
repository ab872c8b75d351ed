package budget

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/memstats"
)

// What a world checks of what the machine says.

// completed checks a batch that leaves.
func (w *world) completed(a Act) {
	s := w.slot(a.Batch)
	if w.pending[a.Batch] != 0 || slices.Contains(w.finish, a.Batch) {
		panic("a batch leaves whose rows are not done")
	}
	if a.Err != nil {
		w.failed = a.Err
		return
	}
	for i, good := range s.good {
		n := a.Batch*int64(w.cfg.Rows) + int64(i)
		if n < w.count && !good && !w.samples[n].broken && w.bad == 0 {
			panic("a batch leaves without one of its samples")
		}
	}
	w.lent = append(w.lent, a.Batch)
}

// refuse ends a worker's sample, or lets it go on in spite of the refusal, as an operator
// may.
func (w *world) refuse(k *maker) {
	k.err = true
	if k.state = "end"; w.IntN(4) == 0 {
		k.state = "make"
	}
}

// refused checks that a sample, or a batch, was rightly refused.
func (w *world) refused(a Act) {
	k := &w.workers[a.Worker]
	if a.Kind == Leave {
		if !w.quit {
			panic("a sample was left in a run that goes on")
		}
		w.bad++
		return
	}
	if w.quit {
		return
	}
	w.bad++
	var batch *BatchError
	if !errors.As(a.Err, &batch) {
		over := a.Err.(*memstats.BudgetError)
		if w.needs(k) <= w.m.limit || over.Need != k.need || over.Used != k.scratch()+w.cfg.Fixed || over.Limit != w.cfg.Budget {
			panic(fmt.Sprint("a sample was refused that fits alone: ", a.Err))
		}
		return
	}
	if w.failed == nil {
		w.failed = batch
		w.tooLarge(k, batch)
	}
}

// needs returns what a worker's sample needs so far.
func (w *world) needs(k *maker) int64 {
	s := w.samples[k.sample]
	n := int64(0)
	if w.cfg.Sequence {
		n = s.read
	}
	for _, b := range s.buffers[:k.step+1] {
		n += b
	}
	return n
}

// tooLarge checks the error of a batch: rows that stay, batches that are held, and what
// the sample needs do not fit.
func (w *world) tooLarge(k *maker, e *BatchError) {
	n := int64(w.cfg.Rows)
	must := w.needs(k)
	for _, b := range w.held {
		for _, bytes := range w.slot(b).rows {
			must += bytes
		}
	}
	for s := k.sample - k.sample%n; s < k.sample; s++ {
		must += *w.rowOf(s)
	}
	for _, bytes := range w.kept {
		must += bytes
	}
	if w.cfg.Sequence { // finished rows cannot be made again
		for s := k.sample + 1; s%n != 0; s++ {
			must += *w.rowOf(s)
		}
	}
	made := 0
	for _, over := range w.slot(k.sample / n).over {
		if over {
			made++
		}
	}
	switch {
	case len(w.held) > 0 && !w.asking:
		panic("a batch was refused beside others that the consumer may release")
	case must <= w.m.limit:
		panic(fmt.Sprint("a batch was refused that fits: ", e))
	case e.Held != len(w.held) || e.Made != made || e.Rows != w.cfg.Rows:
		panic(fmt.Sprint("wrong figures: ", e))
	case e.Err.Used+e.Err.Need <= e.Err.Limit || e.Err.Limit != w.cfg.Budget || e.Estimate <= w.cfg.Budget:
		panic(fmt.Sprint("wrong bytes: ", e))
	}
}

// bytes returns what is held.
func (w *world) bytes() (n int64) {
	for i := range w.workers {
		n += w.workers[i].scratch()
	}
	for _, s := range w.slots {
		for _, bytes := range s.rows {
			n += bytes
		}
	}
	for _, bytes := range w.kept {
		n += bytes
	}
	return n
}
