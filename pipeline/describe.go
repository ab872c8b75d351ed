package pipeline

import (
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// OperatorInfo describes one operator or reader of a compiled pipeline.
type OperatorInfo struct {
	Name    string
	Reader  bool
	Batch   bool         // works on whole batches
	Inputs  []int        // what it reads from, by the place in Pipeline.Operators
	Outputs []datum.Spec // of one sample each
}

// Operators describes what runs, in the order of execution: operators may have
// been fused, and those that nobody needs are left out. Stats counts them in the
// same order.
func (p *Pipeline) Operators() []OperatorInfo {
	ops, _ := p.operators()
	return ops
}

// OutputMakers returns, for every output, the operators that make it, by their
// place in Operators: one, or those of the branches of an If.
func (p *Pipeline) OutputMakers() [][]int {
	_, makers := p.operators()
	of := make([][]int, p.shown)
	for i := range of {
		of[i] = makers[p.outputs[i].value]
	}
	return of
}

// operators returns the operators, and for every value those that make it.
func (p *Pipeline) operators() (ops []OperatorInfo, makers [][]int) {
	makers = make([][]int, len(p.values))
	add := func(info OperatorInfo, in, out []int) {
		for _, v := range in {
			info.Inputs = append(info.Inputs, makers[v]...)
		}
		slices.Sort(info.Inputs)
		info.Inputs = slices.Compact(info.Inputs)
		for _, v := range out {
			info.Outputs = append(info.Outputs, p.values[v].spec)
			makers[v] = append(makers[v], len(ops))
		}
		ops = append(ops, info)
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.kind == noControl {
			add(OperatorInfo{Name: n.op.Name, Reader: n.reader >= 0}, n.in, n.out)
			continue
		}
		for k := range n.out { // a copy has the makers of what it copies
			makers[n.out[k]] = append(makers[n.out[k]], makers[n.in[k]]...)
		}
	}
	for i := range p.batchOps {
		b := &p.batchOps[i]
		add(OperatorInfo{Name: b.op.Name, Batch: true}, p.valuesOf(b.in), p.valuesOf(b.out))
	}
	return ops, makers
}

// valuesOf returns the values that outputs show.
func (p *Pipeline) valuesOf(outputs []int) []int {
	var values []int
	for _, o := range outputs {
		values = append(values, p.outputs[o].value)
	}
	return values
}
