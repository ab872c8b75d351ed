package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planktonml/plankton/pipeline/datum"
)

const remoteCut = "remote_cut" // the name in errors and fingerprints

// AddCut cuts the definition in two for workers elsewhere: they run the readers and
// operators that were added before the cut, and the training program runs what is added
// behind it. It returns v for use behind the cut. What else was made in front of it can be
// used behind it as well; all such values cross the network.
//
// Fuse may return one operator that makes v and hands it on, like Op.Fuse; nil where none
// can. No other operators are fused across the cut, so that a program makes the same samples
// with and without workers elsewhere. ops.RemoteCut is what definitions use.
//
// A definition has one cut at most: with two, what lies between them would need workers of a
// third kind. A cut cannot be in a branch, in a loop or in a mix, and readers come before it.
func (g *Graph) AddCut(v Value, fuse func(producer *Op) *Op) Value {
	switch {
	case !g.checkSamples(remoteCut, v):
	case g.block.parent != nil:
		g.Fail(remoteCut, errors.New("the cut cannot be in a branch or loop; put it before or behind"))
	case g.mixing != nil:
		g.Fail(remoteCut, errors.New("the cut cannot be in the definition of a mix; put it behind"))
	case g.cutAt() >= 0:
		g.Fail(remoteCut, errors.New("the definition has a cut already; one is possible"))
	}
	op := Op{Name: remoteCut, Inputs: []Value{v}, Outputs: []datum.Spec{v.Spec()}, Fuse: fuse}
	return g.add(node{op: op, reader: -1, in: []int{v.id}, cut: true})[0]
}

// cutAt returns the place of the cut among the nodes, -1 where there is none.
func (g *Graph) cutAt() int { return slices.IndexFunc(g.nodes, func(n node) bool { return n.cut }) }

// endCut looks at the cut after operators were fused. One that was fused is an operator.
// Another one does nothing: what stands behind it reads its input.
func (g *Graph) endCut() error {
	at := g.cutAt()
	if at < 0 {
		return nil
	}
	n := &g.nodes[at]
	if n.dead {
		return &BuildError{Op: remoteCut, Err: errors.New("no output needs what it returns; use that in place of its input")}
	}
	if n.op.New != nil {
		return nil
	}
	n.dead = true
	from, to := n.out[0], n.in[0]
	for i := at + 1; i < len(g.nodes); i++ {
		for k, v := range g.nodes[i].in {
			if v == from {
				g.nodes[i].in[k] = to
			}
		}
	}
	for i := range g.outputs {
		if o := &g.outputs[i]; o.value == from {
			o.value = to
		}
	}
	return nil
}

// inFront returns how many of the nodes that are left stand in front of the cut, all of them
// without one.
func (g *Graph) inFront() (n int) {
	end := len(g.nodes)
	if at := g.cutAt(); at >= 0 {
		end = at + 1
	}
	for i := range end {
		if !g.nodes[i].dead {
			n++
		}
	}
	return n
}

// describeCut writes what crosses the cut.
func (p *Pipeline) describeCut(b *strings.Builder) {
	b.WriteString(remoteCut + ", crossed by")
	for i, v := range p.compiled.Crossing() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %s", p.compiled.Values()[v].Spec)
	}
	b.WriteByte('\n')
}
