package executor

import (
	"fmt"

	"github.com/planktonml/plankton/streams"
)

// StreamGraph returns the program as the planner sees it: node i is the i-th
// item in topological order, and control flow takes place on the host. A
// back edge is carried over one iteration.
func (p *Program) StreamGraph() *streams.Graph {
	backends := map[Backend]streams.Backend{Host: streams.CPU, Mixed: streams.Mixed, Device: streams.GPU}
	g := &streams.Graph{N: len(p.items), Backends: make([]streams.Backend, len(p.items)), Cmds: make([]int, len(p.items))}
	for i := range p.items {
		it := &p.items[i]
		g.Backends[i], g.Cmds[i] = backends[it.back], p.cmds[i]
		for _, e := range p.edges[it.edges : it.edges+it.numEd] {
			edge := streams.Edge{From: i, To: int(e.dst)}
			if e.slot < 0 {
				edge.Kind = streams.Control
			}
			if int(e.dst) <= i {
				edge.Distance = 1
			}
			g.Edges = append(g.Edges, edge)
		}
	}
	return g
}

// planStreams fills in Options.Plan, or checks it.
func (o *Options) planStreams(p *Program) (err error) {
	if o.Device == nil {
		return nil
	}
	g := p.StreamGraph()
	if o.Plan == nil {
		if o.Plan, err = streams.Assign(g, o.StreamPolicy, streams.Options{Budget: o.StreamBudget}); err != nil {
			return err
		}
	}
	return streams.Verify(g, o.Plan)
}

// newLanes makes the streams of one step. Concurrent steps have streams of their
// own, so an order among them is never imposed by accident. Which stream a node is
// issued on is the plan's choice; what it waits for is known only when it is issued,
// since nodes are issued as they become ready, some are dead, and loops go round.
func (o *Options) newLanes() (*streams.Lanes, error) {
	l, err := streams.NewLanes(o.Plan, func(int) (streams.Device, error) { return o.Device, nil })
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	return l, nil
}
