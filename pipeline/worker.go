package pipeline

import (
	"context"
	"runtime/debug"

	"github.com/planktonml/plankton/memstats"
)

// worker runs samples through the pipeline's operators, one at a time, in
// scratch memory of its own.
type worker struct {
	p       *Pipeline
	tensors []Tensor // by value
	steps   []step
	sample  Sample
	at      int // the step at work, for errors
	loops   []loopKey
}

type step struct {
	kernel  Kernel // nil for a reader and for control
	reader  int
	in, out []*Tensor
	kind    control
	target  int
}

func (p *Pipeline) newWorker() (*worker, error) {
	w := &worker{p: p, tensors: make([]Tensor, len(p.values))}
	for i := range w.tensors {
		w.tensors[i].pool = &p.pool
		w.tensors[i].layout = p.values[i].spec.Layout
		w.tensors[i].dtype = p.values[i].spec.DType
	}
	for _, n := range p.nodes {
		s := step{reader: n.reader, kind: n.kind, target: n.target}
		for _, v := range n.in {
			s.in = append(s.in, &w.tensors[v])
		}
		for _, v := range n.out {
			s.out = append(s.out, &w.tensors[v])
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

// free gives the scratch memory back.
func (w *worker) free() {
	for i := range w.tensors {
		w.tensors[i].buf.Free()
	}
}

// run makes one row of a batch. Indices holds the sample of each reader.
func (w *worker) run(ctx context.Context, b *Batch, row int, indices []int64, seqs []*turnstile) (err error) {
	p := w.p
	w.sample = Sample{ctx: ctx, epoch: b.epoch, index: indices[0], key: sampleKey(p.opt.Seed, b.epoch, indices[0])}
	for i := range p.outputs {
		o := &p.outputs[i]
		t := &w.tensors[o.value]
		if b.outs[i].alias == i && b.outs[i].dense != nil && !p.batchMade(i) {
			t.bindRow(b.outs[i].row(row), &o.spec)
		}
	}
	w.at = 0
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	w.loops = w.loops[:0]
	for i := 0; i < len(w.steps); i++ {
		w.at = i
		s := &w.steps[i]
		switch {
		case s.kernel != nil:
			err = s.kernel.Run(&w.sample, s.in, s.out)
		case s.kind != noControl:
			var jump bool
			if jump, err = w.control(s); jump {
				i = s.target - 1
			}
		case seqs[s.reader] != nil:
			err = seqs[s.reader].take(b.seq*int64(p.opt.BatchSize)+int64(row), s.out)
		default:
			err = p.readers[s.reader].Source.Read(ctx, indices[s.reader], s.out)
		}
		if err != nil {
			return err
		}
	}
	return w.deliver(b, row)
}

// loopKey is what random numbers in a loop depend on.
type loopKey struct {
	outside   uint64 // the sample's key around the loop
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
			if err := s.out[i].CopyFrom(t); err != nil {
				return false, err
			}
		}
		return s.target >= 0, nil
	case enter:
		w.loops = append(w.loops, loopKey{outside: w.sample.key})
	case iterate:
		l := &w.loops[len(w.loops)-1]
		l.iteration++
		w.sample.key = mix(l.outside ^ l.iteration*golden)
		return false, w.sample.ctx.Err()
	case leave:
		w.sample.key = w.loops[len(w.loops)-1].outside
		w.loops = w.loops[:len(w.loops)-1]
	}
	return false, nil
}

// deliver hands results over that were not written into the batch: ragged
// rows, by exchanging memory, and outputs that show a value a second time.
func (w *worker) deliver(b *Batch, row int) error {
	for i := range b.outs {
		o := &b.outs[i]
		t := &w.tensors[w.p.outputs[i].value]
		switch {
		case w.p.batchMade(i):
		case o.alias != i:
			if o.dense != nil {
				copy(o.row(row), t.data)
			} else if err := o.ragged[row].CopyFrom(&b.outs[o.alias].ragged[row]); err != nil {
				return err
			}
		case o.dense == nil:
			t.own()
			r := &o.ragged[row]
			keep := r.buf
			*r = *t
			t.buf, t.data = keep, nil
			t.dtype = w.p.outputs[i].spec.DType
		default:
			if len(t.data) != len(o.row(row)) {
				return &ShapeError{Got: append([]int(nil), t.Shape()...), Want: w.p.outputs[i].spec.Shape}
			}
		}
	}
	return nil
}

// memory of a batch that is laid out by spec.
func newRagged(n int, pool *memstats.Pool) []Tensor {
	rows := make([]Tensor, n)
	for i := range rows {
		rows[i].pool = pool
	}
	return rows
}
