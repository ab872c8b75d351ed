package executor

import (
	"fmt"

	"github.com/planktonml/plankton/streams"
)

// StreamGraph returns the program as the planner sees it: node i is the i-th
// item in topological order, and control flow takes place on the host. A
// back edge is carried over one iteration. Nodes list their devices where one of them
// works on another device than 0.
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
	g.Devices = p.streamDevices(g.Edges)
	return g
}

// planStreams fills in Options.Plan, or checks it.
func (o *Options) planStreams(p *Program) (err error) {
	if len(o.Devices) == 0 {
		return nil
	}
	if err := o.checkDevices(p); err != nil {
		return err
	}
	g := p.StreamGraph()
	if o.Plan == nil {
		if o.Plan, err = streams.Assign(g, o.StreamPolicy, streams.Options{Budget: o.StreamBudget}); err != nil {
			return err
		}
	}
	if err := streams.Verify(g, o.Plan); err != nil {
		return err
	}
	for s, d := range o.Plan.Device { // of streams without nodes, too
		if d < 0 || d >= len(o.Devices) {
			return fmt.Errorf("executor: %w: stream %d is on device %d, and Options.Devices has %d", streams.ErrPlan, s, d, len(o.Devices))
		}
	}
	return nil
}

// newLanes makes the streams of one step. Concurrent steps have streams of their
// own, so an order among them is never imposed by accident. Which stream a node is
// issued on is the plan's choice; what it waits for is known only when it is issued,
// since nodes are issued as they become ready, some are dead, and loops go round.
func (o *Options) newLanes() (*streams.Lanes, error) {
	l, err := streams.NewLanes(o.Plan, func(number int) (streams.Device, error) { return o.Devices[number], nil })
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	return l, nil
}
