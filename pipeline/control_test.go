package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
)

// fn adds an operator of int32 scalars.
func fn(g *Graph, name string, f func(c *datum.Sample, in []int32) int32, in ...Value) Value {
	return g.Add(Op{
		Name: name, Inputs: in, Outputs: []datum.Spec{{DType: datum.Int32}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(c *datum.Sample, in, out []*datum.Tensor) error {
				var xs []int32
				for _, t := range in {
					xs = append(xs, t.Int32s()[0])
				}
				if _, err := out[0].Resize(); err != nil {
					return err
				}
				out[0].Int32s()[0] = f(c, xs)
				return nil
			}), nil
		},
	})[0]
}

// evaluate runs a pipeline over 0 … n-1 and returns its outputs by sample.
func evaluate(t *testing.T, n int64, define func(g *Graph, v Value) []Value) [][]int32 {
	t.Helper()
	var first [][]int32
	for _, workers := range []int{1, 3} {
		p, err := New(Options{BatchSize: 4, Workers: workers, Seed: 3}, func(g *Graph) {
			for i, v := range define(g, g.Read(ReaderOptions{}, numbers{n: n})[0]) {
				g.Output(string(rune('a'+i)), v)
			}
		})
		require.NoError(t, err)
		r := runner(t, p, n)
		var got [][]int32
		for {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			if b == nil {
				break
			}
			for row, ok := range b.Mask() {
				if ok {
					var xs []int32
					for _, name := range b.Names() {
						xs = append(xs, b.Int32s(name)[row])
					}
					got = append(got, xs)
				}
			}
			b.Release()
		}
		if first == nil {
			first = got
		}
		require.Equal(t, first, got, "the number of workers must not show")
	}
	return first
}

func TestIf(t *testing.T) {
	ran := 0
	got := evaluate(t, 6, func(g *Graph, v Value) []Value {
		odd := fn(g, "odd", func(_ *datum.Sample, in []int32) int32 { return in[0] % 2 }, v)
		return g.If(odd, func() []Value {
			return []Value{fn(g, "triple", func(_ *datum.Sample, in []int32) int32 { return 3*in[0] + 1 }, v), v}
		}, func() []Value {
			half := fn(g, "half", func(_ *datum.Sample, in []int32) int32 {
				if in[0]%2 != 0 {
					ran++ // must never happen, so it is no race
				}
				return in[0] / 2
			}, v)
			return []Value{half, half}
		})
	})
	require.Equal(t, [][]int32{{0, 0}, {4, 1}, {1, 1}, {10, 3}, {2, 2}, {16, 5}}, got)
	require.Zero(t, ran, "a branch runs only for the samples that take it")
}

func TestWhileWithAnIfInside(t *testing.T) {
	got := evaluate(t, 8, func(g *Graph, v Value) []Value {
		zero := fn(g, "zero", func(*datum.Sample, []int32) int32 { return 0 })
		start := fn(g, "start", func(_ *datum.Sample, in []int32) int32 { return in[0] + 1 }, v)
		out := g.While([]Value{start, zero}, func(vars []Value) Value {
			return fn(g, "go on", func(_ *datum.Sample, in []int32) int32 { return in[0] - 1 }, vars[0])
		}, func(vars []Value) []Value {
			n := g.If(fn(g, "odd", func(_ *datum.Sample, in []int32) int32 { return in[0] % 2 }, vars[0]), func() []Value {
				return []Value{fn(g, "triple", func(_ *datum.Sample, in []int32) int32 { return 3*in[0] + 1 }, vars[0])}
			}, func() []Value {
				return []Value{fn(g, "half", func(_ *datum.Sample, in []int32) int32 { return in[0] / 2 }, vars[0])}
			})
			return []Value{n[0], fn(g, "count", func(_ *datum.Sample, in []int32) int32 { return in[0] + 1 }, vars[1])}
		})
		return []Value{out[0], out[1], v}
	})
	for i, steps := range []int32{0, 1, 7, 2, 5, 8, 16, 3} { // of the Collatz sequences of 1 … 8
		require.Equal(t, []int32{1, steps, int32(i)}, got[i])
	}
}

func TestNestedLoops(t *testing.T) {
	got := evaluate(t, 5, func(g *Graph, v Value) []Value {
		zero := fn(g, "zero", func(*datum.Sample, []int32) int32 { return 0 })
		less := func(a, b Value) Value {
			return fn(g, "less", func(_ *datum.Sample, in []int32) int32 {
				if in[0] < in[1] {
					return 1
				}
				return 0
			}, a, b)
		}
		add := func(a Value) Value {
			return fn(g, "add", func(_ *datum.Sample, in []int32) int32 { return in[0] + 1 }, a)
		}
		out := g.While([]Value{zero, zero}, func(vars []Value) Value { return less(vars[0], v) }, func(vars []Value) []Value {
			inner := g.While([]Value{zero, vars[1]}, func(in []Value) Value { return less(in[0], v) }, func(in []Value) []Value {
				return []Value{add(in[0]), add(in[1])}
			})
			return []Value{add(vars[0]), inner[1]}
		})
		return out[1:]
	})
	require.Equal(t, [][]int32{{0}, {1}, {4}, {9}, {16}}, got)
}

func TestIterationsDrawAnewAndTheRestDrawsAsBefore(t *testing.T) {
	die := func(g *Graph) Value {
		r := g.NewRandom()
		return fn(g, "die", func(c *datum.Sample, _ []int32) int32 { x := r.At(c); return int32(x.IntN(6)) + 1 })
	}
	var without [][]int32
	for _, loop := range []bool{false, true} {
		got := evaluate(t, 200, func(g *Graph, v Value) []Value {
			before := die(g)
			inside := g.NewRandom()
			throws := fn(g, "zero", func(*datum.Sample, []int32) int32 { return 0 })
			if loop { // until a six
				throws = g.While([]Value{throws, throws}, func(vars []Value) Value {
					return fn(g, "no six", func(_ *datum.Sample, in []int32) int32 { return in[0] - 6 }, vars[0])
				}, func(vars []Value) []Value {
					throw := fn(g, "throw", func(c *datum.Sample, _ []int32) int32 { x := inside.At(c); return int32(x.IntN(6)) + 1 })
					return []Value{throw, fn(g, "count", func(_ *datum.Sample, in []int32) int32 { return in[0] + 1 }, vars[1])}
				})[1]
			}
			return []Value{before, die(g), throws}
		})
		if !loop {
			without = got
			continue
		}
		sum := 0
		for i, x := range got {
			require.Equal(t, without[i][:2], x[:2])
			sum += int(x[2])
		}
		require.InDelta(t, 6, float64(sum)/200, 1.5)
	}
}

func TestALoopWithoutEndStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Options{BatchSize: 1, Workers: 1}, func(g *Graph) {
			v := g.Read(ReaderOptions{}, numbers{n: 1})[0]
			one := fn(g, "one", func(*datum.Sample, []int32) int32 { time.Sleep(time.Millisecond); return 1 })
			g.Output("x", g.While([]Value{v}, func([]Value) Value { return one }, func(vars []Value) []Value {
				return []Value{fn(g, "spin", func(_ *datum.Sample, in []int32) int32 { time.Sleep(time.Millisecond); return in[0] }, vars[0])}
			})[0])
		})
		require.NoError(t, err)
		r, err := p.NewRunner(feedtest.Once(1, 1))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, r.Close())
	})
}

func TestExtentsThatChange(t *testing.T) {
	grow := func(g *Graph, v Value, spec datum.Spec) Value {
		return g.Add(Op{
			Name: "double", Inputs: []Value{v}, Outputs: []datum.Spec{spec},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					mem, err := out[0].Resize(2 * in[0].Len())
					if err == nil {
						copy(mem[copy(mem, in[0].Bytes()):], in[0].Bytes())
					}
					return err
				}), nil
			},
		})[0]
	}
	define := func(g *Graph, first func(Value) Value) {
		n := g.Read(ReaderOptions{}, numbers{n: 4})[0]
		dot := g.Add(Op{
			Name: "dot", Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{1}}},
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, _, out []*datum.Tensor) error {
					mem, err := out[0].Resize(1)
					mem[0] = '.'
					return err
				}), nil
			},
		})[0]
		out := g.While([]Value{n, first(dot)}, func(vars []Value) Value { return vars[0] }, func(vars []Value) []Value {
			less := fn(g, "less", func(_ *datum.Sample, in []int32) int32 { return in[0] - 1 }, vars[0])
			return []Value{less, grow(g, vars[1], datum.Spec{DType: datum.Uint8, Shape: []int{-1}})}
		})
		if out != nil {
			g.Output("dots", out[1])
		}
	}
	_, err := New(Options{BatchSize: 4}, func(g *Graph) { define(g, func(v Value) Value { return v }) })
	require.EqualError(t, err, "pipeline: while: variable 1 begins as uint8 1 and becomes uint8 ?; begin with Varying if its extents change")
	var p *Pipeline
	p, err = New(Options{BatchSize: 4}, func(g *Graph) { define(g, g.Varying) })
	require.NoError(t, err)
	b, err := runner(t, p, 4).Next(t.Context())
	require.NoError(t, err)
	for i, want := range []string{".", "..", "....", "........"} {
		require.Equal(t, want, string(b.Sample("dots", i).Bytes()))
	}
	b.Release()
}

func TestWhatNobodyNeedsIsLeftOut(t *testing.T) {
	p, err := New(Options{BatchSize: 2}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 2})[0]
		never := func(*datum.Sample, []int32) int32 { panic("not needed") }
		g.If(v, func() []Value { return []Value{fn(g, "a", never)} }, func() []Value { return []Value{fn(g, "b", never)} })
		g.While([]Value{v}, func([]Value) Value { return fn(g, "c", never) }, func([]Value) []Value { return []Value{fn(g, "d", never)} })
		g.Output("x", v)
	})
	require.NoError(t, err)
	require.Len(t, p.compiled.Nodes(), 1)
	b, err := runner(t, p, 2).Next(t.Context())
	require.NoError(t, err)
	b.Release()
}

func TestErrorsInABranchNameTheirOperator(t *testing.T) {
	p, err := New(Options{BatchSize: 2}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 2})[0]
		g.Output("x", g.If(v, func() []Value {
			return []Value{square(g, v, func(int32) error { return errors.New("no squares") })}
		}, func() []Value { return []Value{square(g, v, nil)} })[0])
	})
	require.NoError(t, err)
	_, err = runner(t, p, 2).Next(t.Context())
	require.EqualError(t, err, "pipeline: number 1: square: no squares; set OnError to Skip or Replace to go on without such samples")
}

func TestMistakesInControlFlow(t *testing.T) {
	for want, define := range map[string]func(g *Graph, v Value){
		"pipeline: if: one branch returns 1 values and the other 0": func(g *Graph, v Value) {
			g.If(v, func() []Value { return []Value{v} }, func() []Value { return nil })
		},
		"pipeline: if: result 0: one branch makes int32 scalar and the other float32 2; types, layouts and numbers of dimensions must agree": func(g *Graph, v Value) {
			g.If(v, func() []Value { return []Value{v} }, func() []Value { return []Value{square(g, v, nil)} })
		},
		"pipeline: if: the predicate is float32 2; one number per sample is wanted": func(g *Graph, v Value) {
			g.If(square(g, v, nil), func() []Value { return nil }, func() []Value { return nil })
		},
		"pipeline: if: input 0 is missing": func(g *Graph, v Value) {
			g.If(Value{}, func() []Value { return nil }, func() []Value { return nil })
		},
		"pipeline: if: result 0 was made in another branch or loop": func(g *Graph, v Value) {
			var leaked Value
			g.If(v, func() []Value { leaked = square(g, v, nil); return []Value{leaked} }, func() []Value { return []Value{leaked} })
		},
		"pipeline: square: input 0 was made in a branch or loop and cannot be used outside of it; return it from there": func(g *Graph, v Value) {
			var leaked Value
			g.If(v, func() []Value { leaked = square(g, v, nil); return nil }, func() []Value { return nil })
			square(g, leaked, nil)
		},
		"pipeline: output y: it is inside a branch or loop; return the value from there": func(g *Graph, v Value) {
			g.If(v, func() []Value { g.Output("y", v); return nil }, func() []Value { return nil })
		},
		"pipeline: second: a reader cannot be in a branch or loop": func(g *Graph, v Value) {
			g.If(v, func() []Value { return g.Read(ReaderOptions{Name: "second"}, numbers{n: 2}) }, func() []Value { return nil })
		},
		"pipeline: while: the body returns 2 values for 1 variables": func(g *Graph, v Value) {
			g.While([]Value{v}, func(vars []Value) Value { return vars[0] }, func(vars []Value) []Value { return []Value{v, v} })
		},
		"pipeline: while: result 0 is missing": func(g *Graph, v Value) {
			g.While([]Value{v}, func([]Value) Value { return Value{} }, func(vars []Value) []Value { return vars })
		},
	} {
		_, err := New(Options{BatchSize: 2}, func(g *Graph) {
			v := g.Read(ReaderOptions{}, numbers{n: 2})[0]
			define(g, v)
			g.Output("x", v)
		})
		require.EqualError(t, err, want)
		var be *BuildError
		require.ErrorAs(t, err, &be)
	}
}
