package streams

import (
	"cmp"
	"slices"
)

// problem is a valid graph in the form that the policies work on.
type problem struct {
	*Graph
	cmds  []int
	cost  []float64
	needs []bool  // whether the node runs on a stream
	on    [][]int // devices of the nodes that need a stream, ascending

	succ     [][]int // consumers in the same iteration, metadata included, in the order given
	ordering []Edge  // edges of one iteration whose consumer waits, by consumer then producer
	issue    []Edge  // metadata edges of one iteration, whose consumer does not wait
	carried  []Edge  // edges to later iterations whose consumer waits, by consumer then producer
	window   int     // iterations that the longest carried edge spans

	closure *closure
}

func newProblem(g *Graph) (*problem, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	p := &problem{Graph: g, cmds: g.Cmds, cost: g.Cost, needs: needsStream(g), on: make([][]int, g.N)}
	if p.cmds == nil {
		p.cmds = make([]int, g.N)
	}
	if p.cost == nil {
		p.cost = slices.Repeat([]float64{1}, g.N)
	}
	if err := p.placeDevices(); err != nil {
		return nil, err
	}
	p.sortEdges()
	p.closure = newClosure(g.N, p.ordering)
	return p, nil
}

func (p *problem) placeDevices() error {
	zero := []int{0}
	for v, need := range p.needs {
		switch {
		case !need:
		case p.Devices == nil:
			p.on[v] = zero
		case len(p.Devices[v]) == 0:
			return graphError(p.Graph, "node %d runs on a stream but lists no device", v)
		default:
			p.on[v] = slices.Sorted(slices.Values(p.Devices[v]))
		}
	}
	return nil
}

// sortEdges splits the edges by what the planner does with them. Two edges that
// say the same count once.
func (p *problem) sortEdges() {
	p.succ = make([][]int, p.N)
	for _, e := range p.Edges {
		wait := orders(p.needs, e)
		switch {
		case e.Distance == 0:
			if !slices.Contains(p.succ[e.From], e.To) {
				p.succ[e.From] = append(p.succ[e.From], e.To)
			}
			if wait {
				p.ordering = append(p.ordering, Edge{From: e.From, To: e.To})
			} else {
				p.issue = append(p.issue, e)
			}
		case wait:
			p.carried = append(p.carried, Edge{From: e.From, To: e.To, Distance: e.Distance})
			p.window = max(p.window, e.Distance)
		}
	}
	for _, list := range []*[]Edge{&p.ordering, &p.carried} {
		slices.SortFunc(*list, func(a, b Edge) int {
			return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From), cmp.Compare(a.Distance, b.Distance))
		})
		*list = slices.Compact(*list)
	}
}

// devices returns the devices that carry a stream, ascending.
func (p *problem) devices() []int {
	var all []int
	for _, list := range p.on {
		for _, d := range list {
			if !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	slices.Sort(all)
	return all
}
