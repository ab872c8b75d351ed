package streams

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReferencePlans(t *testing.T) {
	var ranked, bar, optimal struct{ streams, waits, signals int }
	for _, v := range readVectors(t, "streams.json") {
		g := v.graph()
		assert.Equal(t, v.PerOperator, first(plan(t, g, PerOperator, Options{})), v.Name)

		p := plan(t, g, Optimal, Options{})
		assert.Equal(t, v.Width, p.NumStreams, v.Name)
		assert.Len(t, p.Waits, v.MinWaits, v.Name)
		optimal.signals += len(p.Signals)

		p = plan(t, g, Ranked, Options{})
		ranked.streams += p.NumStreams
		ranked.waits += len(p.Waits)
		ranked.signals += len(p.Signals)
		bar.streams += v.Ranked.Streams
		bar.waits += v.Ranked.Waits
		bar.signals += v.Ranked.Signals
	}
	t.Logf("ranked: %+v, libnnc as documented: %+v; optimal: %d events", ranked, bar, optimal.signals)
	assert.LessOrEqual(t, ranked.streams, bar.streams)
	assert.LessOrEqual(t, ranked.waits, bar.waits)
	assert.LessOrEqual(t, ranked.signals, bar.signals)
}

func TestReferenceBackends(t *testing.T) {
	for _, v := range readVectors(t, "streams_backends.json") {
		g := v.graph()
		assert.Equal(t, v.Single, first(plan(t, g, Single, Options{})), v.Name)
		assert.Equal(t, v.PerBackend, first(plan(t, g, PerBackend, Options{})), v.Name)
		assert.Equal(t, v.PerOperator, first(plan(t, g, PerOperator, Options{})), v.Name)
		plan(t, g, Ranked, Options{})
		plan(t, g, Optimal, Options{})
	}
}

// TestReferenceBudgets compares makespans with the lower bound that any plan
// within the budget has: the critical path, and the work per stream.
func TestReferenceBudgets(t *testing.T) {
	for _, c := range []struct {
		budget         int
		known, unknown float64 // bars, for costs that the planner knows and for ones it does not
	}{{2, 1.07, 1.18}, {3, 1.06, 1.22}, {4, 1.04, 1.18}} {
		known, unknown, waits, graphs := 0.0, 0.0, 0, 0
		for _, v := range readVectors(t, "streams.json")[:200] { // the random ones
			if v.Width <= c.budget {
				continue
			}
			g := v.graph()
			work, path := 0.0, 0.0
			end := make([]float64, g.N)
			for _, e := range g.Edges { // sorted by producer
				end[e.To] = max(end[e.To], end[e.From]+g.Cost[e.From])
			}
			for u := range g.N {
				work += g.Cost[u]
				path = max(path, end[u]+g.Cost[u])
			}
			bound := max(path, work/float64(c.budget))
			p := plan(t, g, Optimal, Options{Budget: c.budget})
			assert.LessOrEqual(t, p.NumStreams, c.budget)
			known += p.Makespan / bound
			waits += len(p.Waits)

			blind := *g
			blind.Cost = nil
			p = plan(t, &blind, Optimal, Options{Budget: c.budget})
			_, finish := p.timeline(func(v int) float64 { return g.Cost[v] })
			latest := 0.0
			for _, at := range finish {
				latest = max(latest, at)
			}
			unknown += latest / bound
			graphs++
		}
		known, unknown = known/float64(graphs), unknown/float64(graphs)
		t.Logf("budget %d, %d graphs: %.4f of the lower bound, %.4f with unknown costs, %d waits", c.budget, graphs, known, unknown, waits)
		assert.LessOrEqual(t, known, c.known)
		assert.LessOrEqual(t, unknown, c.unknown)
	}
}
