package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// onStream returns a device kernel whose work computes f of its inputs, once
// they are written, and tells the test device what it reads and writes.
func onStream(f func(in ...int64) int64) Op {
	return Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
		cell := new(Cell)
		in := make([]Value, c.NumIn())
		for i := range in {
			in[i] = c.In(i)
		}
		c.Set(0, Ref(cell))
		c.Issue(func(sc *streams.Context) error {
			args := make([]int64, len(in))
			for i, v := range in {
				args[i] = v.Int()
				if r, ok := v.Ref().(*Cell); ok {
					streamtest.Reads(sc, r)
				}
			}
			cell.Store(Int(f(args...)))
			streamtest.Writes(sc, cell)
			return nil
		})
		return nil
	}}
}

func sum(in ...int64) (s int64) {
	for _, x := range in {
		s = s*3 + x
	}
	return s + 1
}

// drawDAG adds a random graph of host, mixed and device nodes, each of which
// computes the same function of its inputs.
func drawDAG(t *rapid.T, g *Graph, hosts bool) Output {
	all := drawNodes(t, g, rapid.IntRange(1, 25).Draw(t, "nodes"), hosts, func() Op { return onStream(sum) })
	total := onStream(sum)
	return g.Add("total", total, all...).Out(0)
}

// drawNodes adds n nodes that each compute the sum of some values made before: as device
// makes them, as mixed ones, or on the host where there may be such. It returns all values.
func drawNodes(t *rapid.T, g *Graph, n int, hosts bool, device func() Op) []Output {
	all := []Output{g.num(1)}
	var ops []*Node
	for i := range n {
		var in []Output
		for range rapid.IntRange(1, 3).Draw(t, "inputs") {
			in = append(in, all[rapid.IntRange(0, len(all)-1).Draw(t, "input")])
		}
		op := device()
		switch rapid.IntRange(0, 4).Draw(t, "backend") {
		case 0:
			op.Backend = Mixed
		case 1:
			if hosts {
				op = onHost(sum)
			}
		}
		if len(ops) > 0 && rapid.Bool().Draw(t, "after") {
			op.After = []*Node{ops[rapid.IntRange(0, len(ops)-1).Draw(t, "before")]}
		}
		node := g.Add(fmt.Sprintf("n%d", i), op, in...)
		ops = append(ops, node)
		for k := range op.Outputs {
			all = append(all, node.Out(k))
		}
	}
	return all
}

// onHost returns an operator of numbers on the host.
func onHost(f func(in ...int64) int64) Op {
	return Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		args := make([]int64, c.NumIn())
		for i := range args {
			args[i] = c.In(i).Int()
		}
		c.Set(0, Int(f(args...)))
		return nil
	}}
}

// Work on streams reads only what has been written, gives the same results as
// on the spot, and leaves no access unordered, under every policy and
// interleaving.
func TestStreamsRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		policy := streams.Policy(rapid.IntRange(0, 4).Draw(t, "policy"))
		budget := rapid.IntRange(0, 3).Draw(t, "budget")
		g := NewGraph()
		g.Output("total", drawDAG(t, g, true))
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		d := streamtest.New(seed)
		x, err := New(p, Options{Workers: 1, Devices: []streams.Device{d}, StreamPolicy: policy, StreamBudget: budget})
		require.NoError(t, err)
		var got [2]Value
		for i := range got {
			require.NoError(t, x.Run(context.Background(), Args{Out: got[i : i+1]}))
		}
		require.NoError(t, x.Close())
		require.NoError(t, d.Close())
		require.Empty(t, d.Races())
		require.Equal(t, got[0], got[1])

		p.taken.Store(false) // the same program without a device
		plain, err := New(p, Options{Workers: 1})
		require.NoError(t, err)
		var want [1]Value
		require.NoError(t, plain.Run(context.Background(), Args{Out: want[:]}))
		require.NoError(t, plain.Close())
		require.Equal(t, want[0], got[0])
	})
}

// Without control flow the executor waits where the plan says, and nowhere
// else.
func TestStreamsPlannedWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGraph()
		drawDAG(t, g, false)
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		plan, err := streams.Assign(p.StreamGraph(), streams.Optimal, streams.Options{})
		require.NoError(t, err)
		d := streamtest.New(1)
		x, err := New(p, Options{Workers: 1, Devices: []streams.Device{d}, Plan: plan})
		require.NoError(t, err)
		require.NoError(t, x.Run(context.Background(), Args{}))
		require.NoError(t, x.Close())
		require.NoError(t, d.Close())
		waits := 0
		for _, s := range d.Trace() {
			if s.Op == "wait" {
				waits++
			}
		}
		planned := 0
		for _, w := range plan.Waits {
			if len(plan.Streams[w.Producer]) > 0 { // what the host has done needs no event
				planned++
			}
		}
		require.Equal(t, planned, waits)
	})
}

func withDevices(t *testing.T, test func(t *testing.T, d streams.Device)) {
	t.Run("host", func(t *testing.T) {
		d := streams.NewHost()
		test(t, d)
		require.NoError(t, d.Close())
	})
	for seed := range uint64(20) {
		d := streamtest.New(seed)
		test(t, d)
		require.NoError(t, d.Close())
		require.Empty(t, d.Races())
	}
}

func newOn(t *testing.T, g *Graph, d streams.Device) *Executor {
	t.Helper()
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, Options{Workers: 2, Devices: []streams.Device{d}, StreamPolicy: streams.Optimal})
	require.NoError(t, err)
	return x
}

// A loop whose variable and whose predicate are computed on streams, with a
// branch in it that is chosen by a value from a stream.
func TestStreamsControlFlow(t *testing.T) {
	withDevices(t, func(t *testing.T, d streams.Device) {
		g := NewGraph()
		add := func(n int64) Op { return onStream(func(in ...int64) int64 { return in[0] + n }) }
		less := Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
			cell, in := new(Cell), c.In(0)
			c.Set(0, Ref(cell))
			c.Issue(func(sc *streams.Context) error {
				if r, ok := in.Ref().(*Cell); ok {
					streamtest.Reads(sc, r)
				}
				cell.Store(Bool(in.Int() < 20))
				return nil
			})
			return nil
		}}
		odd := onStream(func(in ...int64) int64 { return in[0] & 1 })
		out := g.While(LoopSpec{Name: "loop"}, []Output{g.num(0)},
			func(v []Output) Output { return g.Add("less", less, v[0]).Out(0) },
			func(v []Output) []Output {
				return g.Case("step", g.Add("odd", odd, v[0]).Out(0), v,
					func(v []Output) []Output { return []Output{g.Add("one", add(1), v[0]).Out(0)} },
					func(v []Output) []Output { return []Output{g.Add("three", add(3), v[0]).Out(0)} })
			})
		g.Output("n", out[0])
		x := newOn(t, g, d)
		for range 2 {
			got := make([]Value, 1)
			require.NoError(t, x.Run(t.Context(), Args{Out: got}))
			require.EqualValues(t, 20, got[0].Int()) // 0 1 4 5 8 9 … 20
		}
		require.NoError(t, x.Close())
	})
}

// A loop waits for its predicate alone: a slow kernel that nothing in it needs
// does not hold it up.
func TestStreamsLoopWaitsForPredicateAlone(t *testing.T) {
	d := streams.NewHost()
	release := make(chan struct{})
	g := NewGraph()
	slow := g.Add("slow", Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(1))
		c.Issue(func(*streams.Context) error { <-release; return nil })
		return nil
	}})
	g.Output("slow", slow.Out(0))
	loop := g.While(LoopSpec{}, []Output{g.Add("start", onStream(func(...int64) int64 { return 0 })).Out(0)},
		func(v []Output) Output {
			return g.test(func(n int64) bool { return n < 5 }, v[0])
		},
		func(v []Output) []Output {
			return []Output{g.Add("next", onStream(func(in ...int64) int64 { return in[0] + 1 }), v[0]).Out(0)}
		})
	g.Add("then", Op{Run: func(context.Context, *Call) error { close(release); return nil }}, loop[0])
	x := newOn(t, g, d)
	require.NoError(t, x.Run(t.Context(), Args{}))
	require.NoError(t, x.Close())
	require.NoError(t, d.Close())
}

// While a stream is busy, nothing waits on the host that does not read what it
// writes: nodes that follow on streams, dead nodes, data that only pass through.
func TestStreamsNothingWaitsInVain(t *testing.T) {
	slow := func(release chan struct{}) Op {
		return Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Int(1))
			c.Issue(func(*streams.Context) error { <-release; return nil })
			return nil
		}}
	}
	for name, follow := range map[string]func(g *Graph, slow, never Output) *Node{
		"node of a stream": func(g *Graph, slow, never Output) *Node {
			return g.Add("", Op{Outputs: 1, Backend: Device, HostOutputs: []int{0}, Run: func(_ context.Context, c *Call) error {
				c.Set(0, Int(1))
				return nil
			}}, slow)
		},
		"dead node": func(g *Graph, slow, never Output) *Node { return g.add2(slow, never).Node() },
		"data": func(g *Graph, slow, never Output) *Node {
			no, _ := g.Switch("", slow, g.Const("", Bool(true)))
			return g.plus(no, 1).Node()
		},
		"dead cases": func(g *Graph, slow, never Output) *Node { no, _ := g.Switch("", slow, never); return no.Node() },
	} {
		t.Run(name, func(t *testing.T) {
			d := streams.NewHost()
			release := make(chan struct{})
			g := NewGraph()
			never, _ := g.Switch("", g.num(1), g.Const("", Bool(true)))
			n := follow(g, g.Add("slow", slow(release)).Out(0), never)
			free := Op{Run: func(context.Context, *Call) error { close(release); return nil }}
			if name == "node of a stream" { // what reads it on another stream is issued at once
				g.Add("free", Op{Backend: Device, Run: free.Run}, n.Out(0))
			} else {
				free.After = []*Node{g.ControlTrigger("", n)}
				g.Add("free", free)
			}
			x := newOn(t, g, d)
			require.NoError(t, x.Run(t.Context(), Args{}))
			require.NoError(t, x.Close())
			require.NoError(t, d.Close())
		})
	}
}

// A buffer is overwritten in place by its only reader, while its writer is on
// its way as well as afterwards, and by no reader that has company. One goroutine works
// on the run: a reader beside the end of the writer may take it for company.
func TestStreamsForwarding(t *testing.T) {
	withDevices(t, func(t *testing.T, d streams.Device) {
		alloc := Op{Backend: Device, Outputs: 1, HostOutputs: []int{0}, Run: func(_ context.Context, c *Call) error {
			_, err := c.Alloc(0, 8)
			return err
		}}
		forward := func(want bool) Op {
			return Op{Backend: Device, Outputs: 1, HostOutputs: []int{0}, Run: func(_ context.Context, c *Call) error {
				if _, got, err := c.Forward(0, 0, 8); err != nil || got != want {
					return fmt.Errorf("%s forwarded: %v (%v)", c.Node(), got, err)
				}
				return nil
			}}
		}
		g := NewGraph()
		// Only a node of the host knows that what it waits for is finished.
		finished := func(n *Node) *Node { return g.Add("", Op{Run: nothing, After: []*Node{n}}) }
		o := g.Add("alone", alloc).Out(0)
		for range 3 {
			o = g.Add("", forward(true), o).Out(0)
		}
		late := forward(true)
		late.After = []*Node{finished(o.Node())}
		g.Add("late", late, o)

		shared := g.Add("shared", alloc).Out(0)
		first := forward(false)
		first.After = []*Node{finished(shared.Node())}
		reader := g.Add("first", first, shared)
		second := forward(true) // by then it is the only one
		second.After = []*Node{finished(reader)}
		g.Add("second", second, shared)
		p, err := Compile(g, CompileOptions{ForceDeviceCompatible: true}) // one kind of memory
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 1, Devices: []streams.Device{d}, StreamPolicy: streams.Optimal})
		require.NoError(t, err)
		require.NoError(t, x.Run(t.Context(), Args{}))
		require.NoError(t, x.Close())
	})
}

// Buffers of work on its way are not handed out again, nor overwritten.
func TestStreamsBuffers(t *testing.T) {
	withDevices(t, func(t *testing.T, d streams.Device) {
		mem := new(countingAllocator)
		g := NewGraph()
		first := Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
			b, err := c.Alloc(0, 8)
			c.Issue(func(*streams.Context) error { b.Bytes()[0] = 1; return nil })
			return err
		}}
		next := Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
			in := c.In(0).Buffer()
			b, _, err := c.Forward(0, 0, 8)
			c.Issue(func(*streams.Context) error { b.Bytes()[0] = in.Bytes()[0] + 1; return nil })
			return err
		}}
		unused := g.Add("unused", first)
		o := g.Add("first", first).Out(0)
		for range 10 {
			o = g.Add("", next, o).Out(0)
			if o.Node().id%3 == 0 {
				g.Add("", next, o) // a second reader
			}
		}
		_ = unused
		out := g.While(LoopSpec{}, []Output{g.num(0), o}, g.upTo(0, 20), func(v []Output) []Output {
			return []Output{g.plus(v[0], 1), g.Add("", next, v[1]).Out(0)}
		})
		g.Output("out", out[1])
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 2, Devices: []streams.Device{d}, StreamPolicy: streams.Optimal, Allocator: mem})
		require.NoError(t, err)
		for range 3 {
			got := make([]Value, 1)
			require.NoError(t, x.Run(t.Context(), Args{Out: got}))
			require.EqualValues(t, 31, got[0].Buffer().Bytes()[0])
			require.EqualValues(t, 1, mem.live.Load())
			got[0].Buffer().Release()
			require.Zero(t, mem.live.Load())
		}
		require.NoError(t, x.Close())
	})
}

// A loop over a program with streams: iterations overlap, and each is finished
// when its work on the streams is.
func TestStreamsLoop(t *testing.T) {
	withDevices(t, func(t *testing.T, d streams.Device) {
		g := NewGraph()
		batch := g.Add("batch", Op{Outputs: 1, Order: Serial, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Int(c.Root()))
			return nil
		}})
		up := onStream(func(in ...int64) int64 { return in[0] * 10 })
		up.Backend, up.Order = Mixed, Serial
		a := g.Add("up", up, batch.Out(0))
		b := g.Add("b", onStream(sum), a.Out(0))
		c := g.Add("c", onStream(sum), a.Out(0))
		g.Output("out", g.Add("d", onStream(sum), b.Out(0), c.Out(0)).Out(0))
		x := newOn(t, g, d)
		l, err := x.Loop(t.Context(), LoopOptions{Slots: 3, Limit: 30})
		require.NoError(t, err)
		for k := range int64(30) {
			r, err := l.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, sum(sum(k*10), sum(k*10)), r.Output(0).Int())
			r.Release()
		}
		l.Close()
		require.NoError(t, x.Close())
	})
}

// A run on a stream returns at once and keeps its place in the order.
func TestRunOn(t *testing.T) {
	d := streams.NewHost()
	s, err := d.NewStream()
	require.NoError(t, err)
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	g := NewGraph()
	n := g.While(LoopSpec{}, []Output{g.num(0)}, g.upTo(0, 3), func(v []Output) []Output {
		return []Output{g.plus(v[0], 1)}
	})
	g.Add("run", Op{Backend: Device, Run: func(_ context.Context, c *Call) error {
		c.Issue(func(*streams.Context) error { note("run"); return nil })
		return nil
	}}, n[0])
	x := newOn(t, g, d)
	started := make(chan struct{})
	s.Do(func(*streams.Context) error { <-started; note("before"); return nil })
	first := x.RunOn(t.Context(), s, Args{})
	s.Do(func(*streams.Context) error { note("between"); return nil })
	second := x.RunOn(t.Context(), s, Args{})
	require.False(t, first.Query())
	close(started)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, first.Wait(ctx))
	require.NoError(t, second.Wait(ctx))
	require.Equal(t, []string{"before", "run", "between", "run"}, slices.Clone(order))
	require.NoError(t, x.Close())
	require.NoError(t, d.Close())
}

// A graph that another one runs on the stream that itself is on comes after it
// and can never start. It is refused, or ends with its context.
func TestRunOnTheStreamOfTheCaller(t *testing.T) {
	host := streams.NewHost()
	defer host.Close()
	s, err := host.NewStream()
	require.NoError(t, err)
	inner := newExecutor(t, single(), Options{})
	stop := errors.New("stop")
	for _, derived := range []bool{true, false} {
		other, cancel := context.WithCancelCause(t.Context())
		g := NewGraph()
		g.Output("y", g.Add("outer", Op{Outputs: 1, Async: true, Run: func(ctx context.Context, c *Call) error {
			if !derived {
				ctx = other
				time.AfterFunc(time.Millisecond, func() { cancel(stop) })
			}
			c.Set(0, Int(1))
			inner.RunOn(ctx, s, Args{}).Then(c.Done)
			return nil
		}}).Out(0))
		err := newExecutor(t, g, Options{}).RunOn(t.Context(), s, Args{}).Wait(t.Context())
		if derived {
			require.ErrorIs(t, err, streams.ErrOwnStream)
		} else {
			require.ErrorIs(t, err, stop)
		}
		require.ErrorContains(t, err, "outer")
		require.Equal(t, err, s.Synchronize(t.Context()))
		cancel(nil)
	}
}
