package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
)

// The cases of TensorFlow's executor_test that concern a host executor.

func TestSelfAdd(t *testing.T) {
	require.EqualValues(t, 1024, one(t, func(g *Graph) Output {
		v := g.num(1)
		for range 10 {
			v = g.add2(v, v)
		}
		return v
	}))
}

func TestRandomTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	require.EqualValues(t, 4096, one(t, func(g *Graph) Output {
		a := g.num(1)
		var nodes []Output
		for range 4096 {
			nodes = append(nodes, g.Identity("", a))
		}
		for len(nodes) > 1 {
			i, j := rng.IntN(len(nodes)), len(nodes)-1
			nodes[i], nodes[j] = nodes[j], nodes[i]
			i = rng.IntN(j)
			nodes[i] = g.add2(nodes[i], nodes[j])
			nodes = nodes[:j]
		}
		return nodes[0]
	}))
}

func TestNoInputs(t *testing.T) {
	require.EqualValues(t, 1, one(t, func(g *Graph) Output { return g.num(1) }))
	require.NoError(t, newExecutor(t, NewGraph(), Options{}).Run(t.Context(), Args{}))
}

// 1,024 unordered increments after a variable's initialisation, and one node
// after all.
func TestUnorderedEffects(t *testing.T) {
	for _, w := range workers {
		var v atomic.Int64
		g := NewGraph()
		start := g.Add("var", Op{Run: func(context.Context, *Call) error { v.Store(1); return nil }})
		var adds []*Node
		for range 1024 {
			adds = append(adds, g.Add("", Op{Expensive: true, After: []*Node{start}, Run: func(context.Context, *Call) error {
				v.Add(1)
				return nil
			}}))
		}
		read := g.Add("read", Op{Outputs: 1, After: adds, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Int(v.Load()))
			return nil
		}})
		g.Output("v", read.Out(0))
		x := newExecutor(t, g, Options{Workers: w})
		for range 16 {
			out := make([]Value, 1)
			require.NoError(t, x.Run(t.Context(), Args{Out: out}))
			require.EqualValues(t, 1025, out[0].Int())
		}
	}
}

func TestSwitch(t *testing.T) {
	for _, pred := range []bool{false, true} {
		require.EqualValues(t, 42, one(t, func(g *Graph) Output {
			no, yes := g.Switch("", g.num(42), g.Const("", Bool(pred)))
			return g.Merge("", no, yes).Out(0)
		}))
		index := one(t, func(g *Graph) Output {
			no, yes := g.Switch("", g.num(42), g.Const("", Bool(pred)))
			return g.Merge("", no, yes).Out(1)
		})
		require.Equal(t, pred, index == 1)
		want := int64(43)
		if pred {
			want = 42 * 5
		}
		require.Equal(t, want, one(t, func(g *Graph) Output {
			no, yes := g.Switch("", g.num(42), g.Const("", Bool(pred)))
			return g.Merge("", g.plus(no, 1), g.times(yes, 5)).Out(0)
		}))
	}
}

// The loops of the primitive control-flow tests, from hand-made nodes.
func TestPrimitiveLoops(t *testing.T) {
	require.EqualValues(t, 10, one(t, func(g *Graph) Output {
		loop := &LoopSpec{Name: "loop"}
		i := g.Merge("", g.Enter("", loop, g.num(0)))
		n := g.EnterConstant("", loop, g.num(10))
		cond := g.LoopCond("", g.less(i.Out(0), n))
		done, on := g.Switch("", i.Out(0), cond)
		g.Connect(i, g.NextIteration("", g.plus(on, 1)))
		return g.Exit("", done)
	}), "counting")
	require.EqualValues(t, 10, one(t, func(g *Graph) Output {
		loop := &LoopSpec{Name: "loop"}
		no := g.Enter("", loop, g.Const("", Bool(false)))
		v := g.Merge("", g.Enter("", loop, g.num(10)))
		done, on := g.Switch("", v.Out(0), g.LoopCond("", no))
		g.Connect(v, g.NextIteration("", g.plus(on, 1)))
		return g.Exit("", done)
	}), "no iteration")
	require.EqualValues(t, 60, one(t, func(g *Graph) Output {
		loop := &LoopSpec{Name: "loop"}
		return g.Exit("", g.mul(g.Enter("", loop, g.num(12)), g.Enter("", loop, g.num(5))))
	}), "enter, multiply, exit")
}

func TestDeadOutput(t *testing.T) {
	g := NewGraph()
	no, yes := g.Switch("switch", g.num(42), g.Const("pred", Bool(true)))
	g.Output("no", g.Identity("", no))
	g.Output("yes", yes)
	out := make([]Value, 2)
	err := newExecutor(t, g, Options{}).Run(t.Context(), Args{Out: out})
	require.ErrorIs(t, err, ErrNoValue)
	var oe *OutputError
	require.ErrorAs(t, err, &oe)
	require.Equal(t, "no", oe.Output)
	require.True(t, out[0].IsEmpty())
	require.EqualValues(t, 42, out[1].Int())
}

func TestStalled(t *testing.T) {
	x := newExecutor(t, stalling(), Options{})
	for range 2 {
		require.ErrorIs(t, x.Run(t.Context(), Args{}), ErrStalled)
	}
}

func TestTwoValues(t *testing.T) {
	g := NewGraph()
	g.Merge("merge", g.num(1), g.num(2))
	err := newExecutor(t, g, Options{}).Run(t.Context(), Args{})
	require.ErrorIs(t, err, ErrTwoValues)
	require.ErrorContains(t, err, `"merge"`)
}

// A kernel's failure names the node, its frame and iteration; what is behind
// it does not run.
func TestNodeError(t *testing.T) {
	boom := errors.New("boom")
	for _, w := range workers {
		var after atomic.Int64
		g := NewGraph()
		out := g.While(LoopSpec{Name: "outer", Parallel: 2}, []Output{g.num(0)}, g.upTo(0, 5), func(v []Output) []Output {
			inner := g.While(LoopSpec{Name: "inner"}, []Output{g.num(0), v[0]}, g.upTo(0, 4), func(w []Output) []Output {
				g.Add("check", Op{Run: func(_ context.Context, c *Call) error {
					if c.In(0).Int() == 2 && c.In(1).Int() == 3 {
						return boom
					}
					return nil
				}}, w[0], v[0])
				return []Output{g.plus(w[0], 1), w[1]}
			})
			return []Output{g.plus(inner[1], 1)}
		})
		g.Add("after", Op{Run: func(context.Context, *Call) error { after.Add(1); return nil }}, out[0])
		err := newExecutor(t, g, Options{Workers: w}).Run(t.Context(), Args{})
		require.Equal(t, &NodeError{Node: "outer/inner/check", Frame: "outer@3/inner", Iteration: 2, Err: boom}, err)
		require.Equal(t, `executor: node "outer/inner/check" in iteration 2 of loop "outer@3/inner": boom`, err.Error())
		require.Zero(t, after.Load())
	}
}

func TestKernelMistakes(t *testing.T) {
	consume := func(op Op) error {
		g := NewGraph()
		op.Outputs = 1
		g.plus(g.Add("bad", op).Out(0), 1)
		return newExecutor(t, g, Options{}).Run(t.Context(), Args{})
	}
	require.ErrorIs(t, consume(Op{Run: nothing}), ErrMissingOutput)

	err := consume(Op{Run: func(_ context.Context, c *Call) error { c.Set(0, Float(1)); return nil }})
	var te *TypeError
	require.ErrorAs(t, err, &te, "a float is sent to a kernel that adds integers")
	require.Equal(t, "a float", te.Got)

	var pe *PanicError
	require.ErrorAs(t, consume(Op{Run: func(context.Context, *Call) error { panic("oops") }}), &pe)
	require.Equal(t, "oops", pe.Value)
	require.Contains(t, string(pe.Stack), "executor_test.go")
	require.ErrorContains(t, pe, "/executor_test.go:")
	require.ErrorAs(t, consume(Op{Async: true, Run: func(context.Context, *Call) error { panic("oops") }}), &pe)

	var tooMuch *NodeError
	require.ErrorAs(t, consume(Op{Backend: Device, Run: func(_ context.Context, c *Call) error {
		_, err := c.Alloc(0, 8)
		return err
	}}), &tooMuch, "the heap has no device memory")
}

// A kernel that ends its goroutine fails its node; goroutines of the pool are
// replaced, and the run that the goroutine was calling still ends.
func TestKernelGoexit(t *testing.T) {
	for _, w := range workers {
		var exits atomic.Bool
		g := NewGraph()
		for range 20 {
			g.Add("", Op{Expensive: true, Run: func(context.Context, *Call) error {
				if exits.CompareAndSwap(true, false) {
					runtime.Goexit()
				}
				time.Sleep(10 * time.Microsecond)
				return nil
			}})
		}
		x := newExecutor(t, g, Options{Workers: w})
		for range 3 {
			exits.Store(true)
			done := make(chan error, 1)
			x.RunAsync(t.Context(), Args{}, func(err error) { done <- err })
			require.ErrorIs(t, <-done, ErrGoexit)
			require.NoError(t, x.Run(t.Context(), Args{}))
		}
	}
}

func TestCancelPureLoop(t *testing.T) {
	g := NewGraph()
	g.While(LoopSpec{}, []Output{g.num(0)}, func(v []Output) Output { return g.test(func(int64) bool { return true }, v[0]) },
		func(v []Output) []Output { return []Output{g.plus(v[0], 1)} })
	x := newExecutor(t, g, Options{})
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(reason) })
	require.Equal(t, reason, x.Run(ctx, Args{}))
	require.Equal(t, reason, x.Run(ctx, Args{}), "cancelled before it starts")
}

func TestRunJoinsAsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		joined := false
		g := NewGraph()
		g.Add("slow", Op{Async: true, Run: func(ctx context.Context, c *Call) error {
			context.AfterFunc(ctx, func() {
				time.Sleep(time.Minute)
				joined = true
				c.Done(ctx.Err())
			})
			return nil
		}})
		g.Add("bad", Op{Async: true, Run: func(_ context.Context, c *Call) error {
			time.AfterFunc(time.Second, func() { c.Done(boom) })
			return nil
		}})
		x := newExecutor(t, g, Options{})
		err := x.Run(t.Context(), Args{})
		require.ErrorIs(t, err, boom, "not the cancellation that it led to")
		require.True(t, joined)
		require.NoError(t, x.Close())
	})
}

func TestConcurrency(t *testing.T) {
	for _, c := range []struct {
		concurrency Concurrency
		most        int64
	}{{ConcurrencyNone, 1}, {ConcurrencyBackend, 2}, {ConcurrencyFull, 8}} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int64
			g := NewGraph()
			for i := range 8 {
				backend := Host
				if i%2 == 1 {
					backend = Mixed
				}
				g.Add("", Op{Async: true, Backend: backend, Run: func(_ context.Context, c *Call) error {
					most.Store(max(most.Load(), running.Add(1)))
					time.AfterFunc(time.Second, func() { running.Add(-1); c.Done(nil) })
					return nil
				}})
			}
			x := newExecutor(t, g, Options{Concurrency: c.concurrency})
			require.NoError(t, x.Run(t.Context(), Args{}))
			require.Equal(t, c.most, most.Load())
			require.NoError(t, x.Close())
		})
	}
}

// A node that waits for one behind the limiter does not keep it from passing.
func TestUnlimitedNodes(t *testing.T) {
	for _, concurrency := range []Concurrency{ConcurrencyNone, ConcurrencyBackend} {
		synctest.Test(t, func(t *testing.T) {
			var waits *Call
			g := NewGraph()
			wait := g.Add("wait", Op{Async: true, Unlimited: true, Run: func(_ context.Context, c *Call) error {
				waits = c
				return nil
			}})
			work := g.Add("work", Op{Async: true, Run: func(_ context.Context, c *Call) error {
				time.AfterFunc(time.Second, func() { waits.Done(nil); c.Done(nil) })
				return nil
			}})
			g.Add("end", Op{Run: func(context.Context, *Call) error { return nil }, After: []*Node{wait, work}})
			x := newExecutor(t, g, Options{Concurrency: concurrency})
			for range 3 {
				require.NoError(t, x.Run(t.Context(), Args{}))
			}
			require.NoError(t, x.Close())
		})
	}
}

func TestConcurrentRuns(t *testing.T) {
	for _, w := range workers {
		g := NewGraph()
		in := g.Input("n")
		op := unary(func(n int64) int64 { return n + 1 })
		op.Expensive = true
		out := g.While(LoopSpec{}, []Output{g.num(0), in}, g.upTo(0, 10), func(v []Output) []Output {
			return []Output{g.plus(v[0], 1), g.Add("slow", op, v[1]).Out(0)}
		})
		g.Output("n", out[1])
		x := newExecutor(t, g, Options{Workers: w})
		var runs sync.WaitGroup
		for i := range int64(8) {
			runs.Go(func() {
				for range 20 {
					got := make([]Value, 1)
					if err := x.Run(context.Background(), Args{In: []Value{Int(i)}, Out: got}); err != nil || got[0].Int() != i+10 {
						t.Errorf("run %d: %v, %v", i, got[0], err)
					}
				}
			})
		}
		runs.Wait()
	}
}

type closingKernel struct {
	name   string
	closed *[]string
	err    error
}

func (closingKernel) Run(context.Context, *Call) error { return nil }

func (k closingKernel) Close() error {
	*k.closed = append(*k.closed, k.name)
	return k.err
}

func TestKernelLife(t *testing.T) {
	var closed []string
	boom := errors.New("boom")
	kernel := func(name string, err error) Op {
		return Op{New: func() (Kernel, error) { return closingKernel{name, &closed, err}, nil }}
	}
	g := NewGraph()
	g.Add("a", kernel("a", nil))
	g.Add("b", kernel("b", boom))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, Options{})
	require.NoError(t, err)
	_, err = New(p, Options{})
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorIs(t, p.Close(), ErrInUse)
	require.NoError(t, x.Run(t.Context(), Args{}))
	require.Empty(t, closed)
	require.ErrorIs(t, x.Close(), boom)
	require.Equal(t, []string{"b", "a"}, closed)
	require.NoError(t, x.Close())
	require.ErrorIs(t, x.Run(t.Context(), Args{}), ErrClosed)
	x.RunAsync(t.Context(), Args{}, func(err error) { require.ErrorIs(t, err, ErrClosed) })

	closed = nil
	g = NewGraph()
	g.Add("a", kernel("a", nil))
	g.Add("broken", Op{New: func() (Kernel, error) { return nil, boom }})
	_, err = Compile(g, CompileOptions{})
	require.ErrorIs(t, err, boom)
	var ge *GraphError
	require.ErrorAs(t, err, &ge)
	require.Equal(t, "broken", ge.Node)
	require.Equal(t, []string{"a"}, closed)
}

func TestCloseCancelsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGraph()
		g.Add("wait", Op{Run: func(ctx context.Context, _ *Call) error { <-ctx.Done(); return ctx.Err() }})
		x := newExecutor(t, g, Options{})
		var got error
		x.RunAsync(t.Context(), Args{}, func(err error) { got = err })
		synctest.Wait()
		require.NoError(t, x.Close())
		require.ErrorIs(t, got, ErrClosed)
	})
}

func TestArgs(t *testing.T) {
	g := NewGraph()
	g.Output("y", g.plus(g.Input("x"), 1))
	x := newExecutor(t, g, Options{})
	require.Equal(t, []string{"x"}, x.Program().Inputs())
	require.Equal(t, []string{"y"}, x.Program().Outputs())
	for want, a := range map[string]Args{
		"given 0 inputs": {},
		"has no value":   {In: make([]Value, 1)},
		"room for 2":     {In: []Value{Int(1)}, Out: make([]Value, 2)},
	} {
		require.ErrorContains(t, x.Run(t.Context(), a), want)
	}
	p, err := Compile(NewGraph(), CompileOptions{})
	require.NoError(t, err)
	for _, o := range []Options{{Workers: -1}, {Concurrency: 9}} {
		_, err = New(p, o)
		require.Error(t, err)
	}
	require.NoError(t, p.Close())
}

// No allocation per node once warm: a run costs the same few with 10 nodes and
// with 1,000.
func TestAllocations(t *testing.T) {
	if locksChecked {
		t.Skip("checking the order of locks allocates")
	}
	per := func(g *Graph) float64 {
		x := newExecutor(t, g, Options{Workers: 1})
		return alloctest.PerRound(10, func() { x.Run(context.Background(), Args{}) })
	}
	op := Op{Run: identity, Outputs: 1}
	require.Equal(t, per(chain(10, op)), per(chain(1000, op)))
	require.Equal(t, per(counting(10)), per(counting(1000)))
	require.Equal(t, per(diamonds(2)), per(diamonds(200)))
}

func TestValues(t *testing.T) {
	require.EqualValues(t, -3, Int(-3).Int())
	require.Equal(t, 1.5, Float(1.5).Float())
	require.True(t, Bool(true).Bool())
	require.False(t, Bool(false).Bool())
	require.Equal(t, "x", Ref("x").Ref())
	require.Nil(t, Ref(nil).Ref())
	require.False(t, Ref(nil).IsEmpty())
	require.True(t, Value{}.IsEmpty())
	var s []string
	for _, v := range []Value{Int(1), Float(2.5), Bool(true), Ref("x"), Ref(nil), {}} {
		s = append(s, v.String())
	}
	require.Equal(t, "1 2.5 true x nil empty", strings.Join(s, " "))
	require.PanicsWithError(t, "expected an int on the edge, but it carries a bool", func() { Bool(true).Int() })
	require.PanicsWithError(t, "expected a float on the edge, but it carries no value", func() { Value{}.Float() })
	require.PanicsWithError(t, "expected a bool on the edge, but it carries a string", func() { Ref("x").Bool() })
	require.PanicsWithError(t, "expected a *Buffer on the edge, but it carries nil", func() { Ref(nil).Buffer() })
	alloctest.None(t, 10, func() { _ = Int(1000).Int() + int64(Float(2).Float()) })
}
