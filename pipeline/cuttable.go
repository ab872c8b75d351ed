package pipeline

import (
	"slices"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/stats"
)

// cuttable finds the place where a cut of a definition that has none would spare at least
// half of the bytes of a row that cross the network: the last one such, behind which the
// training program has least to do. An expensive operator must stand in front of it, else
// workers would have next to nothing to do, and bytes must be known beforehand.
func (g *Graph) cuttable() stats.Cut {
	now := g.crossingBytes(len(g.nodes))
	if g.cutAt() >= 0 || now <= 0 {
		return stats.Cut{}
	}
	for at := len(g.nodes) - 1; at > 0; at-- {
		n := &g.nodes[at]
		switch {
		case n.reader >= 0, !slices.ContainsFunc(g.nodes[:at], func(n node) bool { return !n.dead && n.op.Expensive }):
			return stats.Cut{}
		case n.dead || n.batch != nil || n.kind != compiled.Operator || !g.outsideControl(at):
			continue
		}
		if bytes := g.crossingBytes(at); bytes > 0 && bytes <= now/2 {
			return stats.Cut{Before: n.op.Name, Bytes: bytes}
		}
	}
	return stats.Cut{}
}

// outsideControl reports whether a cut in front of a node would be in no branch or loop.
func (g *Graph) outsideControl(at int) bool {
	var begun []int // If and While that have nodes in front of it
	for _, n := range g.nodes[:at] {
		if n.owner > 0 {
			begun = append(begun, n.owner)
		}
	}
	return g.nodes[at].block.parent == nil &&
		!slices.ContainsFunc(g.nodes[at:], func(n node) bool { return n.owner > 0 && slices.Contains(begun, n.owner) })
}

// crossingBytes returns the bytes of a row that would cross a cut in front of a node, -1
// where samples differ.
func (g *Graph) crossingBytes(at int) (bytes int64) {
	needed := make([]bool, len(g.values))
	for i, n := range g.nodes {
		if !n.dead && (i >= at || n.batch != nil) {
			for _, v := range n.in {
				needed[v] = true
			}
		}
	}
	for _, o := range g.outputs {
		needed[o.value] = true
	}
	for _, n := range g.nodes[:at] {
		if n.dead || n.batch != nil {
			continue
		}
		for _, v := range n.out {
			if !needed[v] {
				continue
			}
			needed[v] = false // counted
			if !g.values[v].spec.Dense() {
				return -1
			}
			bytes += int64(g.values[v].spec.Bytes())
		}
	}
	return bytes
}
