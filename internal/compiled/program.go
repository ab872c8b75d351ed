package compiled

import (
	"context"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/fault"
)

// Kernels are what the nodes of a pipeline's program run.
type Kernels struct {
	Region executor.KernelFunc
	Rows   *executor.Rows
	Op     func(i int) (executor.KernelFunc, error) // of operator i for whole batches
	End    executor.KernelFunc

	// Where the parts have prefetch depths of their own:
	TakeHost, FreeHost, TakeDevice executor.KernelFunc

	// Where batches take turns:
	TakeTurn, PassTurn executor.KernelFunc
}

const regionNode = "region"

// opNode returns the name of the node of operator i for whole batches.
func (p *Pipeline) opNode(i int) string { return fmt.Sprintf("%s#%d", p.ops[i].Name, i) }

// Program makes the program of the pipeline. Its sample region is one node, which
// starts in the order of the batches and is finished by the workers; the operators
// for whole batches come behind, and a last node that is finished when they are.
//
// There is an edge for every value that operators for whole batches read, so
// that the executor finds out what kind of memory each needs (placeOutputs). What
// travels along the edges is whether there is a batch; its values are in the memory
// of the iteration's slot.
func (p *Pipeline) Program(k *Kernels) (*executor.Program, error) {
	g := executor.NewGraph()
	takes := func(name string, run executor.KernelFunc, in ...executor.Output) []executor.Output {
		if !p.options.Depths() {
			return in
		}
		return []executor.Output{g.Add(name, executor.Op{Run: run, Outputs: 1, Async: true, Order: executor.InOrder}, in...).Out(0)}
	}
	read := p.readOfRegion()
	begin := takes("host slab", k.TakeHost)
	if p.TakesTurns() {
		begin = append(begin, g.Add("turn", executor.Op{
			Run: k.TakeTurn, Outputs: 1, Async: true, Order: executor.Serial, Unlimited: true,
		}).Out(0))
	}
	region := g.Add(regionNode, executor.Op{
		Run: k.Region, Outputs: 1 + len(read), Async: true, Order: executor.InOrder, Rows: k.Rows,
	}, begin...)
	batch := region.Out(0)
	if len(p.ops) > 0 {
		made := map[int]executor.Output{} // by place in Outputs
		for i, o := range read {
			made[o] = region.Out(1 + i)
		}
		begin := takes("device slab", k.TakeDevice, batch)
		done, uploads, turn := slices.Clone(begin), []executor.Output{batch}, []executor.Output{batch}
		for i := range p.ops {
			node, err := p.addOp(g, i, k, begin, made)
			if err != nil {
				return nil, err
			}
			done = append(done, node.Out(0))
			if p.readsRegion(i) {
				uploads = append(uploads, node.Out(0))
			}
			if p.sharesLimit(i) {
				turn = append(turn, node.Out(0))
			}
		}
		if p.TakesTurns() {
			g.Add("turn is over", executor.Op{Run: k.PassTurn, Unlimited: true}, turn...)
		}
		if p.options.Depths() {
			g.Add("host slab is free", executor.Op{Run: k.FreeHost}, uploads...)
		}
		batch = g.Add("batch", executor.Op{Run: k.End, Outputs: 1, Unlimited: true}, done...).Out(0)
	}
	g.Output("batch", batch)
	return executor.Compile(g, executor.CompileOptions{})
}

// addOp adds operator i for whole batches, behind begin and what it reads of made,
// and puts its own outputs there.
func (p *Pipeline) addOp(g *executor.Graph, i int, k *Kernels, begin []executor.Output, made map[int]executor.Output) (*executor.Node, error) {
	n := &p.ops[i]
	run, err := k.Op(i)
	if err != nil {
		return nil, &fault.BuildError{Op: n.Name, Err: err}
	}
	in := slices.Clone(begin)
	for _, o := range n.In {
		in = append(in, made[o])
	}
	node := g.Add(p.opNode(i), executor.Op{
		Run: run, Outputs: len(n.Out), Order: executor.Serial, Expensive: true,
		Backend: n.Backend, Command: n.Command,
	}, in...)
	for j, o := range n.Out {
		made[o] = node.Out(j)
	}
	return node, nil
}

// readOfRegion returns the outputs that the sample region makes and operators for
// whole batches read.
func (p *Pipeline) readOfRegion() (places []int) {
	for _, n := range p.ops {
		for _, o := range n.In {
			if !p.outputs[o].Whole && !slices.Contains(places, o) {
				places = append(places, o)
			}
		}
	}
	return places
}

// readsRegion reports whether operator i for whole batches reads what the sample
// region makes.
func (p *Pipeline) readsRegion(i int) bool {
	return slices.ContainsFunc(p.ops[i].In, func(o int) bool { return !p.outputs[o].Whole })
}

// TakesTurns reports whether batches take turns.
func (p *Pipeline) TakesTurns() bool {
	o := &p.options
	return o.MemoryBudget > 0 && o.Concurrency != executor.ConcurrencyFull && len(p.ops) > 0
}

// sharesLimit reports whether operator i for whole batches and the sample region count for
// one limit.
func (p *Pipeline) sharesLimit(i int) bool {
	return p.options.Concurrency == executor.ConcurrencyNone || p.ops[i].Backend == executor.Host
}

// idleKernels returns those of a program that is compiled for what can be read from it.
func idleKernels() *Kernels {
	idle := func(context.Context, *executor.Call) error { return nil }
	return &Kernels{
		Region: idle, Op: func(int) (executor.KernelFunc, error) { return idle, nil }, End: idle,
		TakeHost: idle, FreeHost: idle, TakeDevice: idle, TakeTurn: idle, PassTurn: idle,
	}
}
