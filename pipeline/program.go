package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/executor"
)

// nodeKernels are what the nodes of a pipeline's program run.
type nodeKernels struct {
	region executor.KernelFunc
	rows   *executor.Rows
	op     func(i int) (executor.KernelFunc, error) // of operator i for whole batches
	end    executor.KernelFunc

	// Where the parts have prefetch depths of their own:
	takeHost, freeHost, takeDevice executor.KernelFunc

	// Where batches take turns:
	takeTurn, passTurn executor.KernelFunc
}

const regionNode = "region"

// opNode returns the name of the node of operator i for whole batches.
func (p *Pipeline) opNode(i int) string { return fmt.Sprintf("%s#%d", p.batchOps[i].op.Name, i) }

// compile makes the program of the pipeline. Its sample region is one node, which
// starts in the order of the batches and is finished by the workers; the operators
// for whole batches come behind, and a last node that is finished when they are.
//
// There is an edge for every value that operators for whole batches read, so
// that the executor finds out what kind of memory each needs (placeOutputs). What
// travels along the edges is whether there is a batch; its values are in the memory
// of the iteration's slot.
func (p *Pipeline) compile(k *nodeKernels) (*executor.Program, error) {
	g := executor.NewGraph()
	takes := func(name string, run executor.KernelFunc, in ...executor.Output) []executor.Output {
		if !p.opt.depths() {
			return in
		}
		return []executor.Output{g.Add(name, executor.Op{Run: run, Outputs: 1, Async: true, Order: executor.InOrder}, in...).Out(0)}
	}
	read := p.readOfRegion()
	begin := takes("host slot", k.takeHost)
	if p.opt.takeTurns(len(p.batchOps)) {
		begin = append(begin, g.Add("turn", executor.Op{
			Run: k.takeTurn, Outputs: 1, Async: true, Order: executor.Serial, Ungated: true,
		}).Out(0))
	}
	region := g.Add(regionNode, executor.Op{
		Run: k.region, Outputs: 1 + len(read), Async: true, Order: executor.InOrder, Rows: k.rows,
	}, begin...)
	batch := region.Out(0)
	if len(p.batchOps) > 0 {
		made := map[int]executor.Output{} // by place in Pipeline.outputs
		for i, o := range read {
			made[o] = region.Out(1 + i)
		}
		begin := takes("device slot", k.takeDevice, batch)
		done, uploads, turn := slices.Clone(begin), []executor.Output{batch}, []executor.Output{batch}
		for i := range p.batchOps {
			node, err := p.addOp(g, i, k, begin, made)
			if err != nil {
				return nil, err
			}
			done = append(done, node.Out(0))
			if p.readsRegion(i) {
				uploads = append(uploads, node.Out(0))
			}
			if p.sharesGate(i) {
				turn = append(turn, node.Out(0))
			}
		}
		if p.opt.takeTurns(len(p.batchOps)) {
			g.Add("turn is over", executor.Op{Run: k.passTurn, Ungated: true}, turn...)
		}
		if p.opt.depths() {
			g.Add("host slot is free", executor.Op{Run: k.freeHost}, uploads...)
		}
		batch = g.Add("batch", executor.Op{Run: k.end, Outputs: 1, Ungated: true}, done...).Out(0)
	}
	g.Output("batch", batch)
	return executor.Compile(g, executor.CompileOptions{})
}

// addOp adds operator i for whole batches, behind begin and what it reads of made,
// and puts its own outputs there.
func (p *Pipeline) addOp(g *executor.Graph, i int, k *nodeKernels, begin []executor.Output, made map[int]executor.Output) (*executor.Node, error) {
	n := &p.batchOps[i]
	run, err := k.op(i)
	if err != nil {
		return nil, &BuildError{Op: n.op.Name, Err: err}
	}
	in := slices.Clone(begin)
	for _, o := range n.in {
		in = append(in, made[o])
	}
	node := g.Add(p.opNode(i), executor.Op{
		Run: run, Outputs: len(n.out), Order: executor.Serial, Expensive: true,
		Backend: n.op.Backend, Command: n.op.Command,
	}, in...)
	for j, o := range n.out {
		made[o] = node.Out(j)
	}
	return node, nil
}

// readOfRegion returns the outputs that the sample region makes and operators for
// whole batches read.
func (p *Pipeline) readOfRegion() (places []int) {
	for _, n := range p.batchOps {
		for _, o := range n.in {
			if !p.batchMade(o) && !slices.Contains(places, o) {
				places = append(places, o)
			}
		}
	}
	return places
}

// readsRegion reports whether operator i for whole batches reads what the sample
// region makes.
func (p *Pipeline) readsRegion(i int) bool {
	return slices.ContainsFunc(p.batchOps[i].in, func(o int) bool { return !p.batchMade(o) })
}

// tell sets all outputs of a node to whether there is a batch.
func tell(c *executor.Call, there bool) {
	for i := range c.NumOut() {
		c.Set(i, executor.Bool(there))
	}
}

// idleKernels returns those of a program that is compiled for what can be read from it.
func idleKernels() *nodeKernels {
	idle := func(context.Context, *executor.Call) error { return nil }
	return &nodeKernels{
		region: idle, op: func(int) (executor.KernelFunc, error) { return idle, nil }, end: idle,
		takeHost: idle, freeHost: idle, takeDevice: idle, takeTurn: idle, passTurn: idle,
	}
}
