package run

import (
	"context"
	"slices"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/streams"
)

// worker runs samples through the pipeline's operators, one at a time, in
// scratch memory of its own.
type worker struct {
	p       *compiled.Pipeline
	number  int
	tensors []cell // by value
	steps   []step
	sample  datum.Sample
	at      int // the step at work, for errors
	rec     *recorder
	loops   []loopKey

	delivers bool // there are outputs that are not made in their row of the batch
	aheads   []*readAhead
	touchers []datum.Toucher // by reader, nil where the source is none

	lookAheads []lookAhead // by reader, those of the region; none of a worker without one

	pool   *memstats.Pool
	memory keeper
	exact  bool       // ragged rows go by the size of the sample: there is a memory budget
	kept   []cell     // what a sequence has delivered for this sample before, or nil
	use    *memoryUse // nil without Options.EnableMemoryStats

	gather *gather // nil where rows are made one by one

	house *house // of a worker that makes rows which are to be compared, else nil

	warned   []warned     // by the operators of the sample at work
	warnings warnings     // of all rows
	limit    *sampleLimit // nil without Options.SampleTimeout
	retry    retry

	first, end int // the steps from first up to end are its work; it has kernels for no others
	seed       uint64
}

type step struct {
	kernel  datum.Kernel // nil for a reader and for control
	reader  int
	in, out []*datum.Tensor
	made    []int // the values that out are
	kind    compiled.Kind
	target  int
	beside  int64 // bytes that the kernel holds beside tensors
}

// newWorker returns a worker for the steps from first up to end.
func newWorker(p *compiled.Pipeline, number, first, end int) (*worker, error) {
	w := &worker{
		p: p, number: number, first: first, end: end, seed: p.Options().Seed, tensors: make([]cell, len(p.Values())),
		lookAheads: make([]lookAhead, len(p.Readers())), use: newMemoryUse(p), limit: newSampleLimit(p.Options().SampleTimeout),
	}
	w.rec = newRecorder(p, number, first, &w.at)
	for i, o := range p.Outputs() {
		w.delivers = w.delivers || !o.Whole && (o.Alias != i || !o.Spec.Dense())
	}
	for i := range w.tensors {
		w.tensors[i].init(&p.Values()[i].Spec, nil)
	}
	for i, n := range p.Nodes() {
		s := step{made: n.Out, reader: n.Reader, kind: n.Kind, target: n.Target}
		for _, v := range n.In {
			s.in = append(s.in, &w.tensors[v].Tensor)
		}
		for _, v := range n.Out {
			s.out = append(s.out, &w.tensors[v].Tensor)
		}
		if n.Reader < 0 && n.Kind == compiled.Operator && first <= i && i < end {
			k, err := n.New()
			if err != nil {
				return nil, &fault.BuildError{Op: n.Name, Err: err}
			}
			s.kernel = k
		}
		w.steps = append(w.steps, s)
	}
	return w, nil
}

// run makes one row of a batch.
func (w *worker) run(ctx context.Context, f *Flight, row int, seqs []*turnstile) (err error) {
	p := w.p
	id := f.samples[0][row]
	epoch := f.epoch
	if f.epochs != nil {
		epoch = f.epochs[row]
	}
	limited := w.limit != nil
	if limited {
		ctx = w.limit.begin(ctx)
	}
	w.sample = datum.NewSample(ctx, w, w.seed, epoch, id)
	w.bind(f, row)
	w.at, w.retry.pause = 0, 0
	defer func() {
		if v := recover(); v != nil {
			if err = datum.Refusal(w.steps[w.at].out); err == nil { // else it comes of the memory that was refused
				err = streams.NewPanicError(v)
			}
			if w.rec.timing {
				w.rec.done(nil, err)
			}
		}
		if w.limit != nil {
			err = w.ended(err)
		}
	}()
	w.loops = w.loops[:0]
	w.rec.begin(f, row)
	w.touch(f.samples, row+TouchAhead)
	steps := w.steps[:w.end]
	for i := w.first; i < len(steps); i++ {
		w.at = i
		s := &steps[i]
		if s.kind != compiled.Operator {
			var jump bool
			if jump, err = w.control(s); jump {
				i = s.target - 1
			}
		} else {
			datum.Begin(s.out)
			if memstats.Invariants && w.kept == nil { // else the rows hold what was read
				poisonRows(s.out)
			}
			switch {
			case s.kernel != nil:
				err = w.apply(s)
			case seqs[s.reader] != nil:
				err = w.next(seqs[s.reader], f.seq*int64(p.Options().BatchSize)+int64(row), s)
			default:
				err = w.read(ctx, s, f, row)
			}
			if err == nil && !datum.Written(s.out) {
				err = datum.Unwritten(s.out)
			}
		}
		if err != nil || limited {
			var again bool
			if again, err = w.after(s, err); again {
				i--
				continue
			}
		}
		if w.rec.timing {
			w.rec.done(s.out, err)
		}
		if err != nil {
			return err
		}
	}
	if w.house != nil {
		w.house.compare(w, f, row)
	}
	if w.delivers {
		err = w.deliver(f, row)
	}
	if w.use != nil && err == nil {
		w.use.note(w)
	}
	return err
}

// bind has the outputs of a sample made where they go to in the batch: dense ones in their
// row, ragged ones in memory that fits.
func (w *worker) bind(f *Flight, row int) {
	for i := range f.outs {
		o := &f.outs[i]
		if o.Alias != i || o.Whole {
			continue
		}
		if t := &w.tensors[o.Value]; o.dense != nil {
			t.Bind(o.row(row))
		} else {
			w.choose(t, o)
		}
	}
}

// after looks at a step that failed, or that may have taken too long. It reports
// whether the step is to be tried again, and else its error.
func (w *worker) after(s *step, err error) (again bool, _ error) {
	if w.limit != nil && err != errGaveUp {
		if late := w.limit.over(); late != nil {
			return false, late
		}
	}
	if err == nil || w.tryAgain(s, err) {
		return err != nil, nil
	}
	return false, w.blame(err)
}

// ended ends the time of a sample.
func (w *worker) ended(err error) error {
	if late := w.limit.end(); late != nil && err == nil {
		return late
	}
	return err
}

// read reads the sample of a source for a row.
func (w *worker) read(ctx context.Context, s *step, f *Flight, row int) error {
	var err error
	if l, index := w.lookAheads[s.reader].reads, f.samples[s.reader][row]; l != nil {
		err = l.Read(ctx, f.seq*int64(len(f.ids))+int64(row), index, s.out)
	} else {
		err = w.p.Readers()[s.reader].Source.Read(ctx, index, s.out)
	}
	if err != nil {
		return err
	}
	for i, a := range w.aheads {
		if a.reader == s.reader {
			return a.failure(&f.fetches[i], row) // asked last, so that it counts until the sample is read
		}
	}
	return nil
}

// fetchFailed reports whether a sample of a reader failed when it was fetched ahead, in any batch in flight.
func (w *worker) fetchFailed(reader int) bool {
	return slices.ContainsFunc(w.aheads, func(a *readAhead) bool { return a.reader == reader && a.broken.Load() > 0 })
}

// next makes out the next sample of a sequence.
func (w *worker) next(t *turnstile, row int64, s *step) error {
	if w.kept != nil {
		w.restore(s)
		return nil
	}
	w.limit.pause() // neither the turn nor what the sequence waits for is the sample's work
	err := t.take(row, s.out, w.rec)
	if err == nil {
		err = w.memory.admit(w)
	}
	w.limit.resume()
	return err
}

// loopKey is what random numbers in a loop depend on.
type loopKey struct {
	outside   datum.Sample // around the loop
	iteration uint64
}

// control does a control step and reports whether the worker goes to its
// target.
func (w *worker) control(s *step) (jump bool, err error) {
	switch s.kind {
	case compiled.Test:
		x, err := s.in[0].Scalar()
		return x == 0, err
	case compiled.Move:
		for i, t := range s.in {
			if s.out[i] == t { // a variable that a loop leaves as it is
				continue
			}
			if err := s.out[i].CopyFrom(t); err != nil {
				return false, err
			}
		}
		return s.target >= 0, nil
	case compiled.Enter:
		w.loops = append(w.loops, loopKey{outside: w.sample})
	case compiled.Iterate:
		l := &w.loops[len(w.loops)-1]
		l.iteration++
		w.sample = datum.Within(&l.outside, l.iteration)
		return false, w.sample.Context().Err()
	case compiled.Leave:
		w.sample = w.loops[len(w.loops)-1].outside
		w.loops = w.loops[:len(w.loops)-1]
	}
	return false, nil
}

// deliver hands results over that were not written into the batch: ragged
// rows, by exchanging memory, and outputs that show a value a second time. What needs
// memory comes first: a sample that gives up there must still have all its values.
func (w *worker) deliver(f *Flight, row int) error {
	ragged := false
	for i := range f.outs {
		o := &f.outs[i]
		t := &w.tensors[o.Value]
		switch {
		case o.Whole:
		case o.Alias != i:
			if o.dense != nil {
				copy(o.row(row), datum.Shown(&t.Tensor))
			} else if err := w.copyRow(o, row, &t.Tensor); err != nil {
				return err
			}
		case o.dense == nil:
			if err := t.Own(); err != nil {
				return err
			}
			ragged = true
		}
	}
	if !ragged {
		return nil
	}
	for i := range f.outs {
		if o := &f.outs[i]; o.ragged != nil && o.Alias == i {
			o.deliver(row, &w.tensors[o.Value])
		}
	}
	return nil
}

// copyRow makes a ragged row a copy of another one, in memory that the worker's
// sample waits for.
func (w *worker) copyRow(o *batchOutput, row int, from *datum.Tensor) error {
	to := o.take(row)
	pool := to.pool
	to.pool = w.pool
	w.choose(to, o)
	err := to.CopyFrom(from)
	to.pool = pool
	return err
}
