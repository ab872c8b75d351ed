package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// TestCuttable checks where a cut is advised, and for how many bytes of a row.
func TestCuttable(t *testing.T) {
	sized := func(g *Graph, name string, shape []int, in ...Value) Value {
		return g.Add(Op{
			Name: name, Inputs: in, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: shape}}, New: add("", 0).New,
		})[0]
	}
	decoded := func(g *Graph, v Value) Value {
		op := Op{Name: "decode", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}, New: add("", 0).New, Expensive: true}
		return g.Add(op)[0]
	}
	for _, c := range []struct {
		name   string
		define func(g *Graph, v Value)
		want   stats.Cut
	}{
		{"before a picture becomes floats", func(g *Graph, v Value) {
			small := sized(g, "resize", []int{100}, decoded(g, v))
			mirror := sized(g, "coin", []int{4})
			g.Output("x", sized(g, "normalize", []int{400}, small, mirror))
			g.Output("label", v)
		}, stats.Cut{Before: "normalize", Bytes: 108}},

		{"the last such place", func(g *Graph, v Value) {
			small := sized(g, "resize", []int{100}, decoded(g, v))
			g.Output("x", sized(g, "normalize", []int{400}, sized(g, "blur", []int{100}, small)))
		}, stats.Cut{Before: "normalize", Bytes: 100}},

		{"less than half is not worth it", func(g *Graph, v Value) {
			g.Output("x", sized(g, "pad", []int{199}, sized(g, "resize", []int{100}, decoded(g, v))))
		}, stats.Cut{}},

		{"workers must have work", func(g *Graph, v Value) {
			g.Output("x", sized(g, "resize", []int{100}, decoded(g, v)))
		}, stats.Cut{}},

		{"not before a reader", func(g *Graph, v Value) {
			small := sized(g, "resize", []int{100}, decoded(g, v))
			wide := sized(g, "normalize", []int{400}, small)
			g.Output("label", g.Read(ReaderOptions{Name: "labels", Follow: "reader"}, numbers{n: 3})[0])
			g.Output("x", wide)
		}, stats.Cut{}},

		{"nor have results that differ", func(g *Graph, v Value) { g.Output("x", decoded(g, v)) }, stats.Cut{}},

		{"not where there is one", func(g *Graph, v Value) {
			small := g.AddCut(sized(g, "resize", []int{100}, decoded(g, v)), func(*Op) *Op { return nil })
			g.Output("x", sized(g, "normalize", []int{400}, small))
		}, stats.Cut{}},

		{"operators for whole batches stand behind every cut", func(g *Graph, v Value) {
			small := sized(g, "resize", []int{100}, decoded(g, v))
			b := g.AddBatch(BatchOp{Name: "batch", Inputs: []Value{small}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{900}}}, New: sumKernel})
			g.Output("x", b[0])
			g.Output("y", sized(g, "wide", []int{400}, small))
		}, stats.Cut{Before: "wide", Bytes: 100}},

		{"not within a branch", func(g *Graph, v Value) {
			small := sized(g, "resize", []int{100}, decoded(g, v))
			g.Output("x", g.If(v, func() []Value { return []Value{sized(g, "wide", []int{400}, small)} },
				func() []Value { return []Value{sized(g, "wide too", []int{400}, small)} })[0])
		}, stats.Cut{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(Options{BatchSize: 3}, func(g *Graph) { c.define(g, g.Read(ReaderOptions{}, numbers{n: 3})[0]) })
			require.NoError(t, err)
			require.Equal(t, c.want, p.compiled.Cuttable())
		})
	}
}
