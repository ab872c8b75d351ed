package compiled

import (
	"slices"

	"github.com/planktonml/plankton/pipeline/stats"
)

// Cut returns how many of Nodes workers elsewhere may run: those in front of the cut of the
// definition, or all of them where it has none.
func (p *Pipeline) Cut() int { return p.cut }

// Crossing returns the values that are made in front of the cut and needed behind it, by
// nodes, by operators for whole batches or by programs, in ascending order. They are what a
// worker elsewhere sends of a row.
func (p *Pipeline) Crossing() []int { return p.crossing }

// RowLines describes all that decides what a row is, but the seed and the program: kernels,
// definition and data.
func (p *Pipeline) RowLines() []string { return p.rowLines() }

// setCut finds out what crosses.
func (p *Pipeline) setCut(cut int) {
	p.cut = cut
	var needed []int
	for _, n := range p.nodes[cut:] {
		needed = append(needed, n.In...)
	}
	for _, o := range p.outputs {
		needed = append(needed, o.Value)
	}
	for _, n := range p.nodes[:cut] {
		for _, v := range n.Out {
			if slices.Contains(needed, v) {
				p.crossing = append(p.crossing, v)
			}
		}
	}
	slices.Sort(p.crossing)
	p.crossing = slices.Compact(p.crossing) // branches make the same values
}

// Cuttable returns the cut that a definition without one should have where the network is slow.
func (p *Pipeline) Cuttable() stats.Cut { return p.cuttable }
