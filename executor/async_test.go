package executor

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A failure that a kernel tells Done before it returns stops the step as any
// other does: what waits for the end of its context is cancelled.
func TestDoneBeforeReturn(t *testing.T) {
	boom := errors.New("boom")
	for name, fails := range map[string]KernelFunc{
		"on its goroutine": func(_ context.Context, c *Call) error { c.Done(boom); return nil },
		"on another": func(_ context.Context, c *Call) error {
			done := make(chan struct{})
			go func() { defer close(done); c.Done(boom) }()
			<-done
			return nil
		},
		"and panics":    func(_ context.Context, c *Call) error { c.Done(boom); panic("oops") },
		"and ends here": func(_ context.Context, c *Call) error { c.Done(boom); runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGraph()
			g.Add("waits", Op{Async: true, Run: func(ctx context.Context, c *Call) error {
				context.AfterFunc(ctx, func() { c.Done(ctx.Err()) })
				return nil
			}})
			g.Add("fails", Op{Async: true, Run: fails})
			got := make(chan error)
			newExecutor(t, g, Options{}).RunAsync(t.Context(), Args{}, func(err error) { got <- err })
			err := <-got
			if name == "and ends here" { // with the goroutine of the run, and all that it knew
				require.ErrorIs(t, err, ErrGoexit)
				return
			}
			require.ErrorIs(t, err, boom)
		})
	}
}

// Operators that wait for another one to leave do not outlive its failure.
func TestFailureAmongWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var fails atomic.Bool
		g := NewGraph()
		for range 4 {
			g.Add("", Op{Async: true, Run: func(_ context.Context, c *Call) error {
				time.AfterFunc(time.Second, func() {
					if fails.Load() {
						c.Done(boom)
					} else {
						c.Done(nil)
					}
				})
				return nil
			}})
		}
		x := newExecutor(t, g, Options{Concurrency: ConcurrencyNone})
		for i := range 4 {
			fails.Store(i%2 == 0)
			begin := time.Now()
			if err := x.Run(t.Context(), Args{}); fails.Load() {
				require.ErrorIs(t, err, boom)
				require.Equal(t, time.Second, time.Since(begin))
			} else {
				require.NoError(t, err, "the next run is unaffected")
				require.Equal(t, 4*time.Second, time.Since(begin))
			}
		}
		require.NoError(t, x.Close())
	})
}

// A node that is marked expensive is taken at its word until it turns out cheap,
// and again when it changes.
func TestCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes time.Duration
		g := NewGraph()
		g.Add("marked", Op{Expensive: true, Run: func(context.Context, *Call) error { time.Sleep(takes); return nil }})
		x := newExecutor(t, g, Options{})
		run := func(n int) bool {
			for range n {
				require.NoError(t, x.Run(t.Context(), Args{}))
			}
			return x.costs.expensive(0)
		}
		require.True(t, run(1))
		require.False(t, run(50))
		takes = time.Millisecond
		require.True(t, run(16), "one run in 16 of a cheap node is measured")
		require.True(t, run(50))
		require.NoError(t, x.Close())
	})
}

func TestMisuseOfCalls(t *testing.T) {
	for _, c := range []struct {
		run  KernelFunc
		want string
	}{
		{func(_ context.Context, c *Call) error { c.Done(nil); c.Done(nil); return nil }, "Call.Done was called twice for node n"},
		{func(_ context.Context, c *Call) error { c.Done(nil); c.Done(ErrAborted); return nil }, "Call.Done was called twice for node n"},
		{func(_ context.Context, c *Call) error { c.Issue(nil); return nil }, "not async, which node n is not"},
	} {
		g := NewGraph()
		g.Add("n", Op{Async: true, Run: c.run})
		require.ErrorContains(t, newExecutor(t, g, Options{}).Run(t.Context(), Args{}), c.want)
	}
	b, err := NewBuffer(Heap{}, 1, OnHost)
	require.NoError(t, err)
	b.Release()
	require.PanicsWithValue(t, "executor: a buffer was released more often than retained", b.Release)
}

// Two kernels end one goroutine: the second one on its way out, where it runs
// what waited for the first.
func TestGoexitTwice(t *testing.T) {
	entered, goOn := make(chan struct{}), make(chan struct{})
	g := NewGraph()
	g.Add("exits", Op{Run: func(_ context.Context, c *Call) error {
		if c.Root() == 1 {
			close(entered)
			<-goOn
		}
		runtime.Goexit()
		return nil
	}}, g.Recv("recv", "go", alice))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, Options{Name: "bob", Concurrency: ConcurrencyNone})
	require.NoError(t, err)
	r := NewRendezvous()
	l, err := x.Loop(t.Context(), LoopOptions{Slots: 2, Rendezvous: r})
	require.NoError(t, err)
	first, second := toBob("go"), toBob("go")
	second.Iteration = 1
	go r.Send(second, Int(1), false)
	<-entered
	require.NoError(t, r.Send(first, Int(0), false)) // its kernel waits for the other's to leave
	close(goOn)
	_, err = l.Next(t.Context())
	require.ErrorIs(t, err, ErrGoexit)
	var ne *NodeError
	require.ErrorAs(t, err, &ne)
	require.Zero(t, ne.Root)
	l.Close()
	require.NoError(t, x.Close())
}

// While one goroutine waits in Next, another one's Release starts the
// iteration that it waits for, and is still at it.
func TestNextWhileReleasing(t *testing.T) {
	entered, goOn := make(chan struct{}, 1), make(chan struct{}, 1)
	g := NewGraph()
	g.Output("k", g.Add("k", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
		entered <- struct{}{}
		<-goOn
		c.Set(0, Int(c.Root()))
		return nil
	}}).Out(0))
	goOn <- struct{}{}
	x, l := newLoop(t, g, LoopOptions{Slots: 1, Limit: 2})
	<-entered
	first, err := l.Next(t.Context())
	require.NoError(t, err)

	type outcome struct {
		r   Result
		err error
	}
	got := make(chan outcome)
	l.st.mu.Lock() // keeps a Next that takes it from looking on for now
	go func() {
		r, err := l.Next(context.Background())
		got <- outcome{r, err}
	}()
	time.Sleep(time.Millisecond)
	released := make(chan struct{})
	go func() { defer close(released); first.Release() }()
	<-entered
	l.st.mu.Unlock()
	select {
	case o := <-got:
		t.Errorf("Next returned %v before the iteration was finished", o.err)
	case <-time.After(time.Millisecond):
	}
	goOn <- struct{}{}
	o := <-got
	require.NoError(t, o.err)
	require.EqualValues(t, 1, o.r.Output(0).Int())
	<-released
	require.Panics(t, func() { first.Output(0) }, "its memory is another iteration's")
	l.Close()
	require.NoError(t, x.Close())
}

// Two steps that have work at the same time get two goroutines, although one
// that waits for work could take either.
func TestOffersToOneIdleGoroutine(t *testing.T) {
	x := newExecutor(t, NewGraph(), Options{Workers: 2})
	offer := func(steps ...*step) (started int) {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, st := range steps {
			x.offer(st)
		}
		return x.started
	}
	idle := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.idle
	}
	a, b := &step{x: x, helpers: 2}, &step{x: x, helpers: 2}
	require.Equal(t, 1, offer(a))
	for idle() == 0 { // it finds nothing to do, and waits
		runtime.Gosched()
	}
	require.Equal(t, 2, offer(a, b))
}
