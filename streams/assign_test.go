package streams

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// worked is the example that DALI's rule was published with: A … I are 0 … 8.
func worked() *Graph {
	return &Graph{N: 9, Edges: DataEdges(0, 1, 0, 2, 0, 4, 1, 3, 2, 3, 3, 5, 4, 5, 5, 6, 5, 8, 6, 8, 7, 8)}
}

func TestPolicies(t *testing.T) {
	diamond := &Graph{N: 4, Edges: DataEdges(0, 1, 0, 2, 1, 3, 2, 3)}
	const gpu, mixed, cpu = GPU, Mixed, CPU
	const none = -1
	for _, c := range []struct {
		name    string
		graph   *Graph
		policy  Policy
		streams []int
		waits   [][2]int
	}{
		{"worked example", worked(), PerOperator, []int{0, 0, 2, 0, 3, 0, 0, 1, 0},
			[][2]int{{0, 2}, {2, 3}, {0, 4}, {4, 5}, {7, 8}}},
		{"worked example", worked(), Single, []int{0, 0, 0, 0, 0, 0, 0, 0, 0}, [][2]int{}},
		{"N1→(N2,N3)→N4", diamond, Ranked, []int{0, 0, 1, 0}, [][2]int{{0, 2}, {2, 3}}},
		{"N1→(N2,N3)→N4", diamond, Optimal, []int{0, 0, 1, 0}, [][2]int{{0, 2}, {2, 3}}},
		// The plans below are those of libnnc's own test graphs.
		{"mul,sum→div→{log,exp}→sum",
			&Graph{N: 6, Edges: DataEdges(0, 2, 1, 2, 2, 3, 2, 4, 3, 5, 4, 5)}, Ranked,
			[]int{0, 1, 0, 0, 1, 0}, [][2]int{{1, 2}, {2, 4}, {4, 5}}},
		{"multiple streams", // mul1,mul2→mulc→muld; mul3→muld
			&Graph{N: 5, Edges: DataEdges(0, 3, 1, 3, 3, 4, 2, 4)}, Ranked,
			[]int{0, 1, 2, 0, 0}, [][2]int{{1, 3}, {2, 4}}},
		{"one stream", &Graph{N: 1}, Ranked, []int{0}, [][2]int{}},
		{"while→mul3→mulc; mul2→mulc", &Graph{N: 4, Edges: DataEdges(0, 1, 1, 3, 2, 3)}, Ranked,
			[]int{0, 0, 1, 0}, [][2]int{{2, 3}}},
		{"case→mul3→mulc; while→mul4→mulc", &Graph{N: 5, Edges: DataEdges(0, 2, 2, 4, 1, 3, 3, 4)}, Ranked,
			[]int{0, 1, 0, 1, 0}, [][2]int{{3, 4}}},
		// What libnnc documents and does not do.
		{"longest chain first", // A→B, A→C→D→E
			&Graph{N: 5, Edges: DataEdges(0, 1, 0, 2, 2, 3, 3, 4)}, Ranked,
			[]int{0, 1, 0, 0, 0}, [][2]int{{0, 1}}},
		{"same command among equals", // A→B, A→C
			&Graph{N: 3, Edges: DataEdges(0, 1, 0, 2), Cmds: []int{7, 1, 7}}, Ranked,
			[]int{0, 1, 0}, [][2]int{{0, 1}}},
		{"a stream that has ended is used again", // 0→1, 0→2; 1,2→3→4, 3→5
			&Graph{N: 6, Edges: DataEdges(0, 1, 0, 2, 1, 3, 2, 3, 3, 4, 3, 5)}, Ranked,
			[]int{0, 0, 1, 0, 0, 1}, [][2]int{{0, 2}, {2, 3}, {3, 5}}},
		{"a stream that has seen the command is used before others", // two have ended before 6
			&Graph{N: 7, Edges: DataEdges(0, 3, 1, 3, 2, 3, 3, 4, 3, 5, 3, 6), Cmds: []int{0, 1, 2, 0, 0, 2, 1}}, Ranked,
			[]int{0, 1, 2, 0, 0, 2, 1}, [][2]int{{1, 3}, {2, 3}, {3, 5}, {3, 6}}},
		// The cases of DALI's tests that its first rule shares with later ones.
		{"only host", &Graph{N: 1, Backends: []Backend{cpu}}, Single, []int{none}, [][2]int{}},
		{"host, mixed, GPU", &Graph{N: 3, Edges: DataEdges(0, 1, 1, 2), Backends: []Backend{cpu, mixed, gpu}}, Single,
			[]int{none, 0, 0}, [][2]int{{0, 1}}},
		{"host node reads GPU data", &Graph{N: 3, Edges: []Edge{{From: 0, To: 1}, {From: 0, To: 2, Kind: Metadata}},
			Backends: []Backend{gpu, cpu, cpu}}, PerBackend, []int{0, 0, none}, [][2]int{}},
		{"no GPU node", &Graph{N: 3, Edges: DataEdges(0, 1, 0, 2), Backends: []Backend{cpu, mixed, mixed}}, PerBackend,
			[]int{none, 0, 0}, [][2]int{{0, 1}}},
		{"GPU and mixed", &Graph{N: 3, Edges: DataEdges(0, 1, 0, 2), Backends: []Backend{cpu, gpu, mixed}}, PerBackend,
			[]int{none, 1, 0}, [][2]int{{0, 1}, {0, 2}}},
		{"no mixed node", &Graph{N: 2, Edges: DataEdges(0, 1)}, PerBackend, []int{0, 0}, [][2]int{}},
		// A host node on the way keeps the number for its consumer.
		{"through the host", &Graph{N: 4, Edges: DataEdges(0, 1, 1, 3, 0, 2, 2, 3), Backends: []Backend{gpu, gpu, cpu, gpu}}, PerOperator,
			[]int{0, 0, 1, 0}, [][2]int{{0, 2}, {2, 3}}},
		{"host contributors lose their stream", &Graph{N: 4, Edges: DataEdges(0, 2, 1, 2), Backends: []Backend{cpu, cpu, gpu, cpu}}, PerOperator,
			[]int{none, none, 0, none}, [][2]int{{0, 2}, {1, 2}}},
		{"independent nodes share under the free-list rule", // 0; 1→2, 1→3
			&Graph{N: 4, Edges: DataEdges(1, 2, 1, 3)}, PerOperator, []int{0, 1, 0, 1}, [][2]int{{1, 2}}},
	} {
		t.Run(c.policy.String()+" "+c.name, func(t *testing.T) {
			p := plan(t, c.graph, c.policy, Options{})
			assert.Equal(t, c.streams, first(p))
			assert.Equal(t, c.waits, pairs(p))
		})
	}
}

func TestMetadataIsIssuedAfterAndDoesNotWait(t *testing.T) {
	g := &Graph{N: 2, Edges: []Edge{{From: 0, To: 1, Kind: Metadata}}, Cost: []float64{10, 1}}
	p := plan(t, g, Optimal, Options{})
	assert.Equal(t, 2, p.NumStreams)
	assert.Empty(t, p.Waits)
	assert.Equal(t, 10.0, p.Makespan)

	g.Backends = []Backend{CPU, GPU} // a host node has to run before shapes are known
	p = plan(t, g, Optimal, Options{})
	assert.Equal(t, [][2]int{{0, 1}}, pairs(p))
}

func TestSeveralDevices(t *testing.T) {
	// Two chains on devices 0 and 1 that meet in a node on both.
	g := &Graph{
		N:       6,
		Edges:   DataEdges(0, 2, 1, 3, 2, 4, 3, 4, 4, 5),
		Devices: [][]int{{0}, {1}, {0}, {1}, {1, 0}, {1}},
	}
	for _, policy := range []Policy{Single, PerBackend, Ranked, Optimal} {
		p := plan(t, g, policy, Options{})
		assert.Equal(t, []int{0, 1}, p.Device, policy)
		assert.Equal(t, [][]int{{0}, {1}, {0}, {1}, {0, 1}, {1}}, p.Streams, policy)
		// Each stream of node 4 has come after one of its producers only.
		assert.Equal(t, [][2]int{{2, 4}, {3, 4}}, pairs(p), policy)
	}
}

func TestLoopCarriedEdges(t *testing.T) {
	// 0→1 and 0→2; what 2 makes is read by 1 of the next iteration, and the
	// memory that 1 reads is written again by 0 two iterations later.
	g := &Graph{N: 3, Edges: []Edge{
		{From: 0, To: 1}, {From: 0, To: 2},
		{From: 2, To: 1, Distance: 1},
		{From: 1, To: 0, Kind: Reuse, Distance: 2},
		{From: 2, To: 2, Distance: 1},
	}}
	p := plan(t, g, Optimal, Options{})
	assert.Equal(t, []int{0, 0, 1}, first(p))
	// The reuse and the step from 2 to itself follow from the streams.
	assert.Equal(t, []Wait{{Producer: 2, Consumer: 1, Distance: 1}, {Producer: 0, Consumer: 2}}, p.Waits)
	assert.Equal(t, []int{0, 2}, p.Signals)

	// On streams of their own, the reuse is implied by two carried steps.
	g = &Graph{N: 2, Edges: []Edge{{From: 0, To: 1, Distance: 1}, {From: 1, To: 0, Distance: 1}, {From: 0, To: 0, Kind: Reuse, Distance: 2}}}
	p = plan(t, g, Optimal, Options{})
	assert.Equal(t, []Wait{{1, 0, 1}, {0, 1, 1}}, p.Waits)
}

func TestBudget(t *testing.T) {
	wide := &Graph{N: 6, Cost: []float64{3, 3, 2, 2, 1, 1}}
	p := plan(t, wide, Optimal, Options{Budget: 2})
	assert.Equal(t, 2, p.NumStreams)
	assert.Equal(t, 6.0, p.Makespan)

	// The longest path goes first although its nodes have the higher numbers.
	g := &Graph{N: 5, Edges: DataEdges(2, 3, 3, 4)}
	p = plan(t, g, Optimal, Options{Budget: 2})
	assert.Equal(t, 3.0, p.Makespan)
	assert.Empty(t, p.Waits)

	// Two devices share three streams by the work they have.
	g = &Graph{N: 5, Cost: []float64{5, 1, 1, 5, 5}, Devices: [][]int{{0}, {1}, {1}, {0}, {0}}}
	p = plan(t, g, Ranked, Options{Budget: 3})
	assert.Equal(t, []int{0, 0, 1}, p.Device)
	assert.Equal(t, 10.0, p.Makespan)

	// PerOperator leaves numbers out; within a budget they are closed up.
	g = &Graph{N: 4, Edges: DataEdges(0, 1, 0, 2, 0, 3, 1, 2)}
	p = plan(t, g, PerOperator, Options{})
	assert.Equal(t, []int{0, 0, 0, 2}, first(p))
	assert.Equal(t, 3, p.NumStreams)
	assert.Equal(t, 2, p.Used())
	p = plan(t, g, PerOperator, Options{Budget: 2})
	assert.Equal(t, []int{0, 0, 0, 1}, first(p))
	assert.Equal(t, 2, p.NumStreams)
}

func TestAssignRefuses(t *testing.T) {
	edge := func(e Edge) *Graph { return &Graph{Name: "g", N: 3, Edges: []Edge{e}} }
	for _, c := range []struct {
		name  string
		graph *Graph
		want  string
	}{
		{"backward", edge(Edge{From: 2, To: 1}), "topological order"},
		{"to itself", edge(Edge{From: 1, To: 1}), "topological order"},
		{"beyond", edge(Edge{From: 0, To: 3}), "nodes are 0 to 2"},
		{"below", edge(Edge{From: -1, To: 1}), "nodes are 0 to 2"},
		{"distance", edge(Edge{From: 0, To: 1, Distance: -2}), "2 iterations back"},
		{"kind", edge(Edge{From: 0, To: 1, Kind: 9}), "unknown kind 9"},
		{"size", &Graph{N: -1}, "-1 nodes"},
		{"too large", &Graph{N: maxNodes + 1}, "at most"},
		{"too large when unrolled", &Graph{N: 100, Edges: []Edge{{From: 0, To: 0, Distance: maxNodes}}}, "at most"},
		{"commands", &Graph{N: 2, Cmds: []int{1}}, "1 commands for 2 nodes"},
		{"costs", &Graph{N: 2, Cost: []float64{}}, "0 costs for 2 nodes"},
		{"negative cost", &Graph{N: 1, Cost: []float64{-1}}, "node 0 costs -1"},
		{"cost that is no number", &Graph{N: 1, Cost: []float64{math.NaN()}}, "node 0 costs NaN"},
		{"infinite cost", &Graph{N: 1, Cost: []float64{math.Inf(1)}}, "node 0 costs +Inf"},
		{"costs without a sum", &Graph{N: 2, Cost: []float64{1e308, 1e308}}, "node 1 costs 1e+308"},
		{"backends", &Graph{N: 1, Backends: []Backend{GPU, GPU}}, "2 backends for 1 nodes"},
		{"backend", &Graph{N: 1, Backends: []Backend{9}}, "unknown backend 9"},
		{"device lists", &Graph{N: 1, Devices: [][]int{}}, "0 device lists for 1 nodes"},
		{"device twice", &Graph{N: 1, Devices: [][]int{{1, 1}}}, "lists device 1"},
		{"negative device", &Graph{N: 1, Devices: [][]int{{-1}}}, "lists device -1"},
		{"no device", &Graph{N: 1, Devices: [][]int{{}}}, "lists no device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Assign(c.graph, Optimal, Options{})
			assert.ErrorIs(t, err, ErrGraph)
			assert.ErrorContains(t, err, c.want)
		})
	}
	_, err := Assign(&Graph{}, 99, Options{})
	assert.ErrorContains(t, err, "unknown policy 99")
	_, err = Assign(&Graph{N: 1}, Single, Options{Budget: -1})
	assert.ErrorIs(t, err, ErrBudget)
	_, err = Assign(&Graph{N: 2, Devices: [][]int{{0}, {1}}}, Single, Options{Budget: 1})
	assert.ErrorIs(t, err, ErrBudget)
}

func TestEmptyGraph(t *testing.T) {
	for _, policy := range allPolicies {
		p := plan(t, &Graph{}, policy, Options{Budget: 1})
		assert.Zero(t, p.NumStreams)
		assert.Zero(t, p.Makespan)
	}
}

func TestNames(t *testing.T) {
	for _, p := range allPolicies {
		text, err := p.MarshalText()
		require.NoError(t, err)
		var back Policy
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, p, back)
	}
	for _, b := range []Backend{GPU, Mixed, CPU} {
		text, err := b.MarshalText()
		require.NoError(t, err)
		var back Backend
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, b, back)
	}
	assert.ErrorContains(t, new(Policy).UnmarshalText([]byte("fast")), `unknown policy "fast"`)
	assert.ErrorContains(t, new(Backend).UnmarshalText([]byte("tpu")), `unknown backend "tpu"`)
	assert.Equal(t, "reuse", Reuse.String())
	assert.Equal(t, "EdgeKind(77)", EdgeKind(77).String())
}

// TestPlanProperties checks every policy, with and without a budget, on graphs
// with everything in them.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawRichGraph(t, 24)
		policy := rapid.SampledFrom(allPolicies).Draw(t, "policy")
		o := Options{Budget: rapid.SampledFrom([]int{0, 3, 4, 6}).Draw(t, "budget")}
		p := plan(t, g, policy, o) // every edge happens before
		if o.Budget > 0 {
			require.LessOrEqual(t, p.NumStreams, o.Budget)
			require.Equal(t, p.NumStreams, p.Used())
		}

		again := plan(t, g, policy, o)
		require.Equal(t, p, again, "not deterministic")

		for i := range p.Waits { // no wait can be left out
			less := *p
			less.Waits = slices.Delete(slices.Clone(p.Waits), i, i+1)
			var edge *EdgeError
			require.ErrorAs(t, Verify(g, &less), &edge, "without wait %v", p.Waits[i])
		}

		position := make([]int, g.N)
		for i, v := range p.Order {
			position[v] = i
		}
		for _, w := range p.Waits { // nothing is waited for that was not recorded
			require.True(t, w.Distance > 0 || position[w.Producer] < position[w.Consumer])
			require.Contains(t, p.Signals, w.Producer)
		}
		for _, u := range p.Signals { // nothing is recorded for nobody
			require.True(t, slices.ContainsFunc(p.Waits, func(w Wait) bool { return w.Producer == u }))
		}
	})
}

// TestNoExtraOrder checks that without a budget the policies which promise it
// order nothing that the graph does not order.
func TestNoExtraOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawRichGraph(t, 24)
		g.Devices = nil
		for _, policy := range []Policy{Ranked, Optimal} {
			p := plan(t, g, policy, Options{})
			require.Equal(t, reach(g.N, orderingPairs(g)), reach(g.N, planned(p)), policy)
		}
	})
}

// TestRenumbering checks that other topological numbers give plans as good.
func TestRenumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 30)
		// A random topological order: repeatedly any node without producers left.
		missing := make([]int, g.N)
		for _, e := range g.Edges {
			missing[e.To]++
		}
		number := make([]int, g.N)
		done := make([]bool, g.N)
		for i := range g.N {
			var ready []int
			for v := range g.N {
				if !done[v] && missing[v] == 0 {
					ready = append(ready, v)
				}
			}
			v := rapid.SampledFrom(ready).Draw(t, "next")
			done[v], number[v] = true, i
			for _, e := range g.Edges {
				if e.From == v {
					missing[e.To]--
				}
			}
		}
		h := &Graph{N: g.N, Cmds: make([]int, g.N), Cost: make([]float64, g.N)}
		for v, i := range number {
			h.Cmds[i], h.Cost[i] = g.Cmds[v], g.Cost[v]
		}
		for _, e := range g.Edges {
			h.Edges = append(h.Edges, Edge{From: number[e.From], To: number[e.To]})
		}
		p, q := plan(t, g, Optimal, Options{}), plan(t, h, Optimal, Options{})
		require.Equal(t, p.NumStreams, q.NumStreams)
		require.Equal(t, len(p.Waits), len(q.Waits))
		require.Equal(t, len(p.Signals), len(q.Signals))
		require.InDelta(t, p.Makespan, q.Makespan, 1e-9)
	})
}
