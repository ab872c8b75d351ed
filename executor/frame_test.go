package executor

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// An iteration whose nodes wait for a variable that does not go on is over at
// once, and what would have left the loop is dead, however many iterations may
// run at once.
func TestIterationThatCannotStart(t *testing.T) {
	for parallel := 1; parallel <= 3; parallel++ {
		g := NewGraph()
		loop := &LoopSpec{Name: "loop", Parallel: parallel}
		i := g.Merge("i", g.Enter("i0", loop, g.num(0)))
		s := g.Merge("s", g.Enter("s0", loop, g.num(0)))
		g.After(i, g.Identity("stays", s.Out(0)).Node())
		cond := g.LoopCond("cond", g.less(i.Out(0), g.EnterConstant("n", loop, g.num(3))))
		done, on := g.Switch("switch", i.Out(0), cond)
		g.Connect(i, g.NextIteration("next", g.plus(on, 1)))
		g.Output("out", g.Exit("exit", done))
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 1})
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			out := make([]Value, 1)
			st, err := runInOrder(x, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") }, out...)
			require.ErrorIs(t, err, ErrNoValue, "%d at once", parallel)
			audit(t, st)
		})
		require.NoError(t, x.Close())
	}
}

// A frame that nothing leaves, or that nothing in it reads, ends like any other.
func TestFramesWithoutExits(t *testing.T) {
	for _, w := range workers {
		var ran atomic.Int64
		count := Op{Expensive: true, Run: func(context.Context, *Call) error { ran.Add(1); return nil }}
		g := NewGraph()
		out := g.While(LoopSpec{Name: "outer", Parallel: 2}, []Output{g.num(0)}, g.upTo(0, 5), func(v []Output) []Output {
			g.Enter("unread", &LoopSpec{Name: "empty"}, v[0])
			inner := &LoopSpec{Name: "inner"}
			g.Add("count", count, g.Enter("once", inner, v[0]), g.EnterConstant("again", inner, v[0]))
			return []Output{g.plus(v[0], 1)}
		})
		g.Output("n", out[0])
		x := newExecutor(t, g, Options{Workers: w})
		for range 3 {
			ran.Store(0)
			got := make([]Value, 1)
			require.NoError(t, x.Run(t.Context(), Args{Out: got}))
			require.EqualValues(t, 5, got[0].Int())
			require.EqualValues(t, 5, ran.Load())
		}
	}
}

// What a control-flow node cannot make sense of fails it.
func TestControlFlowMistakes(t *testing.T) {
	fails := func(build func(g *Graph)) error {
		g := NewGraph()
		build(g)
		return newExecutor(t, g, Options{}).Run(t.Context(), Args{})
	}
	var te *TypeError
	require.ErrorAs(t, fails(func(g *Graph) { g.LoopCond("cond", g.num(1)) }), &te)
	require.Equal(t, "an int", te.Got)
	require.ErrorAs(t, fails(func(g *Graph) { g.Switch("switch", g.num(1), g.Const("", Float(1))) }), &te)
	require.Equal(t, "a float", te.Got)

	err := fails(func(g *Graph) { // an Exit that is live in every iteration
		loop := &LoopSpec{Name: "loop"}
		i := g.Merge("i", g.Enter("i0", loop, g.num(0)))
		g.Exit("exit", i.Out(0))
		_, on := g.Switch("switch", i.Out(0), g.LoopCond("cond", g.less(i.Out(0), g.EnterConstant("n", loop, g.num(3)))))
		g.Connect(i, g.NextIteration("next", g.plus(on, 1)))
	})
	require.ErrorIs(t, err, ErrTwoValues)
	var ne *NodeError
	require.ErrorAs(t, err, &ne)
	require.Equal(t, NodeError{Node: "exit", Frame: "loop", Iteration: 1, Err: ErrTwoValues}, *ne)
}
