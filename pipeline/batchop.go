package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/streams"
)

// BatchOp describes an operator that works on whole batches, behind the sample
// region: on the host, or on the streams of Options.Device.
type BatchOp struct {
	Name    string  // the name in errors and statistics
	Inputs  []Value // of fixed shape, from the region or from another BatchOp
	Outputs []Spec  // of one sample each; of fixed shape

	// Backend says where the operator works. The kernel of a mixed or device
	// operator runs on a stream, which a plan of Options.StreamPolicy gives it.
	Backend executor.Backend
	// Command is a number that operators with the same command share: the planner
	// likes to see them on one stream, which keeps its workspace.
	Command int

	// Config tells operators of the same name apart in Pipeline.Fingerprint: all
	// that decides what the operator makes of its inputs, as text.
	Config string

	// New makes the operator's kernel. It is called once per loader.
	New func() (BatchKernel, error)
}

// BatchKernel does an operator's work for one batch at a time.
type BatchKernel interface {
	// Run reads in and writes out, for all rows; rows that are not valid are
	// zero and may be left out. The context is that of the operator's stream,
	// nil for one on the host. An output in the memory of a device must be zero
	// in rows that are not valid: nobody else can clear them.
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
	Spec Spec   // of one sample
	Mask []bool // which rows are valid
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
	after   []int // the batch nodes that make inputs
}

// takeBatchOps moves the operators for whole batches from the graph to the
// pipeline. Values that only they use become outputs that nobody sees.
func (p *Pipeline) takeBatchOps(g *Graph) {
	maker := map[int]int{} // batch node by value
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
			if m, ok := maker[v]; ok {
				b.after = append(b.after, m)
			}
		}
		for _, v := range n.out {
			b.out = append(b.out, place(v))
			maker[v] = len(p.batchOps)
		}
		p.batchOps = append(p.batchOps, b)
	}
}

// addBatchOps adds the pipeline's operators for whole batches to the program,
// behind the region, and a last node that is finished when they are. It returns
// the output that says whether there was a batch.
func (r *hostRegion) addBatchOps(g *executor.Graph, region executor.Output) (executor.Output, error) {
	if len(r.p.batchOps) == 0 {
		return region, nil
	}
	all := []executor.Output{region}
	for i := range r.p.batchOps {
		n := &r.p.batchOps[i]
		kernel, err := n.op.New()
		if err != nil {
			return region, &BuildError{Op: n.op.Name, Err: err}
		}
		in := []executor.Output{region}
		for _, m := range n.after {
			in = append(in, all[m+1])
		}
		node := g.Add(fmt.Sprintf("%s#%d", n.op.Name, i), executor.Op{
			Run: r.batchKernel(i, kernel), Outputs: 1, Order: executor.Serial, Expensive: true,
			Backend: n.op.Backend, Command: n.op.Command,
		}, in...)
		all = append(all, node.Out(0))
	}
	last := g.Add("batch", executor.Op{Outputs: 1, Run: func(_ context.Context, c *executor.Call) error {
		c.Set(0, c.In(0))
		if c.In(0).Bool() {
			r.batches[c.Slot()].settle()
		}
		return nil
	}}, all...)
	return last.Out(0), nil
}

// batchKernel returns the node's kernel of an operator for whole batches.
func (r *hostRegion) batchKernel(i int, kernel BatchKernel) executor.KernelFunc {
	n, counts := &r.p.batchOps[i], &r.batchCounts[i]
	type work struct {
		in, out []BatchTensor
		issue   func(*streams.Context) error
	}
	slots := make([]work, r.p.slots())
	tensors := func(b *Batch, places []int) (ts []BatchTensor) {
		for _, i := range places {
			ts = append(ts, BatchTensor{Spec: r.p.outputs[i].spec, Mask: b.mask, Data: b.outs[b.outs[i].alias].dense})
		}
		return ts
	}
	return func(_ context.Context, c *executor.Call) error {
		c.Set(0, c.In(0))
		if !c.In(0).Bool() {
			return nil
		}
		w := &slots[c.Slot()]
		if w.issue == nil {
			b := r.batches[c.Slot()]
			w.in, w.out = tensors(b, n.in), tensors(b, n.out)
			w.issue = func(sc *streams.Context) error {
				began := now()
				err := kernel.Run(sc, w.in, w.out)
				counts.done(b, w.out, began, err)
				return err
			}
		}
		if n.op.Backend == executor.Host {
			return w.issue(nil)
		}
		c.Issue(w.issue)
		return nil
	}
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
