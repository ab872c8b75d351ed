package run

import (
	"context"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/streams"
)

// endBatch is the kernel of the last node: the operators for whole batches are
// done.
func (r *sampleRegion) endBatch(_ context.Context, c *executor.Call) error {
	c.Set(0, c.In(0))
	if c.In(0).Bool() {
		f := r.flights[c.Slot()]
		f.settle()
		r.watch.tell(f, r.batchCounts)
		f.tell(r.p.Options().Events.BatchFinished)
	}
	return nil
}

// opWork is the work of an operator for whole batches on one flight.
type opWork struct {
	in, out []batchop.Tensor
	issue   func(*streams.Context) error // nil before the first batch
	stream  *streamWork                  // what it has issued on a stream, nil if nothing; the lock of streamWatch guards it
}

// batchKernel returns the node's kernel of an operator for whole batches.
func (r *sampleRegion) batchKernel(i int) (executor.KernelFunc, error) {
	n, counts := &r.p.BatchOps()[i], &r.batchCounts[i]
	kernel, err := n.New()
	if err != nil {
		return nil, err
	}
	placed, _ := kernel.(batchop.Placed)
	tensors := func(ts []batchop.Tensor, f *Flight, places []int) []batchop.Tensor {
		for _, i := range places {
			ts = append(ts, batchop.Tensor{Spec: r.p.Outputs()[i].Spec, Mask: f.mask, Data: f.outs[r.p.Outputs()[i].Alias].dense})
		}
		return ts
	}
	return func(_ context.Context, c *executor.Call) error {
		setOutputs(c, c.In(0).Bool())
		if !c.In(0).Bool() {
			return nil
		}
		f := r.flights[c.Slot()]
		w := &f.ops[i]
		w.in, w.out = tensors(w.in[:0], f, n.In), tensors(w.out[:0], f, n.Out)
		if w.issue == nil {
			w.issue = func(sc *streams.Context) error {
				if sc != nil {
					r.watch.called(sc, w)
				}
				began := now()
				if placed != nil {
					placed.Place(batchop.Place{Epoch: f.epoch, Step: f.step, IDs: f.ids, Seed: r.p.Options().Seed})
				}
				err := runBatch(kernel, n.Backend == executor.Host, sc, w.in, w.out)
				counts.done(f, w.out, began, err)
				return err
			}
		}
		if n.Backend == executor.Host {
			return w.issue(nil)
		}
		c.Issue(w.issue)
		return nil
	}, nil
}

// runBatch runs a kernel. Of one on the host it checks that all was written.
func runBatch(k batchop.Kernel, host bool, c *streams.Context, in, out []batchop.Tensor) error {
	if !host {
		return k.Run(c, in, out)
	}
	putMarks(out)
	sums := sumsOf(in)
	if err := k.Run(c, in, out); err != nil {
		return err
	}
	if err := sums.changed(in); err != nil {
		return err
	}
	return unmarked(out)
}

// settle ends the work of operators for whole batches: rows that are not valid
// become zero, and outputs that show a value a second time get it.
func (f *Flight) settle() {
	for i := range f.outs {
		o := &f.outs[i]
		if !o.Whole || o.OnDevice() {
			continue
		}
		if o.Alias != i {
			copy(o.dense, f.outs[o.Alias].dense)
			continue
		}
		for row, ok := range f.mask {
			if !ok {
				clear(o.row(row))
			}
		}
	}
}

// setOutputs sets all outputs of a node to whether there is a batch.
func setOutputs(c *executor.Call, there bool) {
	for i := range c.NumOut() {
		c.Set(i, executor.Bool(there))
	}
}
