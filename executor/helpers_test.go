package executor

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Arithmetic stand-ins for kernels.

func binary(f func(a, b int64) int64) Op {
	return Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(f(c.In(0).Int(), c.In(1).Int())))
		return nil
	}}
}

func unary(f func(a int64) int64) Op {
	return Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(f(c.In(0).Int())))
		return nil
	}}
}

func (g *Graph) op2(f func(a, b int64) int64, a, b Output) Output {
	return g.Add("", binary(f), a, b).Out(0)
}

func (g *Graph) op1(f func(a int64) int64, a Output) Output {
	return g.Add("", unary(f), a).Out(0)
}

func (g *Graph) add2(a, b Output) Output {
	return g.op2(func(a, b int64) int64 { return a + b }, a, b)
}

func (g *Graph) mul(a, b Output) Output {
	return g.op2(func(a, b int64) int64 { return a * b }, a, b)
}

func (g *Graph) plus(a Output, n int64) Output {
	return g.op1(func(a int64) int64 { return a + n }, a)
}

func (g *Graph) times(a Output, n int64) Output {
	return g.op1(func(a int64) int64 { return a * n }, a)
}

// less adds a < b.
func (g *Graph) less(a, b Output) Output {
	return g.Add("", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Bool(c.In(0).Int() < c.In(1).Int()))
		return nil
	}}, a, b).Out(0)
}

// test adds f(a).
func (g *Graph) test(f func(int64) bool, a Output) Output {
	return g.Add("", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Bool(f(c.In(0).Int())))
		return nil
	}}, a).Out(0)
}

func (g *Graph) num(n int64) Output { return g.Const("", Int(n)) }

func newExecutor(t testing.TB, g *Graph, o Options) *Executor {
	t.Helper()
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// workers are the numbers of goroutines that results must not depend on.
var workers = []int{1, 2, 4}

// eval runs the graph that build describes with every number of workers, twice,
// and returns the outputs, which must be the same each time.
func eval(t *testing.T, build func(g *Graph) []Output) []Value {
	t.Helper()
	var first []Value
	for _, w := range workers {
		g := NewGraph()
		for i, o := range build(g) {
			g.Output(fmt.Sprintf("out%d", i), o)
		}
		x := newExecutor(t, g, Options{Workers: w})
		for range 2 {
			out := make([]Value, len(x.Program().Outputs()))
			require.NoError(t, x.Run(context.Background(), Args{Out: out}))
			if first == nil {
				first = out
			}
			require.Equal(t, first, out, "with %d workers", w)
		}
	}
	return first
}
