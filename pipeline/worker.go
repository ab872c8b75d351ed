package pipeline

import (
	"context"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// worker runs samples through the pipeline's operators, one at a time, in
// scratch memory of its own.
type worker struct {
	p       *Pipeline
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

	pool   *memstats.Pool
	memory keeper
	exact  bool       // ragged rows go by the size of the sample: there is a memory budget
	kept   []cell     // what a sequence has delivered for this sample before, or nil
	use    *memoryUse // nil without Options.EnableMemoryStats

	warned   []warned     // by the operators of the sample at work
	warnings warnings     // of all rows
	limit    *sampleLimit // nil without Options.SampleTimeout
	retry    retry
}

type step struct {
	kernel  datum.Kernel // nil for a reader and for control
	reader  int
	in, out []*datum.Tensor
	made    []int // the values that out are
	kind    control
	target  int
	beside  int64 // bytes that the kernel holds beside tensors
}

func (p *Pipeline) newWorker(number int) (*worker, error) {
	w := &worker{p: p, number: number, use: p.newMemoryUse(), tensors: make([]cell, len(p.values)), limit: newSampleLimit(p.opt.SampleTimeout)}
	w.rec = newRecorder(p, number, &w.at)
	for i := range p.outputs {
		w.delivers = w.delivers || !p.batchMade(i) && (p.alias(i) != i || !p.outputs[i].spec.Dense())
	}
	for i := range w.tensors {
		w.tensors[i].init(&p.values[i].spec, nil)
	}
	for _, n := range p.nodes {
		s := step{made: n.out, reader: n.reader, kind: n.kind, target: n.target}
		for _, v := range n.in {
			s.in = append(s.in, &w.tensors[v].Tensor)
		}
		for _, v := range n.out {
			s.out = append(s.out, &w.tensors[v].Tensor)
		}
		if n.reader < 0 && n.kind == noControl {
			k, err := n.op.New()
			if err != nil {
				return nil, &BuildError{Op: n.op.Name, Err: err}
			}
			s.kernel = k
		}
		w.steps = append(w.steps, s)
	}
	return w, nil
}

// run makes one row of a batch. Plan holds, by reader, the samples of the rows.
func (w *worker) run(ctx context.Context, b *Batch, row int, plan [][]int64, seqs []*turnstile) (err error) {
	p := w.p
	id := plan[0][row]
	epoch := b.epoch
	if b.epochs != nil {
		epoch = b.epochs[row]
	}
	limited := w.limit != nil
	if limited {
		ctx = w.limit.begin(ctx)
	}
	w.sample = datum.NewSample(ctx, w, p.opt.Seed, epoch, id)
	w.bind(b, row)
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
	w.rec.begin(b, row)
	w.touch(plan, row+touchAhead)
	for i := 0; i < len(w.steps); i++ {
		w.at = i
		s := &w.steps[i]
		if s.kind != noControl {
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
				err = w.next(seqs[s.reader], b.seq*int64(p.opt.BatchSize)+int64(row), s)
			default:
				err = w.read(ctx, s, b.seq*int64(p.opt.BatchSize)+int64(row), plan[s.reader][row])
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
	if w.delivers {
		err = w.deliver(b, row)
	}
	if w.use != nil && err == nil {
		w.use.note(w)
	}
	return err
}

// bind has the outputs of a sample made where they go to in the batch: dense ones in their
// row, ragged ones in memory that fits.
func (w *worker) bind(b *Batch, row int) {
	p := w.p
	for i := range p.outputs {
		o := &p.outputs[i]
		t := &w.tensors[o.value]
		if b.outs[i].alias == i && b.outs[i].dense != nil && !p.batchMade(i) {
			t.Bind(b.outs[i].row(row))
		}
		if b.outs[i].alias == i && b.outs[i].ragged != nil {
			w.choose(t, &b.outs[i])
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

// read reads a sample of a source, for a row counted over batches.
func (w *worker) read(ctx context.Context, s *step, row, index int64) error {
	var ahead *readAhead
	for _, a := range w.aheads {
		if a.reader == s.reader {
			ahead = a
		}
	}
	if err := w.p.readers[s.reader].Source.Read(ctx, index, s.out); err != nil || ahead == nil {
		return err
	}
	return ahead.failure(row) // asked last, so that it counts until the sample is read
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
	case test:
		x, err := s.in[0].Scalar()
		return x == 0, err
	case move:
		for i, t := range s.in {
			if s.out[i] == t { // a variable that a loop leaves as it is
				continue
			}
			if err := s.out[i].CopyFrom(t); err != nil {
				return false, err
			}
		}
		return s.target >= 0, nil
	case enter:
		w.loops = append(w.loops, loopKey{outside: w.sample})
	case iterate:
		l := &w.loops[len(w.loops)-1]
		l.iteration++
		w.sample = l.outside.Within(l.iteration)
		return false, w.sample.Context().Err()
	case leave:
		w.sample = w.loops[len(w.loops)-1].outside
		w.loops = w.loops[:len(w.loops)-1]
	}
	return false, nil
}

// deliver hands results over that were not written into the batch: ragged
// rows, by exchanging memory, and outputs that show a value a second time. What needs
// memory comes first: a sample that gives up there must still have all its values.
func (w *worker) deliver(b *Batch, row int) error {
	ragged := false
	for i := range b.outs {
		o := &b.outs[i]
		t := &w.tensors[w.p.outputs[i].value]
		switch {
		case w.p.batchMade(i):
		case o.alias != i:
			if o.dense != nil {
				copy(o.row(row), t.Shown())
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
	for i := range b.outs {
		if o := &b.outs[i]; o.ragged != nil && o.alias == i {
			t := &w.tensors[w.p.outputs[i].value]
			o.deliver(row, t)
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
