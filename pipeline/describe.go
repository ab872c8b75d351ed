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
	ops, _ := p.compiled.Operators()
	infos := make([]OperatorInfo, len(ops))
	for i, op := range ops {
		infos[i] = OperatorInfo(op)
	}
	return infos
}

// Mixes reports whether an operator makes rows of other rows of their batch (BatchOp.Mixes).
// Batches then are the same only for the same number of ranks and size of batches.
func (p *Pipeline) Mixes() bool { return p.mixes }

// mixes looks at the definition.
func (g *Graph) mixes() bool {
	return slices.ContainsFunc(g.nodes, func(n node) bool { return n.batch != nil && n.batch.Mixes })
}

// OutputMakers returns, for every output, the operators that make it, by their
// place in Operators: one, or those of the branches of an If.
func (p *Pipeline) OutputMakers() [][]int {
	_, makers := p.compiled.Operators()
	var of [][]int
	for _, o := range p.compiled.Shown() {
		of = append(of, makers[o.Value])
	}
	return of
}
