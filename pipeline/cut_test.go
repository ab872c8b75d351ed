package pipeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// crossing returns the shapes of what crosses a pipeline's cut.
func crossing(p *Pipeline) (specs []string) {
	for _, v := range p.compiled.Crossing() {
		specs = append(specs, p.compiled.Values()[v].Spec.String())
	}
	return specs
}

// TestCut checks what stands on either side, what crosses, and that samples are the same.
func TestCut(t *testing.T) {
	cut := func(g *Graph, v Value) Value {
		return g.AddCut(v, func(p *Op) *Op {
			n, ok := p.Detail.(int32)
			if !ok || n >= 100 {
				return nil
			}
			op := plusOp(p.Name+"+cut", n, p.Inputs)
			return &op
		})
	}
	for _, c := range []struct {
		name    string
		define  func(g *Graph, v Value)
		run     []string
		front   int // operators in front of the cut
		crosses int
		want    []int32 // of output "x"
	}{
		{"without a cut all is in front", func(g *Graph, v Value) {
			g.Output("x", plus(g, "b", 10, plus(g, "a", 1, v)))
		}, []string{"reader", "a+b"}, 2, 1, []int32{11, 12, 13}},

		{"nothing is fused across it", func(g *Graph, v Value) {
			a := cut(g, plus(g, "a", 100, v))
			g.Output("x", plus(g, "c", 10, plus(g, "b", 1, a)))
		}, []string{"reader", "a", "b+c"}, 2, 1, []int32{111, 112, 113}},

		{"it is fused with what is in front", func(g *Graph, v Value) {
			a := cut(g, plus(g, "b", 2, plus(g, "a", 1, v)))
			g.Output("x", plus(g, "c", 10, a))
		}, []string{"reader", "a+b+cut", "c"}, 2, 1, []int32{13, 14, 15}},

		{"not where others use that", func(g *Graph, v Value) {
			a := plus(g, "a", 1, v)
			g.Output("a", a)
			g.Output("x", plus(g, "c", 10, cut(g, a)))
		}, []string{"reader", "a", "c"}, 2, 1, []int32{11, 12, 13}},

		{"what was made beside it is not fused across it", func(g *Graph, v Value) {
			a := plus(g, "a", 1, v)
			b := cut(g, plus(g, "b", 2, v))
			g.Output("x", plus(g, "c", 10, a, b))
		}, []string{"reader", "a", "b+cut", "c"}, 3, 2, []int32{13, 15, 17}},

		{"right behind the reader", func(g *Graph, v Value) {
			g.Output("x", plus(g, "a", 1, cut(g, v)))
		}, []string{"reader", "a"}, 1, 1, []int32{1, 2, 3}},

		{"at the end", func(g *Graph, v Value) {
			g.Output("x", cut(g, plus(g, "a", 100, v)))
			g.Output("y", v)
		}, []string{"reader", "a"}, 2, 2, []int32{100, 101, 102}},

		{"what nobody needs behind it stays", func(g *Graph, v Value) {
			a := plus(g, "a", 1, v)
			b := plus(g, "b", 100, a, v)
			g.Output("x", plus(g, "c", 10, cut(g, b)))
		}, []string{"reader", "a+b", "c"}, 2, 1, []int32{111, 113, 115}},

		{"branches on both sides", func(g *Graph, v Value) {
			either := func(v Value) Value {
				return g.If(v, func() []Value { return []Value{plus(g, "yes", 1000, v)} }, func() []Value { return []Value{v} })[0]
			}
			g.Output("x", either(cut(g, either(v))))
		}, []string{"reader", "yes", "if", "if", "yes", "if", "if"}, 5, 1, []int32{0, 2001, 2002}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(Options{BatchSize: 3}, func(g *Graph) { c.define(g, g.Read(ReaderOptions{}, numbers{n: 3})[0]) })
			require.NoError(t, err)
			require.Equal(t, c.run, operators(p))
			require.Equal(t, c.front, p.compiled.Cut())
			require.Len(t, crossing(p), c.crosses)
			require.Equal(t, c.front < len(p.compiled.Nodes()), strings.Contains(p.String(), "remote_cut, crossed by int32"))
			require.Equal(t, c.want, values(t, p, "x"))
		})
	}
}

// sumKernel is New of an operator for whole batches that adds its inputs.
func sumKernel() (batchop.Kernel, error) {
	return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
		sum := datum.View[int32](out[0].Data)
		clear(sum)
		for _, t := range in {
			for i, x := range datum.View[int32](t.Data) {
				sum[i] += x
			}
		}
		return nil
	}), nil
}

// What operators for whole batches read crosses, too, and they stand behind every cut.
func TestCutAndWholeBatches(t *testing.T) {
	p, err := New(Options{BatchSize: 3}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 3})[0]
		a := plus(g, "a", 100, v)
		b := g.AddCut(plus(g, "b", 200, v), func(*Op) *Op { return nil })
		sum := g.AddBatch(BatchOp{Name: "sum", Inputs: []Value{a, plus(g, "c", 1, b)}, Outputs: []datum.Spec{{DType: datum.Int32}}, New: sumKernel})
		g.Output("x", sum[0])
	})
	require.NoError(t, err)
	require.Equal(t, 3, p.compiled.Cut())
	require.Len(t, crossing(p), 2)
	require.Equal(t, []int32{301, 303, 305}, values(t, p, "x"))
}

func TestCutIsInTheFingerprint(t *testing.T) {
	lines := func(define func(g *Graph, v Value) Value) string {
		p, err := New(Options{BatchSize: 1}, func(g *Graph) { g.Output("x", define(g, g.Read(ReaderOptions{}, numbers{n: 3})[0])) })
		require.NoError(t, err)
		return strings.Join(p.Fingerprint(), "\n")
	}
	none := func(*Op) *Op { return nil }
	without := lines(func(g *Graph, v Value) Value { return plus(g, "a", 1, v) })
	before := lines(func(g *Graph, v Value) Value { return plus(g, "a", 1, g.AddCut(v, none)) })
	behind := lines(func(g *Graph, v Value) Value { return g.AddCut(plus(g, "a", 1, v), none) })
	require.NotContains(t, without, "remote_cut")
	require.Contains(t, before, "v1 int32 scalar = remote_cut v0")
	require.Contains(t, behind, "v2 int32 scalar = remote_cut v1")
}

func TestCutRefuses(t *testing.T) {
	cut := func(g *Graph, v Value) Value { return g.AddCut(v, func(*Op) *Op { return nil }) }
	read := func(g *Graph, name string) Value { return g.Read(ReaderOptions{Name: name}, numbers{n: 3})[0] }
	for _, c := range []struct {
		name   string
		define func(g *Graph)
		want   string
	}{
		{"a second one", func(g *Graph) { g.Output("x", cut(g, plus(g, "a", 1, cut(g, read(g, "r"))))) },
			"pipeline: remote_cut: the definition has a cut already; one is possible"},
		{"a reader behind it", func(g *Graph) { g.Output("x", cut(g, read(g, "r"))); g.Output("y", read(g, "late")) },
			"pipeline: late: a reader cannot stand behind the cut (remote_cut), where no worker elsewhere reads; put it in front"},
		{"a mix behind it", func(g *Graph) {
			g.Output("x", cut(g, read(g, "r")))
			g.Mix(ReaderOptions{Name: "late"}, Mix{Weights: []int64{1}}, func() { read(g, "source") })
		}, "pipeline: late: a reader cannot stand behind the cut"},
		{"in a branch", func(g *Graph) {
			v := read(g, "r")
			g.Output("x", g.If(v, func() []Value { return []Value{cut(g, v)} }, func() []Value { return []Value{v} })[0])
		}, "pipeline: remote_cut: the cut cannot be in a branch or loop; put it before or behind"},
		{"in a loop", func(g *Graph) {
			v := read(g, "r")
			g.Output("x", g.While([]Value{v}, func(vs []Value) Value { return cut(g, vs[0]) }, func(vs []Value) []Value { return vs })[0])
		}, "pipeline: remote_cut: the cut cannot be in a branch or loop; put it before or behind"},
		{"in a mix", func(g *Graph) {
			g.Mix(ReaderOptions{}, Mix{Weights: []int64{1}}, func() { cut(g, read(g, "source")) })
		}, "pipeline: remote_cut: the cut cannot be in the definition of a mix; put it behind"},
		{"a result that is not used", func(g *Graph) { v := read(g, "r"); cut(g, v); g.Output("x", v) },
			"pipeline: remote_cut: no output needs what it returns; use that in place of its input"},
		{"no value", func(g *Graph) { g.Output("x", cut(g, Value{})) }, "pipeline: remote_cut: input 0 is missing"},
		{"a value for whole batches", func(g *Graph) {
			v := g.AddBatch(BatchOp{Name: "sum", Inputs: []Value{read(g, "r")}, Outputs: []datum.Spec{{DType: datum.Int32}}, New: sumKernel})[0]
			g.Output("x", cut(g, v))
		}, "pipeline: remote_cut: input 0 is made for whole batches; operators for single samples come before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(Options{BatchSize: 1}, c.define)
			require.ErrorContains(t, err, c.want)
			var build *BuildError
			require.ErrorAs(t, err, &build)
		})
	}
}
