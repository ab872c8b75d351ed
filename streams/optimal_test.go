package streams

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// score is what Optimal minimises, the first difference counting.
type score struct{ streams, waits, strangers, events int }

func (s score) less(o score) bool {
	if s.streams != o.streams {
		return s.streams < o.streams
	}
	if s.waits != o.waits {
		return s.waits < o.waits
	}
	if s.strangers != o.strangers {
		return s.strangers < o.strangers
	}
	return s.events < o.events
}

// scoreOf counts for an assignment to chains: strangers are neighbours on a
// stream with different commands. ok is false if a stream is no chain.
func scoreOf(g *Graph, r [][]bool, cover [][2]int, stream []int) (s score, ok bool) {
	last := map[int]int{}
	for v, k := range stream {
		if u, used := last[k]; used {
			if !r[u][v] {
				return s, false
			}
			if g.Cmds[u] != g.Cmds[v] {
				s.strangers++
			}
		}
		last[k] = v
	}
	s.streams = len(last)
	events := map[int]bool{}
	for _, e := range cover {
		if stream[e[0]] != stream[e[1]] {
			s.waits++
			events[e[0]] = true
		}
	}
	s.events = len(events)
	return s, true
}

// best tries all partitions of the nodes into chains.
func best(g *Graph) score {
	var edges [][2]int
	for _, e := range g.Edges {
		edges = append(edges, [2]int{e.From, e.To})
	}
	r := reach(g.N, edges)
	cover := covering(r)
	lowest := score{streams: g.N + 1}
	stream := make([]int, g.N)
	var try func(v, used int)
	try = func(v, used int) {
		if v == g.N {
			if s, ok := scoreOf(g, r, cover, stream); ok && s.less(lowest) {
				lowest = s
			}
			return
		}
		for k := range used + 1 {
			stream[v] = k
			try(v+1, max(used, k+1))
		}
	}
	try(0, 0)
	return lowest
}

func checkOptimal(t require.TestingT, g *Graph) {
	p := plan(t, g, Optimal, Options{})
	var edges [][2]int
	for _, e := range g.Edges {
		edges = append(edges, [2]int{e.From, e.To})
	}
	r := reach(g.N, edges)
	have, ok := scoreOf(g, r, covering(r), first(p))
	require.True(t, ok, "a stream orders independent nodes: %+v %v", g, first(p))
	require.Equal(t, have.waits, len(p.Waits), "%+v", g)
	require.Equal(t, have.events, len(p.Signals), "%+v", g)
	require.Equal(t, have.streams, p.NumStreams, "%+v", g)
	require.Equal(t, best(g), have, "%+v", g)
}

// TestOptimalExhaustively plans every graph of five nodes, with random commands,
// and compares with the best of all partitions into chains.
func TestOptimalExhaustively(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 6 {
		for mask := range 1 << (n * (n - 1) / 2) {
			g := &Graph{N: n, Cmds: make([]int, n)}
			bit := 0
			for v := range n {
				g.Cmds[v] = rng.IntN(3)
				for u := range v {
					if mask>>bit&1 != 0 {
						g.Edges = append(g.Edges, Edge{From: u, To: v})
					}
					bit++
				}
			}
			checkOptimal(t, g)
		}
	}
}

func TestOptimalOnSmallGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkOptimal(t, drawGraph(t, 8)) })
}

// TestOptimalOnLargerGraphs compares with a matching of the largest weight, all
// four goals in one number, found along longest augmenting paths.
func TestOptimalOnLargerGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 40)
		r := reach(g.N, orderingPairs(g))
		cover := covering(r)
		have, ok := scoreOf(g, r, cover, first(plan(t, g, Optimal, Options{})))
		require.True(t, ok)
		require.Equal(t, heaviest(g, r, cover), have)
	})
}

// heaviest returns the score of the best chains.
func heaviest(g *Graph, r [][]bool, cover [][2]int) score {
	n := g.N
	base := n + 1
	followers := make([]int, n)
	weight := make([][]int, n)
	for u := range n {
		weight[u] = make([]int, n)
		for v := range n {
			if r[u][v] {
				weight[u][v] = base * base * base
				if g.Cmds[u] == g.Cmds[v] {
					weight[u][v] += base
				}
			}
		}
	}
	for _, e := range cover {
		followers[e[0]]++
	}
	worst := score{streams: n, waits: len(cover)}
	for _, e := range cover {
		weight[e[0]][e[1]] += base * base
		if followers[e[0]] == 1 {
			weight[e[0]][e[1]]++
		}
	}
	for _, f := range followers {
		worst.events += min(f, 1)
	}
	total := heaviestMatching(weight)
	links := total / (base * base * base)
	worst.streams -= links
	worst.waits -= total / (base * base) % base
	worst.strangers = links - total/base%base
	worst.events -= total % base
	return worst
}

// heaviestMatching returns the largest total weight of a matching of rows with
// columns, where 0 is no link.
func heaviestMatching(weight [][]int) int {
	n := len(weight)
	row := slices.Repeat([]int{-1}, n) // per column
	matched := make([]bool, n)         // rows
	total := 0
	for {
		const never = -1 << 60
		gain := slices.Repeat([]int{never}, n) // of the best path that ends in a row
		through := slices.Repeat([]int{-1}, n) // per column: the row before it
		ends := slices.Repeat([]int{never}, n) // of the best path that ends in a column
		for u := range n {
			if !matched[u] {
				gain[u] = 0
			}
		}
		for changed := true; changed; {
			changed = false
			for u := range n {
				for v := range n {
					if weight[u][v] == 0 || row[v] == u || gain[u] == never || gain[u]+weight[u][v] <= ends[v] {
						continue
					}
					ends[v], through[v], changed = gain[u]+weight[u][v], u, true
					if x := row[v]; x >= 0 {
						gain[x] = ends[v] - weight[x][v]
					}
				}
			}
		}
		last := -1
		for v := range n {
			if row[v] < 0 && ends[v] > 0 && (last < 0 || ends[v] > ends[last]) {
				last = v
			}
		}
		if last < 0 {
			return total
		}
		total += ends[last]
		for v := last; v >= 0; {
			u := through[v]
			before := slices.Index(row, u)
			row[v] = u
			if before >= 0 {
				row[before] = -1
			}
			matched[u] = true
			v = before
		}
	}
}

// TestStreamsOrWaits has a graph on which the fewest streams and the fewest
// waits exclude each other: with a fourth stream five waits would do.
func TestStreamsOrWaits(t *testing.T) {
	g := &Graph{N: 10, Edges: DataEdges(0, 2, 0, 9, 1, 2, 2, 3, 2, 4, 3, 5, 4, 5, 5, 6, 5, 8, 7, 8, 7, 9)}
	p := plan(t, g, Optimal, Options{})
	assert.Equal(t, 3, p.NumStreams)
	assert.Len(t, p.Waits, 6)

	r := reach(g.N, orderingPairs(g))
	s, ok := scoreOf(&Graph{N: 10, Cmds: make([]int, 10)}, r, covering(r), []int{0, 1, 1, 1, 2, 1, 1, 3, 3, 0})
	assert.True(t, ok)
	assert.Equal(t, 4, s.streams)
	assert.Equal(t, 5, s.waits)
}

// TestOptimalShapes has the answers that are known without counting.
func TestOptimalShapes(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 200} {
		chain, fan := &Graph{N: n}, &Graph{N: n + 2}
		for v := 1; v < n; v++ {
			chain.Edges = append(chain.Edges, Edge{From: v - 1, To: v})
		}
		for v := 1; v <= n; v++ {
			fan.Edges = append(fan.Edges, Edge{From: 0, To: v}, Edge{From: v, To: n + 1})
		}
		for _, c := range []struct {
			name           string
			graph          *Graph
			streams, waits int
			makespan       float64
		}{
			{"chain", chain, 1, 0, float64(n)},
			{"independent", &Graph{N: n}, n, 0, 1},
			{"fan out and in", fan, n, 2 * (n - 1), 3},
		} {
			t.Run(fmt.Sprint(c.name, " ", n), func(t *testing.T) {
				p := plan(t, c.graph, Optimal, Options{})
				assert.Equal(t, c.streams, p.NumStreams)
				assert.Len(t, p.Waits, c.waits)
				assert.Equal(t, c.makespan, p.Makespan)
			})
		}
	}
}
