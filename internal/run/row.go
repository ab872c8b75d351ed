package run

import (
	"errors"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/pipeline/stats"
)

// What the workers of a sampleRegion do for a row: they make its sample and note what has
// become of it.

// row makes one row; it runs on a worker.
func (r *sampleRegion) row(worker int, c *executor.Call, row int) {
	if w, f, valid := r.open(worker, c, row); valid {
		r.settle(w, f, row, r.try(w, f, row))
	}
}

// open returns who makes a row, and of which batch. A row that is not valid is void then.
func (r *sampleRegion) open(worker int, c *executor.Call, row int) (w *worker, f *Flight, valid bool) {
	w, f = r.workers[worker], r.flights[c.Slot()]
	for _, a := range r.aheads {
		a.row(f.seq, row)
	}
	if row >= len(f.samples[0]) {
		r.memory.void(f, row)
		return w, f, false
	}
	return w, f, true
}

// try makes the sample of a row.
func (r *sampleRegion) try(w *worker, f *Flight, row int) error {
	w.warned = w.warned[:0]
	if w.house == nil {
		return w.run(r.ctx, f, row, r.seqs)
	}
	began := now()
	err := w.run(r.ctx, f, row, r.seqs)
	w.house.made(f, row, now()-began, err)
	return err
}

// settle notes what has become of a sample.
func (r *sampleRegion) settle(w *worker, f *Flight, row int, err error) {
	switch {
	case err == nil:
		w.rec.made()
		if len(w.warned) > 0 {
			r.warn(w, f, row)
		}
	case errors.Is(err, datum.ErrNoSample):
		f.ids[row] = -1
		r.memory.void(f, row)
	default:
		r.failed(w, f, row, err)
	}
}

// ran is called when a worker is done with the rows that it took at a time.
func (r *sampleRegion) ran(worker int) { r.workers[worker].rec.show() }

// lost is called for a row whose operator ended the worker's goroutine.
func (r *sampleRegion) lost(worker int, c *executor.Call, row int) {
	w, f := r.lose(worker, c, row)
	r.failed(w, f, row, errGoexit)
}

// lose ends the operator's time, and returns who made the row, and of which batch.
func (r *sampleRegion) lose(worker int, c *executor.Call, row int) (*worker, *Flight) {
	w := r.workers[worker]
	if w.rec.timing {
		w.rec.done(nil, errGoexit)
	}
	f := r.flights[c.Slot()]
	if w.house != nil {
		w.house.spoiled(f, row)
	}
	return w, f
}

// waited is called by a worker that waited for a free batch.
func (r *sampleRegion) waited(worker int, since time.Time) {
	r.p.Options().Events.WorkerWaited(stats.WaitEvent{Start: since, Duration: time.Since(since), Worker: worker})
}

// failed records the error of the step at work on a row: of what a reader delivered,
// or of what an operator made of it. The row is void until a policy says otherwise.
func (r *sampleRegion) failed(w *worker, f *Flight, row int, err error) {
	w.rec.failed()
	n := &r.p.Nodes()[w.at]
	reader := max(n.Reader, 0)
	id, from := f.samples[reader][row], &r.p.Readers()[reader]
	e := &fault.SampleError{Source: from.Describe(id), Index: from.Index(id), Op: n.Name, Err: err}
	if m := (*fault.MachineError)(nil); errors.As(err, &m) {
		m.Source, m.Index, m.Op = e.Source, e.Index, e.Op
	}
	f.errs[row] = e
	r.memory.void(f, row)
}

// errGoexit stands for a goroutine that an operator ended.
var errGoexit = errors.New("the operator ended its goroutine (runtime.Goexit)")
