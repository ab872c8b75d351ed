package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/streams"
)

// A program is a random structured program of integers, as a graph and as Go.
type program struct {
	build func(g *Graph, v []Output) []Output
	eval  func(v []int64) []int64
}

// drawProgram draws a program of vars variables. Loops run a bounded number of
// times, since their first variable counts.
func drawProgram(t *rapid.T, vars, depth int, op func() Op) program {
	const modulus = 1_000_003
	kinds := 1
	if depth > 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	default: // one variable from two others
		a, b, to := rapid.IntRange(0, vars-1).Draw(t, "a"), rapid.IntRange(0, vars-1).Draw(t, "b"), rapid.IntRange(0, vars-1).Draw(t, "to")
		k := rapid.Int64Range(1, 9).Draw(t, "k")
		o := op()
		f := func(x, y int64) int64 { return (x*k + y + 1) % modulus }
		return program{
			func(g *Graph, v []Output) []Output {
				o := o
				o.Outputs = 1
				run := o.Run
				o.Run = func(ctx context.Context, c *Call) error {
					compute(c, f)
					return run(ctx, c)
				}
				out := append([]Output(nil), v...)
				out[to] = g.Add("", o, v[a], v[b]).Out(0)
				return out
			},
			func(v []int64) []int64 {
				out := append([]int64(nil), v...)
				out[to] = f(v[a], v[b])
				return out
			},
		}
	case 2: // a sequence
		first, second := drawProgram(t, vars, depth-1, op), drawProgram(t, vars, depth-1, op)
		return program{
			func(g *Graph, v []Output) []Output { return second.build(g, first.build(g, v)) },
			func(v []int64) []int64 { return second.eval(first.eval(v)) },
		}
	case 3: // one of two branches, or none
		sel := rapid.IntRange(0, vars-1).Draw(t, "selector")
		one, two := drawProgram(t, vars, depth-1, op), drawProgram(t, vars, depth-1, op)
		return program{
			func(g *Graph, v []Output) []Output {
				s := g.op1(func(x int64) int64 { return x%3 - 1 }, v[sel])
				return g.Case("", s, v,
					func(v []Output) []Output { return one.build(g, v) },
					func(v []Output) []Output { return two.build(g, v) })
			},
			func(v []int64) []int64 {
				switch v[sel]%3 - 1 {
				case 0:
					return one.eval(v)
				case 1:
					return two.eval(v)
				}
				return v
			},
		}
	case 4: // a loop over the others with a counter
		n := rapid.Int64Range(0, 4).Draw(t, "trips")
		parallel := rapid.IntRange(1, 3).Draw(t, "parallel")
		body := drawProgram(t, vars, depth-1, op)
		return program{
			func(g *Graph, v []Output) []Output {
				all := append([]Output{g.num(0)}, v...)
				return g.While(LoopSpec{Parallel: parallel}, all, g.upTo(0, n), func(w []Output) []Output {
					return append([]Output{g.plus(w[0], 1)}, body.build(g, w[1:])...)
				})[1:]
			},
			func(v []int64) []int64 {
				for range n {
					v = body.eval(v)
				}
				return v
			},
		}
	}
}

// compute sets the output of c to f of its inputs, on a stream if the node has
// one.
func compute(c *Call, f func(x, y int64) int64) {
	x, y := c.In(0), c.In(1)
	if c.item.flags&nodeStream == 0 {
		c.Set(0, Int(f(x.Int(), y.Int())))
		return
	}
	cell := new(Cell)
	c.Set(0, Ref(cell))
	n := c.st.x.prog.devicesOf(c.item.id)
	for i := range n - 1 { // the last device writes what all of them read
		c.IssueOn(i, func(*streams.Context) error { f(x.Int(), y.Int()); return nil })
	}
	c.IssueOn(n-1, func(*streams.Context) error {
		cell.Store(Int(f(x.Int(), y.Int())))
		return nil
	})
}

// nothing is a kernel's remainder that does nothing.
func nothing(context.Context, *Call) error { return nil }

// Nested loops and branches compute what the same program written in Go does,
// with any number of workers and any mixture of cheap, expensive and async
// kernels.
func TestProgramsRandom(t *testing.T) {
	var running sync.WaitGroup
	rapid.Check(t, func(t *rapid.T) {
		vars := rapid.IntRange(1, 3).Draw(t, "vars")
		p := drawProgram(t, vars, 4, func() Op {
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				return Op{Expensive: true, Run: func(context.Context, *Call) error {
					time.Sleep(time.Duration(rand.IntN(3)) * time.Microsecond)
					return nil
				}}
			case 1:
				return Op{Async: true, Run: func(_ context.Context, c *Call) error {
					if rand.IntN(4) == 0 {
						c.Done(nil)
						return nil
					}
					running.Go(func() { c.Done(nil) })
					return nil
				}}
			}
			return Op{Run: nothing}
		})
		start := rapid.SliceOfN(rapid.Int64Range(0, 100), vars, vars).Draw(t, "start")
		g := NewGraph()
		var in []Value
		var v []Output
		for i, n := range start {
			in = append(in, Int(n))
			v = append(v, g.Input(fmt.Sprintf("in%d", i)))
		}
		for i, o := range p.build(g, v) {
			g.Output(fmt.Sprintf("out%d", i), o)
		}
		prog, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(prog, Options{
			Workers:     rapid.IntRange(1, 4).Draw(t, "workers"),
			Concurrency: Concurrency(rapid.IntRange(0, 2).Draw(t, "concurrency")),
		})
		require.NoError(t, err)
		want := p.eval(start)
		for range 2 {
			out := make([]Value, vars)
			require.NoError(t, x.Run(context.Background(), Args{In: in, Out: out}))
			for i := range out {
				require.Equal(t, want[i], out[i].Int())
			}
		}
		require.NoError(t, x.Close())
	})
	running.Wait()
}

// A kernel that fails, or a cancellation, anywhere: the run reports the cause,
// is joined, leaves no buffer behind, and the next one is unaffected.
func TestFailuresRandom(t *testing.T) {
	boom := errors.New("boom")
	rapid.Check(t, func(t *rapid.T) {
		mem := new(countingAllocator)
		var calls, active atomic.Int64
		var failAt atomic.Int64
		var cancel atomic.Pointer[context.CancelCauseFunc]
		how := rapid.IntRange(0, 3).Draw(t, "how")
		op := func() Op {
			async := rapid.Bool().Draw(t, "async")
			expensive := rapid.Bool().Draw(t, "expensive")
			return Op{Async: async, Expensive: expensive, Run: func(ctx context.Context, c *Call) error {
				active.Add(1)
				defer active.Add(-1)
				if calls.Add(1) == failAt.Load() {
					switch how {
					case 0:
						return boom
					case 1:
						panic(boom)
					case 2:
						(*cancel.Load())(boom)
						<-ctx.Done()
						return ctx.Err()
					default:
						if async {
							active.Add(1)
							go func() { defer active.Add(-1); c.Done(boom) }()
							return nil
						}
						return boom
					}
				}
				if async {
					active.Add(1)
					go func() { defer active.Add(-1); c.Done(nil) }()
				}
				return nil
			}}
		}
		p := drawProgram(t, 2, 4, op)
		g := NewGraph()
		alloc := Op{Outputs: 2, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Int(1))
			_, err := c.Alloc(1, 16)
			return err
		}}
		n := g.Add("alloc", alloc)
		// Buffers go round a loop beside the program, and are held by an
		// invariant.
		out := g.While(LoopSpec{Name: "around"}, []Output{g.num(0), n.Out(0), n.Out(0), n.Out(1)}, g.upTo(0, 3),
			func(v []Output) []Output {
				next := append([]Output{g.plus(v[0], 1)}, p.build(g, v[1:3])...)
				return append(next, g.Add("forward", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
					_, _, err := c.Forward(0, 0, 16)
					return err
				}}, v[3], n.Out(1)).Out(0))
			})
		g.Output("buffer", out[3])
		g.Output("value", out[1])
		prog, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(prog, Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Allocator: mem,
			Concurrency: Concurrency(rapid.IntRange(0, 2).Draw(t, "concurrency"))})
		require.NoError(t, err)
		run := func(fail int64) (int64, error) {
			calls.Store(0)
			failAt.Store(fail)
			ctx, c := context.WithCancelCause(context.Background())
			defer c(nil)
			cancel.Store(&c)
			got := make([]Value, 2)
			err := x.Run(ctx, Args{Out: got})
			if err == nil {
				got[0].Buffer().Release()
			}
			return calls.Load(), err
		}
		total, err := run(-1)
		require.NoError(t, err)
		if total > 0 {
			_, err = run(rapid.Int64Range(1, total).Draw(t, "fail at"))
			require.ErrorIs(t, err, boom)
			var ne *NodeError
			require.Equal(t, how != 2, errors.As(err, &ne), "a cancellation is no node's fault")
			require.Zero(t, mem.live.Load(), "buffers left behind")
			again, err := run(-1)
			require.NoError(t, err)
			require.Equal(t, total, again)
		}
		require.NoError(t, x.Close())
		require.Zero(t, mem.live.Load())
		for active.Load() > 0 {
			time.Sleep(time.Microsecond)
		}
	})
}
