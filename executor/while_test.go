package executor

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// one evaluates the single output of a graph of integers.
func one(t *testing.T, build func(g *Graph) Output) int64 {
	t.Helper()
	return eval(t, func(g *Graph) []Output { return []Output{build(g)} })[0].Int()
}

func all(t *testing.T, build func(g *Graph) []Output) (got []int64) {
	t.Helper()
	for _, v := range eval(t, build) {
		got = append(got, v.Int())
	}
	return got
}

// upTo returns a condition: variable i is below n.
func (g *Graph) upTo(i int, n int64) func([]Output) Output {
	return func(v []Output) Output { return g.less(v[i], g.num(n)) }
}

// The while_loop cases of TensorFlow's control_flow_ops tests, with integers
// for tensors.
func TestWhile(t *testing.T) {
	count := func(n int64, parallel int) func(g *Graph) Output {
		return func(g *Graph) Output {
			return g.While(LoopSpec{Parallel: parallel}, []Output{g.num(0)}, g.upTo(0, n),
				func(v []Output) []Output { return []Output{g.plus(v[0], 1)} })[0]
		}
	}
	for _, c := range []struct {
		name  string
		want  int64
		build func(g *Graph) Output
	}{
		{"count", 10000, count(10000, 20)},
		{"one iteration at a time", 1000, count(1000, 1)},
		{"two at a time", 1000, count(1000, 2)},
		{"no iteration", 0, count(0, 10)},
		{"sum", 45, func(g *Graph) Output {
			return g.While(LoopSpec{}, []Output{g.num(0), g.num(0)}, g.upTo(0, 10),
				func(v []Output) []Output { return []Output{g.plus(v[0], 1), g.add2(v[1], v[0])} })[1]
		}},
		{"four variables", 10100, func(g *Graph) Output {
			zero := g.num(0)
			return g.While(LoopSpec{Parallel: 10}, []Output{zero, zero, zero, zero}, g.upTo(0, 100),
				func(v []Output) []Output {
					m, c := g.plus(v[1], 1), g.plus(v[2], 1)
					return []Output{g.plus(v[0], 1), m, c, g.add2(v[3], g.add2(m, c))}
				})[3]
		}},
		{"indexed by a captured value", 42, func(g *Graph) Output {
			x := g.Const("x", Ref([]int64{1, 2, 3, 4, 5, 6}))
			return g.While(LoopSpec{}, []Output{g.num(0), g.num(0)}, g.upTo(0, 6),
				func(v []Output) []Output {
					at := g.Add("at", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
						c.Set(0, Int(2*c.In(0).Ref().([]int64)[c.In(1).Int()]))
						return nil
					}}, x, v[0]).Out(0)
					return []Output{g.plus(v[0], 1), g.add2(v[1], at)}
				})[1]
		}},
		{"nested", 225, func(g *Graph) Output {
			return g.While(LoopSpec{Name: "outer"}, []Output{g.num(0)}, g.upTo(0, 200),
				func(v []Output) []Output {
					inner := g.While(LoopSpec{Name: "inner"}, []Output{g.num(0), v[0]}, g.upTo(0, 10),
						func(w []Output) []Output { return []Output{g.plus(w[0], 1), g.add2(w[1], w[0])} })
					return inner[1:]
				})[0]
		}},
		{"nested, one at a time", 1048576, func(g *Graph) Output {
			return g.While(LoopSpec{Name: "outer", Parallel: 1}, []Output{g.num(2)}, g.upTo(0, 3000),
				func(v []Output) []Output {
					doubled := g.While(LoopSpec{Name: "inner", Parallel: 1}, v, g.upTo(0, 20),
						func(w []Output) []Output { return []Output{g.times(w[0], 2)} })[0]
					return []Output{g.mul(doubled, doubled)}
				})[0]
		}},
		{"body depends on a control edge only", 12, func(g *Graph) Output {
			// The next value is a constant that waits for the variable.
			return g.While(LoopSpec{Parallel: 1}, []Output{g.num(0)}, g.upTo(0, 10),
				func(v []Output) []Output {
					twelve := g.Const("twelve", Int(12))
					g.After(twelve.Node(), v[0].Node())
					return []Output{twelve}
				})[0]
		}},
		{"body is a captured value", 12, func(g *Graph) Output {
			twelve := g.num(12)
			return g.While(LoopSpec{}, []Output{g.num(0)}, g.upTo(0, 10),
				func([]Output) []Output { return []Output{twelve} })[0]
		}},
		{"loop waits for a node", 10, func(g *Graph) Output {
			before := g.NoOp("before")
			zero := g.num(0)
			g.After(zero.Node(), before)
			return g.While(LoopSpec{}, []Output{zero}, g.upTo(0, 10),
				func(v []Output) []Output {
					next := g.plus(v[0], 1)
					g.After(next.Node(), before) // an edge into the frame
					return []Output{next}
				})[0]
		}},
		{"if inside", 10, func(g *Graph) Output {
			step := g.num(1)
			return g.While(LoopSpec{}, []Output{g.num(0)}, g.upTo(0, 10),
				func(v []Output) []Output {
					odd := g.test(func(a int64) bool { return a%2 == 1 }, v[0])
					return g.If("step", odd, func() []Output { return []Output{g.plus(v[0], 1)} },
						func() []Output { return []Output{g.add2(v[0], step)} })
				})[0]
		}},
		{"if in predicate and body", 0, func(g *Graph) Output {
			positive := func(o Output) Output { return g.test(func(a int64) bool { return a > 0 }, o) }
			return g.While(LoopSpec{}, []Output{g.num(5)},
				func(v []Output) Output {
					same := func() []Output { return []Output{g.plus(v[0], 0)} }
					return positive(g.If("in-cond", positive(v[0]), same, same)[0])
				},
				func(v []Output) []Output {
					return g.If("in-body", positive(v[0]), func() []Output { return []Output{g.plus(v[0], -1)} },
						func() []Output { return []Output{v[0]} })
				})[0]
		}},
		{"squares by a branch", 65536, func(g *Graph) Output {
			return g.While(LoopSpec{}, []Output{g.num(0), g.num(2)}, g.upTo(0, 4),
				func(v []Output) []Output {
					yes := g.test(func(int64) bool { return true }, v[0])
					sq := g.If("", yes, func() []Output { return []Output{g.mul(v[1], v[1])} }, func() []Output { return []Output{v[1]} })
					return []Output{g.plus(v[0], 1), sq[0]}
				})[1]
		}},
		{"0.34·1.11^5 in hundredths", 34 * 111 * 111 * 111 * 111 * 111, func(g *Graph) Output {
			y := g.num(111)
			z := g.While(LoopSpec{}, []Output{g.num(0), g.num(1)}, g.upTo(0, 5),
				func(v []Output) []Output { return []Output{g.plus(v[0], 1), g.mul(y, v[1])} })[1]
			return g.mul(g.num(34), z)
		}},
		{"three variables with shifted dependencies", 6, func(g *Graph) Output {
			// x0←x1, x1←x2, x2←x0+x1: 1,2,3 → 2,3,3 → 3,3,5 → 3,5,6
			return g.While(LoopSpec{}, []Output{g.num(0), g.num(1), g.num(2), g.num(3)}, g.upTo(0, 3),
				func(v []Output) []Output {
					return []Output{g.plus(v[0], 1), v[2], v[3], g.add2(v[1], v[2])}
				})[3]
		}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, one(t, c.build)) })
	}
}

func TestWhileInsideIf(t *testing.T) {
	build := func(pred bool, loopIfTrue bool) func(g *Graph) Output {
		return func(g *Graph) Output {
			n := g.num(0)
			loop := func() []Output {
				return g.While(LoopSpec{Name: "loop"}, []Output{n}, g.upTo(0, 10),
					func(v []Output) []Output { return []Output{g.plus(v[0], 1)} })
			}
			double := func() []Output { return []Output{g.times(n, 2)} }
			p := g.Const("pred", Bool(pred))
			if loopIfTrue {
				return g.If("if", p, loop, double)[0]
			}
			return g.If("if", p, double, loop)[0]
		}
	}
	require.EqualValues(t, 10, one(t, build(true, true)))
	require.EqualValues(t, 10, one(t, build(false, false)))
	require.EqualValues(t, 0, one(t, build(false, true)))
	require.EqualValues(t, 0, one(t, build(true, false)))
}

// An effect in a branch that was not taken does not happen, and one in a loop
// happens once per iteration, whatever its inputs.
func TestEffects(t *testing.T) {
	effect := func(n *atomic.Int64) Op {
		return Op{Run: func(context.Context, *Call) error { n.Add(1); return nil }}
	}
	t.Run("branch", func(t *testing.T) {
		for _, taken := range []bool{true, false} {
			var yes, no atomic.Int64
			g := NewGraph()
			g.If("if", g.Const("pred", Bool(taken)),
				func() []Output { g.Add("yes", effect(&yes)); return nil },
				func() []Output { g.Add("no", effect(&no)); return nil })
			require.NoError(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{}))
			require.Equal(t, taken, yes.Load() == 1)
			require.Equal(t, !taken, no.Load() == 1)
		}
	})
	t.Run("loop", func(t *testing.T) {
		var none, captured, outside atomic.Int64
		g := NewGraph()
		x := g.Const("x", Int(1))
		before := g.Add("outside", effect(&outside))
		out := g.While(LoopSpec{Name: "loop"}, []Output{g.num(0)}, g.upTo(0, 7), func(v []Output) []Output {
			g.Add("none", effect(&none))
			g.After(g.Add("captured", effect(&captured), x), before)
			return []Output{g.plus(v[0], 1)}
		})
		g.Output("n", out[0])
		require.NoError(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{}))
		require.EqualValues(t, 7, none.Load())
		require.EqualValues(t, 7, captured.Load())
		require.EqualValues(t, 1, outside.Load())
	})
	t.Run("control edges from around a loop and a branch", func(t *testing.T) {
		var first, second, third atomic.Int64
		g := NewGraph()
		before := g.NoOp("before")
		out := g.While(LoopSpec{Name: "loop"}, []Output{g.num(0)}, g.upTo(0, 5), func(v []Output) []Output {
			a := g.Add("first", effect(&first))
			g.After(a, before)
			op := effect(&second)
			op.After = []*Node{before, a}
			b := g.Add("second", op)
			odd := g.test(func(n int64) bool { return n%2 == 1 }, v[0])
			g.If("if", odd, func() []Output { g.After(g.Add("third", effect(&third)), before, b); return nil }, func() []Output { return nil })
			return []Output{g.plus(v[0], 1)}
		})
		g.Output("n", out[0])
		require.NoError(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{}))
		require.EqualValues(t, 5, first.Load())
		require.EqualValues(t, 5, second.Load())
		require.EqualValues(t, 2, third.Load())
	})
	t.Run("with values of the condition", func(t *testing.T) {
		// They are there in the last iteration as well, which has no body.
		var data, control, nested, branch, merged atomic.Int64
		g := NewGraph()
		var half, less, start Output
		ten := g.num(10)
		out := g.While(LoopSpec{Name: "loop"}, []Output{g.num(0), g.num(0)}, func(v []Output) Output {
			start, half = v[0], g.op1(func(n int64) int64 { return n / 2 }, v[0])
			less = g.less(v[0], g.num(6))
			return less
		}, func(v []Output) []Output {
			g.Add("data", effect(&data), half, start)
			op := effect(&control)
			op.After = []*Node{half.Node()}
			g.Add("control", op)
			g.Add("merged", effect(&merged), g.Merge("merge", half).Out(0), g.Merge("constant", ten).Out(0))
			g.While(LoopSpec{Name: "inner"}, []Output{half}, func(w []Output) Output { return g.less(w[0], g.plus(half, 1)) }, func(w []Output) []Output {
				g.Add("nested", effect(&nested))
				return []Output{g.plus(w[0], 1)}
			})
			g.If("if", less, func() []Output { g.Add("branch", effect(&branch), half); return nil },
				func() []Output { g.Add("other branch", effect(&branch), half); return nil })
			return []Output{g.plus(v[0], 1), half}
		})
		g.Output("n", out[0])
		g.Output("half", out[1])
		got := make([]Value, 2)
		require.NoError(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{Out: got}))
		require.Equal(t, []Value{Int(6), Int(2)}, got)
		require.EqualValues(t, 6, data.Load())
		require.EqualValues(t, 6, control.Load())
		require.EqualValues(t, 6, nested.Load())
		require.EqualValues(t, 6, branch.Load())
		require.EqualValues(t, 6, merged.Load())
	})
	t.Run("nested loop in the last, empty iteration", func(t *testing.T) {
		// The inner loop starts from captured values only; it must run three
		// times, not four.
		var n atomic.Int64
		g := NewGraph()
		zero := g.num(0)
		out := g.While(LoopSpec{Name: "outer"}, []Output{zero}, g.upTo(0, 3), func(v []Output) []Output {
			g.While(LoopSpec{Name: "inner"}, []Output{zero}, g.upTo(0, 2), func(w []Output) []Output {
				g.Add("effect", effect(&n))
				return []Output{g.plus(w[0], 1)}
			})
			return []Output{g.plus(v[0], 1)}
		})
		g.Output("n", out[0])
		require.NoError(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{}))
		require.EqualValues(t, 6, n.Load())
	})
}

// A queue that a loop fills one iteration at a time is in iteration order.
func TestWhileSerialBody(t *testing.T) {
	var queue []int64
	g := NewGraph()
	out := g.While(LoopSpec{Name: "fill", Parallel: 1}, []Output{g.num(0)}, g.upTo(0, 10), func(v []Output) []Output {
		g.Add("enqueue", Op{Order: Serial, Run: func(_ context.Context, c *Call) error {
			queue = append(queue, c.In(0).Int())
			return nil
		}}, v[0])
		return []Output{g.plus(v[0], 1)}
	})
	g.Output("n", out[0])
	require.NoError(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{}))
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, queue)
}

// NNC's case..of: piecewise functions, alone and inside a loop.
func TestCase(t *testing.T) {
	selector := func(x float64) int64 {
		switch {
		case x < 0:
			return 0
		case x < 1:
			return -1
		case x < 2:
			return 1
		case x > 1000:
			return 3
		}
		return 2
	}
	float := func(g *Graph, f func(float64) float64) func([]Output) []Output {
		return func(v []Output) []Output {
			return []Output{g.Add("", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
				c.Set(0, Float(f(c.In(0).Float())))
				return nil
			}}, v[0]).Out(0)}
		}
	}
	piecewise := func(g *Graph, x Output, fs ...func(float64) float64) Output {
		sel := g.Add("", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Int(selector(c.In(0).Float())))
			return nil
		}}, x).Out(0)
		var branches []func([]Output) []Output
		for _, f := range fs {
			branches = append(branches, float(g, f))
		}
		return g.Case("", sel, []Output{x}, branches...)[0]
	}
	three := []func(float64) float64{
		func(float64) float64 { return 0 },
		func(x float64) float64 { return x*.5 + .5 },
		func(float64) float64 { return 1.5 },
		func(x float64) float64 { return x * 1.1 },
	}
	four := []func(float64) float64{
		math.Exp, math.Log,
		func(x float64) float64 { return 1 / x },
		func(x float64) float64 { return x * 1.1 },
	}
	for _, c := range []struct {
		fs      []func(float64) float64
		x, want float64
	}{
		{three, -1, 0}, {three, .76, .76}, {three, 1.226, 1.113}, {three, 2.1, 1.5},
		{four, -2.2, math.Exp(-2.2)}, {four, 1.1, math.Log(1.1)}, {four, .9, .9}, {four, 2.2, 1 / 2.2}, {four, 1001, 1101.1},
	} {
		got := eval(t, func(g *Graph) []Output {
			return []Output{piecewise(g, g.Const("x", Float(c.x)), c.fs...)}
		})[0].Float()
		require.InDelta(t, c.want, got, 1e-9, "x = %v", c.x)
	}

	t.Run("inside a loop", func(t *testing.T) {
		for _, c := range []struct{ x, want float64 }{
			{1.226, (1 + .226*.0625) * .3}, {.8, .24},
		} {
			got := eval(t, func(g *Graph) []Output {
				v := g.While(LoopSpec{}, []Output{g.num(0), g.Const("x", Float(c.x))}, g.upTo(0, 4),
					func(v []Output) []Output {
						return []Output{g.plus(v[0], 1), piecewise(g, v[1], three...)}
					})[1]
				return float(g, func(x float64) float64 { return x * .3 })([]Output{v})
			})[0].Float()
			require.InDelta(t, c.want, got, 1e-9)
		}
	})

	t.Run("no such branch", func(t *testing.T) {
		for _, sel := range []int64{-2, 1, 2} {
			g := NewGraph()
			out := g.Case("case", g.num(sel), []Output{g.num(1)}, func(v []Output) []Output { return v })
			g.Output("out", out[0])
			err := newExecutor(t, g, Options{}).Run(t.Context(), Args{Out: make([]Value, 1)})
			require.ErrorIs(t, err, ErrSelector)
		}
	})
}

// The cond cases of TensorFlow's control_flow_ops tests.
func TestIf(t *testing.T) {
	cond := func(g *Graph, pred bool, x Output) Output {
		return g.If("", g.Const("", Bool(pred)), func() []Output { return []Output{g.plus(x, 1)} },
			func() []Output { return []Output{g.plus(x, -1)} })[0]
	}
	require.EqualValues(t, 11, one(t, func(g *Graph) Output { return cond(g, true, g.num(10)) }))
	require.EqualValues(t, 9, one(t, func(g *Graph) Output { return cond(g, false, g.num(10)) }))
	require.EqualValues(t, 12, one(t, func(g *Graph) Output {
		x := g.num(10)
		return g.If("", g.Const("", Bool(true)), func() []Output { return []Output{g.plus(cond(g, true, x), 1)} },
			func() []Output { return []Output{x} })[0]
	}), "nested")
	require.EqualValues(t, 4, one(t, func(g *Graph) Output {
		alive, count := g.Const("", Bool(true)), g.num(0)
		for i := range int64(10) {
			out := g.If("", alive, func() []Output {
				return []Output{g.test(func(n int64) bool { return n < 3 && i < 10 }, count), g.plus(count, 1)}
			}, func() []Output { return []Output{alive, count} })
			alive, count = out[0], out[1]
		}
		return count
	}), "ten in a row")
	require.Equal(t, []int64{11, 12}, all(t, func(g *Graph) []Output {
		x := g.num(10)
		return g.If("", g.Const("", Bool(true)), func() []Output { return []Output{g.plus(x, 1), g.plus(x, 2)} },
			func() []Output { return []Output{x, x} })
	}), "two outputs")
}

// A carried tensor that doubles its sides twice: the sizes of buffers are those
// of the iteration, and nothing is left allocated.
func TestWhileGrowingShape(t *testing.T) {
	for _, w := range workers {
		mem := new(countingAllocator)
		g := NewGraph()
		start := g.Add("ones", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
			b, err := c.Alloc(0, 4) // 2×2
			if err == nil {
				copy(b.Bytes(), []byte{1, 1, 1, 1})
			}
			return err
		}}).Out(0)
		out := g.While(LoopSpec{}, []Output{g.num(0), start}, g.upTo(0, 2), func(v []Output) []Output {
			tile := g.Add("tile", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
				in := c.In(0).Buffer().Bytes()
				b, err := c.Alloc(0, 4*len(in))
				if err != nil {
					return err
				}
				for i := range b.Bytes() {
					b.Bytes()[i] = in[i%len(in)]
				}
				return nil
			}}, v[1]).Out(0)
			return []Output{g.plus(v[0], 1), tile}
		})
		g.Output("tensor", out[1])
		x := newExecutor(t, g, Options{Workers: w, Allocator: mem})
		for range 3 {
			got := make([]Value, 1)
			require.NoError(t, x.Run(t.Context(), Args{Out: got}))
			b := got[0].Buffer()
			require.Len(t, b.Bytes(), 64)
			for _, e := range b.Bytes() {
				require.EqualValues(t, 1, e)
			}
			require.EqualValues(t, 1, mem.live.Load(), "only the result is allocated")
			b.Release()
			require.Zero(t, mem.live.Load())
		}
	}
}

// countingAllocator counts blocks, and spoils what it takes back.
type countingAllocator struct {
	live, total atomic.Int64
}

func (a *countingAllocator) Alloc(size int, _ Attr) ([]byte, error) {
	a.live.Add(1)
	a.total.Add(1)
	return make([]byte, size), nil
}

func (a *countingAllocator) Free(mem []byte, _ Attr) {
	for i := range mem {
		mem[i] = 0xdd
	}
	if a.live.Add(-1) < 0 {
		panic("freed twice")
	}
}

// i = i·i + i while i < 1000, on buffers: forwarding reuses the buffer of the
// step before, so a long loop allocates a handful.
func TestForwarding(t *testing.T) {
	mem := new(countingAllocator)
	g := NewGraph()
	start := g.Add("start", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		_, err := c.Alloc(0, 8)
		return err
	}}).Out(0)
	inc := Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		in := c.In(0).Buffer().Bytes()[0]
		b, _, err := c.Forward(0, 0, 8)
		if err == nil {
			b.Bytes()[0] = in + 1
		}
		return err
	}}
	out := g.While(LoopSpec{Parallel: 1}, []Output{g.num(0), start}, g.upTo(0, 200), func(v []Output) []Output {
		return []Output{g.plus(v[0], 1), g.Add("inc", inc, v[1]).Out(0)}
	})
	g.Output("a", out[1])
	g.Output("b", g.Add("after", inc, out[1]).Out(0)) // out[1] has two uses: no forwarding
	x := newExecutor(t, g, Options{Workers: 1, Allocator: mem})
	got := make([]Value, 2)
	require.NoError(t, x.Run(t.Context(), Args{Out: got}))
	require.EqualValues(t, 200, got[0].Buffer().Bytes()[0])
	require.EqualValues(t, 201, got[1].Buffer().Bytes()[0])
	require.EqualValues(t, 2, mem.total.Load(), "one buffer for the loop, one for the second use")
	for _, v := range got {
		v.Buffer().Release()
	}
	require.Zero(t, mem.live.Load())
}
