package streams

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Graph is what the planner works on. Nodes are the numbers 0 … N-1 in a
// topological order; any will do. A Graph is only read, never changed.
type Graph struct {
	Name  string // for messages and pictures
	N     int
	Edges []Edge
	// Cmds says which command each node runs. Nodes of one command can share a
	// workspace and a context when they share a stream. Nil: all the same.
	Cmds []int
	// Cost is the time each node takes, measured or estimated, in any unit.
	// Nil: 1 each.
	Cost []float64
	// Backends says where each node computes. Nil: all on the GPU.
	Backends []Backend
	// Devices lists the devices each node works on; it gets a stream on each of
	// them. Nil: all on device 0.
	Devices [][]int
}

// Edge says that To needs From.
type Edge struct {
	From, To int
	Kind     EdgeKind
	// Distance is how many iterations later the consumer runs. 0 is an edge
	// within one iteration, from a lower to a higher node. A loop-carried edge
	// has a distance of 1 or more and may lead anywhere, back to the same node
	// too. Memory that a ring of r slots uses again is a Reuse edge of distance
	// r from its last readers to its next writer.
	Distance int
}

// EdgeKind says what an edge stands for.
type EdgeKind uint8

// The kinds of edges. All but Metadata mean that To starts after From has
// finished. Metadata means that To reads only the shape of what From makes,
// which is known once From has been issued on its stream: it is issued after
// From and does not wait. (A host node knows the shape when it has run.)
const (
	Data EdgeKind = iota
	Control
	Reuse
	Metadata
)

var edgeKinds = [...]string{Data: "data", Control: "control", Reuse: "reuse", Metadata: "metadata"}

func (k EdgeKind) String() string {
	if int(k) < len(edgeKinds) {
		return edgeKinds[k]
	}
	return fmt.Sprintf("EdgeKind(%d)", k)
}

// Backend says where a node computes.
type Backend uint8

// The backends. A CPU node needs a stream only if it has a data edge from a GPU
// or mixed node; mixed nodes read host memory and write device memory.
const (
	GPU Backend = iota
	Mixed
	CPU
)

var backends = [...]string{GPU: "gpu", Mixed: "mixed", CPU: "cpu"}

func (b Backend) String() string {
	if int(b) < len(backends) {
		return backends[b]
	}
	return fmt.Sprintf("Backend(%d)", b)
}

// MarshalText returns "cpu", "gpu" or "mixed".
func (b Backend) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText accepts "cpu", "gpu" and "mixed".
func (b *Backend) UnmarshalText(text []byte) error {
	i := slices.Index(backends[:], string(text))
	if i < 0 {
		return fmt.Errorf("streams: unknown backend %q, expected cpu, gpu or mixed", text)
	}
	*b = Backend(i)
	return nil
}

// DataEdges returns data edges from the pairs from, to, from, to, …
func DataEdges(pairs ...int) []Edge {
	edges := make([]Edge, len(pairs)/2)
	for i := range edges {
		edges[i] = Edge{From: pairs[2*i], To: pairs[2*i+1]}
	}
	return edges
}

// ErrGraph is what every error about a graph that cannot be planned matches.
var ErrGraph = errors.New("streams: bad graph")

func graphError(g *Graph, format string, args ...any) error {
	name := ""
	if g.Name != "" {
		name = fmt.Sprintf(" %q", g.Name)
	}
	return fmt.Errorf("%w%s: %s", ErrGraph, name, fmt.Sprintf(format, args...))
}

// maxNodes bounds a graph, nodes times iterations that edges span, to what has
// squares that fit into memory: half a gigabyte each, in bits.
const maxNodes = 1 << 16

// Validate checks that edges lead from a lower to a higher node, or to a later
// iteration, and that every slice which is given has an entry per node. A graph
// has at most 65,536 nodes, fewer if edges lead over many iterations. The error
// matches ErrGraph and names the first entry that is wrong.
func (g *Graph) Validate() error {
	if g.N < 0 {
		return graphError(g, "it has %d nodes", g.N)
	}
	longest := 0
	for i, e := range g.Edges {
		longest = max(longest, e.Distance)
		switch {
		case e.From < 0 || e.From >= g.N || e.To < 0 || e.To >= g.N:
			return graphError(g, "edge %d is %d→%d, nodes are 0 to %d", i, e.From, e.To, g.N-1)
		case int(e.Kind) >= len(edgeKinds):
			return graphError(g, "edge %d (%d→%d) has the unknown kind %d", i, e.From, e.To, e.Kind)
		case e.Distance < 0:
			return graphError(g, "edge %d (%d→%d) leads %d iterations back", i, e.From, e.To, -e.Distance)
		case e.Distance == 0 && e.From >= e.To:
			return graphError(g, "edge %d is %d→%d, but nodes must be numbered in topological order, so that edges of an iteration lead to higher numbers", i, e.From, e.To)
		}
	}
	if longest >= maxNodes || g.N > maxNodes/(longest+1) {
		return graphError(g, "it has %d nodes and edges over %d iterations; at most %d nodes times iterations can be planned", g.N, longest, maxNodes)
	}
	for _, f := range []struct {
		name  string
		given bool
		len   int
	}{
		{"commands", g.Cmds != nil, len(g.Cmds)},
		{"costs", g.Cost != nil, len(g.Cost)},
		{"backends", g.Backends != nil, len(g.Backends)},
		{"device lists", g.Devices != nil, len(g.Devices)},
	} {
		if f.given && f.len != g.N {
			return graphError(g, "%d %s for %d nodes", f.len, f.name, g.N)
		}
	}
	total := 0.0
	for v, c := range g.Cost {
		total += c
		if !(c >= 0) || math.IsInf(total, 1) {
			return graphError(g, "node %d costs %v, expected a number that is not negative, and a finite sum", v, c)
		}
	}
	for v, b := range g.Backends {
		if int(b) >= len(backends) {
			return graphError(g, "node %d has the unknown backend %d", v, b)
		}
	}
	for v, list := range g.Devices {
		for i, d := range list {
			if d < 0 || slices.Contains(list[:i], d) {
				return graphError(g, "node %d lists device %d, expected different numbers from 0 on", v, d)
			}
		}
	}
	return nil
}

// needsStream follows DALI's executor: GPU and mixed nodes need a stream, and
// so does a host node that reads data of one.
func needsStream(g *Graph) []bool {
	needs := make([]bool, g.N)
	for v := range needs {
		needs[v] = g.backend(v) != CPU
	}
	for _, e := range g.Edges {
		if e.Kind == Data && g.backend(e.From) != CPU {
			needs[e.To] = true
		}
	}
	return needs
}

func (g *Graph) backend(v int) Backend {
	if g.Backends == nil {
		return GPU
	}
	return g.Backends[v]
}

// orders reports whether the consumer of e waits for the producer.
func orders(needs []bool, e Edge) bool { return e.Kind != Metadata || !needs[e.From] }
