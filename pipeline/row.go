package pipeline

import (
	"errors"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// What the workers of a hostRegion do for a row: they make its sample and note what has
// become of it.

// row makes one row; it runs on a worker.
func (r *hostRegion) row(worker int, c *executor.Call, row int) {
	if w, b, valid := r.open(worker, c, row); valid {
		r.settle(w, b, row, r.try(w, b, row))
	}
}

// open returns who makes a row, and of which batch. A row that is not valid is void then.
func (r *hostRegion) open(worker int, c *executor.Call, row int) (w *worker, b *Batch, valid bool) {
	w, b = r.workers[worker], r.batches[c.Slot()]
	for _, a := range r.aheads {
		a.row(b.seq, row)
	}
	if row >= len(r.plans[b.slot][0]) {
		r.memory.void(b, row)
		return w, b, false
	}
	return w, b, true
}

// try makes the sample of a row.
func (r *hostRegion) try(w *worker, b *Batch, row int) error {
	w.warned = w.warned[:0]
	return w.run(r.ctx, b, row, r.plans[b.slot], r.seqs)
}

// settle notes what has become of a sample.
func (r *hostRegion) settle(w *worker, b *Batch, row int, err error) {
	switch {
	case err == nil:
		w.rec.made()
		if len(w.warned) > 0 {
			r.warn(w, b, row)
		}
	case errors.Is(err, datum.ErrNoSample):
		b.ids[row] = -1
		r.memory.void(b, row)
	default:
		r.failed(w, b, row, err)
	}
}

// ran is called when a worker is done with the rows that it took at a time.
func (r *hostRegion) ran(worker int) { r.workers[worker].rec.show() }

// lost is called for a row whose operator ended the worker's goroutine.
func (r *hostRegion) lost(worker int, c *executor.Call, row int) {
	w, b := r.lose(worker, c)
	r.failed(w, b, row, errGoexit)
}

// lose ends the operator's time, and returns who made the row, and of which batch.
func (r *hostRegion) lose(worker int, c *executor.Call) (*worker, *Batch) {
	w := r.workers[worker]
	if w.rec.timing {
		w.rec.done(nil, errGoexit)
	}
	return w, r.batches[c.Slot()]
}

// waited is called by a worker that waited for a free batch.
func (r *hostRegion) waited(worker int, since time.Time) {
	r.p.opt.Events.WorkerWaited(stats.WaitEvent{Start: since, Duration: time.Since(since), Worker: worker})
}

// failed records the error of the step at work on a row: of what a reader delivered,
// or of what an operator made of it. The row is void until a policy says otherwise.
func (r *hostRegion) failed(w *worker, b *Batch, row int, err error) {
	w.rec.failed()
	n := &r.p.nodes[w.at]
	reader := max(n.reader, 0)
	id, from := r.plans[b.slot][reader][row], r.p.readers[reader]
	e := &SampleError{Source: from.describe(id), Index: from.WholeIndex(id), Op: n.op.Name, Err: err}
	if m := (*MachineError)(nil); errors.As(err, &m) {
		m.Source, m.Index, m.Op = e.Source, e.Index, e.Op
	}
	b.errs[row] = e
	r.memory.void(b, row)
}
