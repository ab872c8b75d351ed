package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// BatchOp describes an operator that works on whole batches, behind the sample
// region: on the host, or on the streams of Options.Device.
type BatchOp struct {
	Name    string       // the name in errors and statistics
	Inputs  []Value      // of fixed shape, from the region or from another BatchOp
	Outputs []datum.Spec // of one sample each; of fixed shape

	// Backend says where the operator works. The kernel of a mixed or device
	// operator runs on a stream, which a plan of Options.StreamPolicy gives it.
	Backend executor.Backend
	// Command is a number that operators with the same command share: the planner
	// likes to see them on one stream, which keeps its workspace.
	Command int

	// Config tells operators of the same name apart in Pipeline.Fingerprint: all
	// that decides what the operator makes of its inputs, as text.
	Config string
	// Moves says that each output is the input of the same number, in other memory.
	// Pipeline.Fingerprint then is as if the operator were not there.
	Moves bool

	// New makes the operator's kernel. It is called once per loader.
	New func() (BatchKernel, error)
}

// BatchKernel does an operator's work for one batch at a time.
type BatchKernel interface {
	// Run reads in, which it must not write, and writes out, which holds anything, for
	// all rows; rows that are not valid are zero and may be left out. A valid row of
	// 16 bytes or more that an operator on the host leaves as it was, or an output of
	// shorter rows that it does not write at all, ends the run with a
	// *datum.NotWrittenError. The context is that of the operator's stream, nil for one on
	// the host. An output in the memory of a device must be zero in rows that are not
	// valid: nobody else can clear them.
	Run(c *streams.Context, in, out []BatchTensor) error
}

// BatchKernelFunc is a function as a BatchKernel.
type BatchKernelFunc func(c *streams.Context, in, out []BatchTensor) error

// Run calls f.
func (f BatchKernelFunc) Run(c *streams.Context, in, out []BatchTensor) error { return f(c, in, out) }

// BatchTensor is one value of a whole batch: the samples one after the other.
// The memory is the batch's: of the host; page-locked where an operator of a
// device reads it; or, for what such an operator writes, of the device, an address
// and a length.
type BatchTensor struct {
	Spec datum.Spec // of one sample
	Mask []bool     // which rows are valid
	Data []byte
}

// AddBatch adds an operator that works on whole batches and returns its outputs.
// Only other such operators and Output can take them.
func (g *Graph) AddBatch(op BatchOp) []Value {
	vs := make([]Value, len(op.Outputs))
	if op.New == nil {
		g.Fail(op.Name, errors.New("BatchOp.New is missing"))
	}
	if len(op.Inputs) == 0 {
		g.Fail(op.Name, errors.New("it has no input"))
	}
	if op.Moves && len(op.Inputs) != len(op.Outputs) {
		g.Fail(op.Name, fmt.Errorf("it moves %d inputs to %d outputs; BatchOp.Moves is for as many", len(op.Inputs), len(op.Outputs)))
	}
	if !g.checkInputs(op.Name, op.Inputs...) {
		return vs
	}
	if g.block.parent != nil {
		g.Fail(op.Name, errors.New("an operator for whole batches cannot be in a branch or loop"))
	}
	n := node{op: Op{Name: op.Name, Inputs: op.Inputs, Config: op.Config}, reader: -1, kind: wholeBatch, target: -1, block: g.block, batch: &op}
	for i, v := range op.Inputs {
		if !v.Spec().Dense() {
			g.Fail(op.Name, fmt.Errorf("input %d is %s; a batch needs samples of one known shape: resize first", i, v.Spec()))
		}
		n.in = append(n.in, v.id)
	}
	for i, spec := range op.Outputs {
		if !spec.Dense() {
			g.Fail(op.Name, fmt.Errorf("output %d is %s; a batch needs samples of one known shape", i, spec))
		}
		if !spec.Countable() {
			g.Fail(op.Name, fmt.Errorf("output %d is %s; an int must hold the number of its bytes", i, spec))
		}
		vs[i] = g.newValue(spec, len(g.nodes))
		g.values[vs[i].id].batch = true
		n.out = append(n.out, vs[i].id)
	}
	g.nodes = append(g.nodes, n)
	return vs
}

// batchNode is a BatchOp of a compiled pipeline. Inputs and outputs are places
// in Pipeline.outputs.
type batchNode struct {
	op      *BatchOp
	in, out []int
}

// onStream reports whether the operator works on streams of Options.Device.
func (n batchNode) onStream() bool { return n.op.Backend != executor.Host }

// takeBatchOps moves the operators for whole batches from the graph to the
// pipeline. Values that only they use become outputs that nobody sees.
func (p *Pipeline) takeBatchOps(g *Graph) {
	place := func(v int) int {
		for i, o := range p.outputs {
			if o.value == v {
				return i
			}
		}
		p.outputs = append(p.outputs, output{value: v, spec: p.values[v].spec})
		return len(p.outputs) - 1
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.kind != wholeBatch || n.dead {
			continue
		}
		n.dead = true // for the region
		b := batchNode{op: n.batch}
		for _, v := range n.in {
			b.in = append(b.in, place(v))
		}
		for _, v := range n.out {
			b.out = append(b.out, place(v))
		}
		p.batchOps = append(p.batchOps, b)
	}
}

// endBatch is the kernel of the last node: the operators for whole batches are
// done.
func (r *hostRegion) endBatch(_ context.Context, c *executor.Call) error {
	c.Set(0, c.In(0))
	if c.In(0).Bool() {
		b := r.batches[c.Slot()]
		b.settle()
		r.watch.tell(b, r.batchCounts)
		b.tell(r.p.opt.Events.BatchFinished)
	}
	return nil
}

// batchKernel returns the node's kernel of an operator for whole batches.
func (r *hostRegion) batchKernel(i int) (executor.KernelFunc, error) {
	n, counts := &r.p.batchOps[i], &r.batchCounts[i]
	kernel, err := n.op.New()
	if err != nil {
		return nil, err
	}
	type work struct {
		in, out []BatchTensor
		issue   func(*streams.Context) error
	}
	slots := make([]work, r.p.slots())
	tensors := func(ts []BatchTensor, b *Batch, places []int) []BatchTensor {
		for _, i := range places {
			ts = append(ts, BatchTensor{Spec: r.p.outputs[i].spec, Mask: b.mask, Data: b.outs[b.outs[i].alias].dense})
		}
		return ts
	}
	return func(_ context.Context, c *executor.Call) error {
		tell(c, c.In(0).Bool())
		if !c.In(0).Bool() {
			return nil
		}
		w, b := &slots[c.Slot()], r.batches[c.Slot()]
		w.in, w.out = tensors(w.in[:0], b, n.in), tensors(w.out[:0], b, n.out)
		if w.issue == nil {
			w.issue = func(sc *streams.Context) error {
				if sc != nil {
					r.watch.called(sc, b.slot, i)
				}
				began := now()
				err := runBatch(kernel, n.op.Backend == executor.Host, sc, w.in, w.out)
				counts.done(b, w.out, began, err)
				return err
			}
		}
		if n.op.Backend == executor.Host {
			return w.issue(nil)
		}
		c.Issue(w.issue)
		return nil
	}, nil
}

// runBatch runs a kernel. Of one on the host it checks that all was written.
func runBatch(k BatchKernel, host bool, c *streams.Context, in, out []BatchTensor) error {
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
func (b *Batch) settle() {
	for i := range b.outs {
		if !b.p.batchMade(i) || b.onDevice(i) {
			continue
		}
		o := &b.outs[i]
		if o.alias != i {
			copy(o.dense, b.outs[o.alias].dense)
			continue
		}
		for row, ok := range b.mask {
			if !ok {
				clear(o.row(row))
			}
		}
	}
}

// batchMade reports whether an output is made for whole batches.
func (p *Pipeline) batchMade(output int) bool { return p.values[p.outputs[output].value].batch }
