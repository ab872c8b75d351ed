package streams

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/datatest"
)

var allPolicies = []Policy{Single, PerBackend, PerOperator, Ranked, Optimal}

// plan assigns and verifies.
func plan(t require.TestingT, g *Graph, policy Policy, o Options) *Plan {
	p, err := Assign(g, policy, o)
	require.NoError(t, err)
	require.NoError(t, Verify(g, p))
	return p
}

// first returns the first stream of every node, -1 for none.
func first(p *Plan) []int {
	one := make([]int, len(p.Streams))
	for v, list := range p.Streams {
		one[v] = -1
		if len(list) > 0 {
			one[v] = list[0]
		}
	}
	return one
}

// pairs returns the waits as producer, consumer.
func pairs(p *Plan) [][2]int {
	list := [][2]int{}
	for _, w := range p.Waits {
		list = append(list, [2]int{w.Producer, w.Consumer})
	}
	return list
}

// reach is the transitive closure by Warshall's algorithm, to check the planner
// against something that shares no code with it.
func reach(n int, edges [][2]int) [][]bool {
	r := make([][]bool, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	for _, e := range edges {
		r[e[0]][e[1]] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				r[i][j] = r[i][j] || r[i][k] && r[k][j]
			}
		}
	}
	return r
}

// covering returns the edges of the transitive reduction.
func covering(r [][]bool) [][2]int {
	var list [][2]int
	for i := range r {
		for j := range r {
			between := false
			for k := range r {
				between = between || r[i][k] && r[k][j]
			}
			if r[i][j] && !between {
				list = append(list, [2]int{i, j})
			}
		}
	}
	return list
}

// orderingPairs returns the edges of one iteration whose consumer waits.
func orderingPairs(g *Graph) [][2]int {
	needs := needsStream(g)
	var list [][2]int
	for _, e := range g.Edges {
		if e.Distance == 0 && orders(needs, e) {
			list = append(list, [2]int{e.From, e.To})
		}
	}
	return list
}

// planned returns what the plan itself orders within one iteration.
func planned(p *Plan) [][2]int {
	var list [][2]int
	for _, w := range p.Waits {
		if w.Distance == 0 {
			list = append(list, [2]int{w.Producer, w.Consumer})
		}
	}
	for s := range p.NumStreams {
		last := -1
		for _, v := range p.Order {
			if slices.Contains(p.Streams[v], s) {
				if last >= 0 {
					list = append(list, [2]int{last, v})
				}
				last = v
			}
		}
	}
	return list
}

// drawGraph draws a graph without loop-carried edges.
func drawGraph(t *rapid.T, maxNodes int) *Graph {
	g := &Graph{N: rapid.IntRange(1, maxNodes).Draw(t, "n")}
	density := rapid.IntRange(1, 12).Draw(t, "density")
	for v := 1; v < g.N; v++ {
		for u := range v {
			if rapid.IntRange(0, max(density, v/2)).Draw(t, "edge") == 0 {
				g.Edges = append(g.Edges, Edge{From: u, To: v})
			}
		}
	}
	g.Cmds = rapid.SliceOfN(rapid.IntRange(0, 3), g.N, g.N).Draw(t, "cmds")
	for range g.N {
		g.Cost = append(g.Cost, float64(rapid.SampledFrom([]int{0, 1, 1, 2, 5}).Draw(t, "cost")))
	}
	return g
}

// drawRichGraph adds backends, devices, kinds of edges and loop-carried edges.
func drawRichGraph(t *rapid.T, maxNodes int) *Graph {
	g := drawGraph(t, maxNodes)
	kinds := rapid.SampledFrom([]EdgeKind{Data, Data, Control, Reuse, Metadata})
	for i := range g.Edges {
		g.Edges[i].Kind = kinds.Draw(t, "kind")
	}
	if rapid.Bool().Draw(t, "backends") {
		g.Backends = rapid.SliceOfN(rapid.SampledFrom([]Backend{GPU, GPU, Mixed, CPU, CPU}), g.N, g.N).Draw(t, "backend")
	}
	if rapid.Bool().Draw(t, "devices") {
		lists := rapid.SampledFrom([][]int{{0}, {0}, {1}, {2}, {1, 0}, {0, 1, 2}})
		g.Devices = rapid.SliceOfN(lists, g.N, g.N).Draw(t, "device")
	}
	for range rapid.IntRange(0, 4).Draw(t, "carried") {
		node := rapid.IntRange(0, g.N-1)
		g.Edges = append(g.Edges, Edge{
			From: node.Draw(t, "from"), To: node.Draw(t, "to"),
			Kind: kinds.Draw(t, "kind"), Distance: rapid.IntRange(1, 3).Draw(t, "distance"),
		})
	}
	return g
}

// vector is an entry of the reference file streams.json.
type vector struct {
	Name            string
	N               int
	Edges           [][2]int
	Cmds            []int
	Cost            []float64
	Backends        []Backend
	Width, MinWaits int
	Single          []int
	PerBackend      []int `json:"per_backend"`
	PerOperator     []int `json:"per_operator"`
	Ranked          struct{ Streams, Waits, Signals int }
	Optimal         struct{ Streams, Waits, Signals int }
}

func (v vector) graph() *Graph {
	g := &Graph{Name: v.Name, N: v.N, Cmds: v.Cmds, Cost: v.Cost, Backends: v.Backends}
	for _, e := range v.Edges {
		g.Edges = append(g.Edges, Edge{From: e[0], To: e[1]})
	}
	return g
}

func readVectors(t testing.TB, name string) []vector {
	var list []vector
	require.NoError(t, json.Unmarshal(datatest.Vectors(t, name), &list))
	require.NotEmpty(t, list)
	return list
}
