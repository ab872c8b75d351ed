package streams

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchGraph is a layered graph like those of image pipelines and networks: up
// to 6 nodes a layer, each with up to 3 inputs, some of them from far back.
func benchGraph(n, commands int) *Graph {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	g := &Graph{N: n}
	var before, layer []int
	for v := 0; v < n; {
		layer = layer[:0]
		for range 1 + rng.IntN(6) {
			if v == n {
				break
			}
			for i := range before {
				if i < 3 {
					g.Edges = append(g.Edges, Edge{From: before[rng.IntN(len(before))], To: v})
				}
			}
			if v > 0 && rng.IntN(6) == 0 {
				g.Edges = append(g.Edges, Edge{From: rng.IntN(v), To: v})
			}
			layer = append(layer, v)
			v++
		}
		before, layer = layer, before
	}
	for i := range g.Edges { // same-layer picks of the far edges would point nowhere new
		if g.Edges[i].From >= g.Edges[i].To {
			g.Edges[i].From = g.Edges[i].To - 1
		}
	}
	for range n {
		g.Cmds = append(g.Cmds, rng.IntN(commands))
		g.Cost = append(g.Cost, float64(1+rng.IntN(5)))
	}
	return g
}

// sparseGraph is a random graph of two edges per node, which is as wide as a
// third of its size.
func sparseGraph(n, commands int) *Graph {
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	g := &Graph{N: n}
	for v := 1; v < n; v++ {
		for range rng.IntN(4) {
			g.Edges = append(g.Edges, Edge{From: rng.IntN(v), To: v})
		}
	}
	for range n {
		g.Cmds = append(g.Cmds, rng.IntN(commands))
		g.Cost = append(g.Cost, float64(1+rng.IntN(5)))
	}
	return g
}

func BenchmarkAssign(b *testing.B) {
	for _, n := range []int{60, 1000, 4000} {
		for _, kind := range []struct {
			name  string
			graph func(n, commands int) *Graph
		}{{"layered", benchGraph}, {"sparse", sparseGraph}} {
			for _, c := range []struct {
				name     string
				policy   Policy
				commands int
				budget   int
			}{
				{"per-operator", PerOperator, 5, 0},
				{"ranked", Ranked, 5, 0},
				{"optimal", Optimal, 1, 0},
				{"optimal-5-commands", Optimal, 5, 0},
				{"budget-4", Optimal, 5, 4},
			} {
				g := kind.graph(n, c.commands)
				b.Run(fmt.Sprintf("%s/%d/%s", c.name, n, kind.name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						_, err := Assign(g, c.policy, Options{Budget: c.budget})
						require.NoError(b, err)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
				})
			}
		}
	}
}
