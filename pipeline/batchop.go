package pipeline

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
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
	// Mixes says that a row depends on other rows of its batch, or on numbers drawn for the
	// whole batch. Then what a batch is depends on the number of ranks and the size of
	// batches, and a loader refuses to go on from a state of another world.
	Mixes bool

	// New makes the operator's kernel. It is called once per loader.
	New func() (batchop.Kernel, error)
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
	n := node{op: Op{Name: op.Name, Inputs: op.Inputs, Config: op.Config}, reader: -1, target: -1, block: g.block, batch: &op}
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
