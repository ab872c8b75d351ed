package executor

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// batches is a graph like that of a pipeline: a serial source, an async region
// whose calls overlap, and a node behind it. region starts a call and sees to
// it that it is finished.
func batches(region func(ctx context.Context, c *Call) error) *Graph {
	g := NewGraph()
	var next int64
	source := g.Add("source", Op{Outputs: 1, Order: Serial, Run: func(_ context.Context, c *Call) error {
		if c.Root() != next {
			return errors.New("the source ran out of order")
		}
		next++
		c.Set(0, Int(c.Root()*10))
		return nil
	}})
	r := g.Add("region", Op{Outputs: 1, Async: true, Order: InOrder, Run: region}, source.Out(0))
	g.Output("batch", g.plus(r.Out(0), 1))
	g.Output("slot", g.Add("slot", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(int64(c.Slot())))
		return nil
	}}).Out(0))
	return g
}

// later finishes a region after a random time.
func later(ctx context.Context, c *Call) error {
	c.Set(0, c.In(0))
	time.AfterFunc(time.Duration(1+rand.IntN(1000))*time.Millisecond, func() { c.Done(nil) })
	return nil
}

func newLoop(t *testing.T, g *Graph, o LoopOptions) (*Executor, *Loop) {
	t.Helper()
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, Options{Workers: 2})
	require.NoError(t, err)
	l, err := x.Loop(context.Background(), o)
	require.NoError(t, err)
	return x, l
}

func TestLoopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var regions atomic.Int64
		x, l := newLoop(t, batches(func(ctx context.Context, c *Call) error {
			if c.Root() != regions.Load() {
				return errors.New("the region started out of order")
			}
			regions.Add(1)
			return later(ctx, c)
		}), LoopOptions{Slots: 4, Limit: 50})
		used := map[int]bool{}
		for k := range int64(50) {
			r, err := l.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, k, r.Index())
			require.Equal(t, k*10+1, r.Output(0).Int())
			require.EqualValues(t, r.Slot(), r.Output(1).Int())
			synctest.Wait()
			require.LessOrEqual(t, regions.Load(), k+4, "at most four iterations are alive")
			used[r.Slot()] = true
			r.Release()
		}
		require.Len(t, used, 4)
		_, err := l.Next(t.Context())
		require.ErrorIs(t, err, io.EOF)
		require.EqualValues(t, 52, l.Limit(52))
		for range 2 {
			r, err := l.Next(t.Context())
			require.NoError(t, err)
			r.Release()
		}
		_, err = l.Next(t.Context())
		require.ErrorIs(t, err, io.EOF)
		l.Close()
		_, err = l.Next(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, x.Close())
	})
}

// Results are held and released in any order; the iterations alive never share
// a slot, and the consumer sees the same with any number of them.
func TestLoopRandomConsumer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 5).Draw(rt, "slots")
		n := rapid.Int64Range(0, 30).Draw(rt, "limit")
		var work sync.WaitGroup
		g := batches(func(ctx context.Context, c *Call) error {
			c.Set(0, c.In(0))
			work.Go(func() {
				for range rand.IntN(3) {
					runtime.Gosched()
				}
				c.Done(nil)
			})
			return nil
		})
		x, l := newLoop(t, g, LoopOptions{Slots: slots, Limit: max(n, 1)})
		held := map[int]Result{}
		release := func() {
			for s, r := range held {
				delete(held, s)
				if rapid.Bool().Draw(rt, "twice") {
					r.Retain()
					r.Release()
				}
				r.Release()
				return
			}
		}
		for k := range n {
			for len(held) == slots || len(held) > 0 && rapid.Bool().Draw(rt, "release") {
				release()
			}
			r, err := l.Next(context.Background())
			require.NoError(rt, err)
			require.Equal(rt, k, r.Index())
			require.Equal(rt, k*10+1, r.Output(0).Int())
			_, taken := held[r.Slot()]
			require.False(rt, taken, "slot %d is held", r.Slot())
			held[r.Slot()] = r
		}
		if rapid.Bool().Draw(rt, "close first") {
			l.Close()
		}
		for len(held) > 0 {
			release()
		}
		l.Close()
		require.NoError(rt, x.Close())
		work.Wait()
	})
}

// The iterations before a failed one are delivered, and then its error, with
// any number of slots and however the failures are ordered in time.
func TestLoopFailureInOrder(t *testing.T) {
	boom := errors.New("boom")
	for slots := 1; slots <= 5; slots++ {
		synctest.Test(t, func(t *testing.T) {
			x, l := newLoop(t, batches(func(ctx context.Context, c *Call) error {
				k := c.Root()
				c.Set(0, c.In(0))
				// Iteration 8 fails at once, 7 after all others have finished.
				switch k {
				case 7:
					time.AfterFunc(time.Hour, func() { c.Done(boom) })
				case 8:
					c.Done(errors.New("later in order, earlier in time"))
				default:
					return later(ctx, c)
				}
				return nil
			}), LoopOptions{Slots: slots})
			for k := range int64(7) {
				r, err := l.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, k, r.Index())
				r.Release()
			}
			_, err := l.Next(t.Context())
			require.ErrorIs(t, err, boom)
			var ne *NodeError
			require.ErrorAs(t, err, &ne)
			require.Equal(t, "region", ne.Node)
			require.EqualValues(t, 7, ne.Root)
			_, again := l.Next(t.Context())
			require.Equal(t, err, again)
			l.Close()
			require.NoError(t, x.Close())
		})
	}
}

// What runs behind a failed iteration is cancelled as soon as all before it is
// done, without the consumer's help.
func TestLoopFailureCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var cancelled atomic.Bool
		x, l := newLoop(t, batches(func(ctx context.Context, c *Call) error {
			c.Set(0, c.In(0))
			switch c.Root() {
			case 0:
				time.AfterFunc(time.Minute, func() { c.Done(nil) })
			case 1:
				time.AfterFunc(time.Second, func() { c.Done(boom) })
			default:
				context.AfterFunc(ctx, func() { cancelled.Store(true); c.Done(ctx.Err()) })
			}
			return nil
		}), LoopOptions{Slots: 3})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.False(t, cancelled.Load(), "iteration 0 is still running")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, cancelled.Load())
		r, err := l.Next(t.Context())
		require.NoError(t, err)
		r.Release()
		_, err = l.Next(t.Context())
		require.ErrorIs(t, err, boom)
		l.Close()
		require.NoError(t, x.Close())
	})
}

func TestLoopCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Compile(batches(func(ctx context.Context, c *Call) error {
			context.AfterFunc(ctx, func() { time.Sleep(time.Second); c.Done(ctx.Err()) })
			return nil
		}), CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{})
		require.NoError(t, err)
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		l, err := x.Loop(ctx, LoopOptions{})
		require.NoError(t, err)

		mine, stop := context.WithTimeoutCause(t.Context(), time.Second, errors.New("impatient"))
		_, err = l.Next(mine)
		require.EqualError(t, err, "impatient", "the call ends, the loop does not")
		stop()

		time.AfterFunc(time.Second, func() { cancel(reason) })
		start := time.Now()
		_, err = l.Next(t.Context())
		require.Equal(t, reason, err)
		require.Equal(t, 2*time.Second, time.Since(start), "Next waits until the regions have gone")
		l.Close()
		require.NoError(t, x.Close())
	})
}

// Close of the executor closes its loops; a result that is still held can be
// read and released.
func TestLoopHeldAcrossClose(t *testing.T) {
	mem := new(countingAllocator)
	g := NewGraph()
	g.Output("out", g.Add("alloc", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		b, err := c.Alloc(0, 8)
		if err == nil {
			b.Bytes()[0] = 7
		}
		return err
	}}).Out(0))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, Options{Allocator: mem})
	require.NoError(t, err)
	l, err := x.Loop(t.Context(), LoopOptions{})
	require.NoError(t, err)
	r, err := l.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, mem.live.Load())
	require.Equal(t, 2, l.Ready())
	require.NoError(t, x.Close())
	require.EqualValues(t, 1, mem.live.Load())
	require.EqualValues(t, 7, r.Output(0).Buffer().Bytes()[0])
	r.Release()
	require.Zero(t, mem.live.Load())
	require.Panics(t, r.Release)
	require.Panics(t, r.Retain)
	_, err = x.Loop(t.Context(), LoopOptions{})
	require.ErrorIs(t, err, ErrClosed)
}

// Orders of one node in successive iterations.
func TestLoopOrders(t *testing.T) {
	for _, order := range []Order{Unordered, InOrder, Serial} {
		synctest.Test(t, func(t *testing.T) {
			var running, most, started atomic.Int64
			inOrder := true
			g := NewGraph()
			// Later iterations are ready first.
			wait := g.Add("wait", Op{Outputs: 1, Async: true, Run: func(_ context.Context, c *Call) error {
				c.Set(0, Int(c.Root()))
				time.AfterFunc(time.Duration(10-c.Root())*time.Second, func() { c.Done(nil) })
				return nil
			}})
			g.Output("out", g.Add("node", Op{Outputs: 1, Async: true, Order: order, Run: func(_ context.Context, c *Call) error {
				if started.Add(1)-1 != c.Root() {
					inOrder = false
				}
				most.Store(max(most.Load(), running.Add(1)))
				c.Set(0, c.In(0))
				time.AfterFunc(time.Minute, func() { running.Add(-1); c.Done(nil) })
				return nil
			}}, wait.Out(0)).Out(0))
			x, l := newLoop(t, g, LoopOptions{Slots: 5, Limit: 5})
			for k := range int64(5) {
				r, err := l.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, k, r.Output(0).Int())
				r.Release()
			}
			require.Equal(t, order != Unordered, inOrder)
			require.Equal(t, order == Serial, most.Load() == 1)
			l.Close()
			require.NoError(t, x.Close())
		})
	}
}

// A node with state inside a while loop is not overtaken by that of the next
// root iteration, although it runs a different number of times in each.
func TestLoopOrderedFrames(t *testing.T) {
	var log []int64
	g := NewGraph()
	root := g.Add("root", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(3-c.Root()%4))
		return nil
	}})
	out := g.While(LoopSpec{Name: "loop", Parallel: 1}, []Output{root.Out(0)},
		func(v []Output) Output { return g.test(func(n int64) bool { return n > 0 }, v[0]) },
		func(v []Output) []Output {
			return []Output{g.Add("log", Op{Outputs: 1, Order: Serial, Expensive: true, Run: func(_ context.Context, c *Call) error {
				n := c.In(0).Int()
				log = append(log, c.Root()*10+n)
				time.Sleep(10 * time.Microsecond)
				c.Set(0, Int(n-1))
				return nil
			}}, v[0]).Out(0)}
		})
	g.Output("out", out[0])
	x, l := newLoop(t, g, LoopOptions{Slots: 4, Limit: 40})
	var want []int64
	for k := range int64(40) {
		r, err := l.Next(t.Context())
		require.NoError(t, err)
		r.Release()
		for n := 3 - k%4; n > 0; n-- {
			want = append(want, k*10+n)
		}
	}
	l.Close()
	require.NoError(t, x.Close())
	require.Equal(t, want, log)
}

// A node that keeps an order goes on with it where a branch was not taken.
func TestLoopOrderedBranches(t *testing.T) {
	for _, order := range []Order{InOrder, Serial} {
		var log []int64
		g := NewGraph()
		odd := g.Add("odd", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Bool(c.Root()%2 == 1))
			return nil
		}})
		g.If("if", odd.Out(0), func() []Output {
			g.Add("log", Op{Order: order, Run: func(_ context.Context, c *Call) error {
				log = append(log, c.Root())
				return nil
			}})
			return nil
		}, func() []Output { return nil })
		x, l := newLoop(t, g, LoopOptions{Slots: 3, Limit: 10})
		for range 10 {
			r, err := l.Next(t.Context())
			require.NoError(t, err)
			r.Release()
		}
		l.Close()
		require.NoError(t, x.Close())
		require.Equal(t, []int64{1, 3, 5, 7, 9}, log)
	}
}

func TestLoopStalls(t *testing.T) {
	x, l := newLoop(t, stalling(), LoopOptions{})
	_, err := l.Next(t.Context())
	require.ErrorIs(t, err, ErrStalled)
	l.Close()
	require.NoError(t, x.Close())
}

// stalling returns a graph whose loop has a second variable that does not go
// on.
func stalling() *Graph {
	g := NewGraph()
	loop := &LoopSpec{Name: "loop"}
	i := g.Merge("i", g.Enter("i0", loop, g.num(0)))
	s := g.Merge("s", g.Enter("s0", loop, g.num(0)))
	cond := g.LoopCond("cond", g.less(i.Out(0), g.EnterConstant("n", loop, g.num(3))))
	_, on := g.Switch("si", i.Out(0), cond)
	done, _ := g.Switch("ss", s.Out(0), cond)
	g.Connect(i, g.NextIteration("ni", g.plus(on, 1)))
	inner := &LoopSpec{Name: "inner"}
	// The inner loop is entered by one that goes on and one that does not.
	g.Exit("inner-exit", g.add2(g.Enter("a", inner, on), g.Enter("b", inner, s.Out(0))))
	g.Output("out", g.Exit("exit", done))
	return g
}

func TestLoopOptions(t *testing.T) {
	x := newExecutor(t, batches(later), Options{})
	for _, o := range []LoopOptions{{Slots: -1}, {Limit: -1}, {In: []Value{Int(1)}}} {
		_, err := x.Loop(t.Context(), o)
		require.Error(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Loop(ctx, LoopOptions{})
	require.ErrorIs(t, err, context.Canceled)
}
