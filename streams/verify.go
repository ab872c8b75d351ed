package streams

import (
	"errors"
	"fmt"
	"slices"
)

// ErrPlan is what every error of Verify matches, except those about the graph.
var ErrPlan = errors.New("streams: bad plan")

// EdgeError is the error of a plan that leaves an edge without order: nothing
// makes To, Distance iterations later, start after From has finished, or for a
// metadata edge be issued after it.
type EdgeError struct{ Edge Edge }

func (e *EdgeError) Error() string {
	return fmt.Sprintf("streams: bad plan: nothing orders the %v edge %d→%d (distance %d)",
		e.Edge.Kind, e.Edge.From, e.Edge.To, e.Edge.Distance)
}

func (e *EdgeError) Unwrap() error { return ErrPlan }

// Verify proves from stream order and waits alone that the plan orders every
// edge of the graph, also for nodes on several streams, of which each must have
// come after the producer, and for edges to later iterations. It checks as well
// that every node which needs streams has one on each of its devices, in their
// order, and no other node has any, that waits refer to events recorded before, and that all
// of them are recorded. The proof is of the plan as it stands, issued in its Order.
//
// It shares no code with the planner: for every producer it follows the plan in
// the order of issue, in O(N·(N+waits)) steps per iteration that an edge spans.
// The error is the first edge, in the order of the graph, that is not ordered,
// as an *EdgeError, or says what else is wrong.
func Verify(g *Graph, p *Plan) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if len(p.Streams) != g.N {
		return fmt.Errorf("%w: %d nodes with streams for a graph of %d", ErrPlan, len(p.Streams), g.N)
	}
	position, err := p.check()
	if err != nil {
		return err
	}
	if err := verifyDevices(g, p); err != nil {
		return err
	}
	f := newFollower(g, p)
	needs := needsStream(g)
	worst := len(g.Edges)
	for u := range g.N {
		f.follow(u)
		for _, i := range f.out[u] {
			e := g.Edges[i]
			ordered := f.ordered[e.Distance*g.N+e.To]
			if !orders(needs, e) {
				ordered = e.Distance > 0 || position[e.From] < position[e.To]
			}
			if !ordered {
				worst = min(worst, i)
			}
		}
	}
	if worst < len(g.Edges) {
		return &EdgeError{g.Edges[worst]}
	}
	return nil
}

// check proves what can be proven of a plan without its graph: that every node has a
// place in the order of issue, and streams that exist, and that what is waited for has
// been recorded. It returns the places.
func (p *Plan) check() (position []int, err error) {
	if len(p.Order) != len(p.Streams) || len(p.Device) != p.NumStreams {
		return nil, fmt.Errorf("%w: %d nodes with streams and %d in order; devices of %d streams for %d",
			ErrPlan, len(p.Streams), len(p.Order), len(p.Device), p.NumStreams)
	}
	position = slices.Repeat([]int{-1}, len(p.Order))
	for i, v := range p.Order {
		if v < 0 || v >= len(p.Order) || position[v] >= 0 {
			return nil, fmt.Errorf("%w: the order of issue has node %d twice or there is no such node", ErrPlan, v)
		}
		position[v] = i
	}
	for v, list := range p.Streams {
		for _, s := range list {
			if s < 0 || s >= p.NumStreams {
				return nil, fmt.Errorf("%w: node %d is on stream %d of %d", ErrPlan, v, s, p.NumStreams)
			}
		}
	}
	return position, verifyEvents(p, position)
}

// verifyDevices checks that a node has streams where it needs them.
func verifyDevices(g *Graph, p *Plan) error {
	needs := needsStream(g)
	for v, list := range p.Streams {
		want := []int{}
		switch {
		case !needs[v]:
		case g.Devices == nil:
			want = []int{0}
		default:
			want = slices.Sorted(slices.Values(g.Devices[v]))
		}
		have := []int{}
		for _, s := range list {
			have = append(have, p.Device[s])
		}
		if !slices.Equal(have, want) {
			return fmt.Errorf("%w: node %d has streams on devices %v, expected one on each of %v, in this order", ErrPlan, v, have, want)
		}
	}
	return nil
}

// verifyEvents checks that what is waited for has been recorded.
func verifyEvents(p *Plan, position []int) error {
	n := len(position)
	records := make([]bool, n)
	for _, v := range p.Signals {
		if v < 0 || v >= n {
			return fmt.Errorf("%w: node %d of a plan of %d nodes records an event", ErrPlan, v, n)
		}
		records[v] = true
	}
	for _, w := range p.Waits {
		switch {
		case w.Producer < 0 || w.Producer >= n || w.Consumer < 0 || w.Consumer >= n || w.Distance < 0:
			return fmt.Errorf("%w: wait %+v of a plan of %d nodes", ErrPlan, w, n)
		case w.Distance == 0 && position[w.Producer] >= position[w.Consumer]:
			return fmt.Errorf("%w: node %d waits for node %d, which is issued later", ErrPlan, w.Consumer, w.Producer)
		case !records[w.Producer]:
			return fmt.Errorf("%w: node %d waits for node %d, which records no event", ErrPlan, w.Consumer, w.Producer)
		}
	}
	return nil
}

// follower follows one producer at a time through the plan. Slices by
// iteration·N + node.
type follower struct {
	graph   *Graph
	plan    *Plan
	out     [][]int  // per node: the indices of the edges that it is the producer of
	waits   [][]Wait // per consumer
	ordered []bool   // started after the producer had finished
	knows   []bool   // had finished after the producer had
	past    []bool   // per stream: what is issued on it now comes after the producer
}

func newFollower(g *Graph, p *Plan) *follower {
	f := &follower{graph: g, plan: p, out: make([][]int, g.N), waits: make([][]Wait, g.N), past: make([]bool, p.NumStreams)}
	iterations := 1
	for i, e := range g.Edges {
		f.out[e.From] = append(f.out[e.From], i)
		iterations = max(iterations, e.Distance+1)
	}
	for _, w := range p.Waits {
		f.waits[w.Consumer] = append(f.waits[w.Consumer], w)
	}
	f.ordered = make([]bool, iterations*g.N)
	f.knows = make([]bool, iterations*g.N)
	return f
}

// follow fills ordered for producer u of iteration 0, as far as its edges reach.
func (f *follower) follow(u int) {
	last := -1
	for _, i := range f.out[u] {
		last = max(last, f.graph.Edges[i].Distance)
	}
	clear(f.ordered)
	clear(f.knows)
	clear(f.past)
	for iteration := range last + 1 {
		for _, v := range f.plan.Order {
			f.issue(u, iteration, v)
		}
	}
}

func (f *follower) issue(u, iteration, v int) {
	x := iteration*f.graph.N + v
	streams := f.plan.Streams[v]
	waited := false
	for _, w := range f.waits[v] {
		if w.Distance <= iteration && f.knows[(iteration-w.Distance)*f.graph.N+w.Producer] {
			waited = true
		}
	}
	arrived := 0
	for _, s := range streams {
		if f.past[s] {
			arrived++
		}
	}
	f.ordered[x] = waited || arrived > 0 && arrived == len(streams)
	f.knows[x] = x == u || waited || arrived > 0
	for _, s := range streams {
		f.past[s] = f.past[s] || f.knows[x]
	}
}
