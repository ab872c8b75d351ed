package executor

import (
	"fmt"

	"github.com/planktonml/plankton/streams"
)

// lanes are the streams of one step. Concurrent steps have streams of their
// own, so an order among them is never imposed by accident.
//
// Which stream a node is issued on is the plan's choice. Which events its
// stream waits for is worked out when it is issued, since what is dead and how
// often a loop goes round is known only then: it waits for the producers of
// what it reads, except those that its stream is behind already, directly or
// through another wait. On a graph without control flow that leaves the waits
// of the plan.
type lanes struct {
	mu   leafMutex
	plan *streams.Plan
	all  []lane
}

type lane struct {
	stream streams.Stream
	behind []int64 // by lane: how many records of it everything issued from now on comes after
}

// mark is the place of a node's work in the order of its stream.
type mark struct {
	event  streams.Event
	lane   int
	number int64   // of the record on its lane, from 1
	behind []int64 // what the work itself comes after, by lane
}

func newLanes(d streams.Device, plan *streams.Plan) (*lanes, error) {
	l := &lanes{plan: plan}
	for range plan.NumStreams {
		s, err := d.NewStream()
		if err != nil {
			l.close()
			return nil, fmt.Errorf("executor: no stream on device %s: %w", d.Name(), err)
		}
		l.all = append(l.all, lane{stream: s, behind: make([]int64, plan.NumStreams)})
	}
	return l, nil
}

func (l *lanes) close() {
	for _, s := range l.all {
		s.stream.Close() // errors have been reported by the events
	}
}

// issue puts work of a node on its stream, behind everything in after.
func (l *lanes) issue(node int32, after []*mark, work func(*streams.Context) error) *mark {
	number := l.plan.Streams[node][0]
	l.mu.Lock()
	defer l.mu.Unlock()
	on := &l.all[number]
	for i, m := range after {
		if on.behind[m.lane] >= m.number || coveredByOther(after, i) {
			continue
		}
		on.stream.Wait(m.event)
	}
	for _, m := range after {
		for k, n := range m.behind {
			on.behind[k] = max(on.behind[k], n)
		}
	}
	on.stream.Do(work)
	on.behind[number]++
	m := &mark{event: on.stream.Record(), lane: number, number: on.behind[number], behind: make([]int64, len(l.all))}
	copy(m.behind, on.behind)
	return m
}

// coveredByOther reports whether another of the marks comes after marks[i], so
// that to wait for that one is enough. Of several that are one and the same,
// the first counts.
func coveredByOther(marks []*mark, i int) bool {
	for k, m := range marks {
		if k != i && m.behind[marks[i].lane] >= marks[i].number && (m != marks[i] || k < i) {
			return true
		}
	}
	return false
}

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
