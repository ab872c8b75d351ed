package streamtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
)

// Conform tests that a device keeps the rules of package streams. open returns
// a new device each time, which Conform closes. What it looks at are the functions
// given to Do, so it says nothing about work that they leave to a GPU.
func Conform(t *testing.T, open func(t *testing.T) streams.Device) {
	for _, rule := range []struct {
		name  string
		check func(*testing.T, streams.Device)
	}{
		{"work runs in order", checkOrder},
		{"events order streams", checkEvents},
		{"events call back once", checkThen},
		{"the first error sticks", checkErrors},
		{"synchronize gives up with its context", checkGivingUp},
		{"panics become errors", checkPanics},
		{"nil is no event", checkNoEvent},
		{"a hold keeps its place", checkHold},
		{"a hold is passed", checkPassed},
		{"a context belongs to its stream", checkContext},
		{"a closed stream has run its work", checkClose},
		{"devices wait for each other", checkTwoDevices},
		{"scheduled graphs follow each other", checkSchedule},
		{"scheduled graphs wait without goroutines", checkScheduled},
		{"a scheduled graph ends with its context", checkScheduleEnds},
		{"a graph cannot wait for its own stream", checkOwnStream},
		{"every plan computes the same", checkPlans},
	} {
		t.Run(rule.name, func(t *testing.T) {
			d := open(t)
			rule.check(t, d)
			require.NoError(t, d.Close())
			require.NoError(t, d.Close(), "a second time")
			_, err := d.NewStream()
			require.ErrorIs(t, err, streams.ErrClosed)
		})
	}
}

func openStreams(t require.TestingT, d streams.Device, n int) []streams.Stream {
	list := make([]streams.Stream, n)
	for i := range list {
		s, err := d.NewStream()
		require.NoError(t, err)
		list[i] = s
	}
	return list
}

func does(fn func()) func(*streams.Context) error {
	return func(*streams.Context) error { fn(); return nil }
}

func fails(err error) func(*streams.Context) error {
	return func(*streams.Context) error { return err }
}

func checkOrder(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	var got []int
	for i := range 1000 {
		s.Do(does(func() { got = append(got, i) }))
	}
	require.NoError(t, s.Synchronize(t.Context()))
	require.Len(t, got, 1000)
	require.True(t, slices.IsSorted(got))
}

func checkEvents(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	h := s[0].Hold()
	begin := s[0].Record()
	written := false
	s[0].Do(does(func() { time.Sleep(time.Millisecond); written = true }))
	ready := s[0].Record()
	s[1].Wait(ready)
	var seen bool
	s[1].Do(does(func() { seen = written }))
	end := s[1].Record()
	require.False(t, ready.Query())
	_, err := ready.Elapsed(begin)
	require.ErrorIs(t, err, streams.ErrNotReady)

	h.Release(nil)
	require.NoError(t, end.Wait(t.Context()))
	require.True(t, seen)
	require.True(t, ready.Query())
	took, err := end.Elapsed(begin)
	require.NoError(t, err)
	require.Positive(t, took)
	_, err = end.Elapsed(nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func checkThen(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	broken := errors.New("broken")
	h := s.Hold()
	e := s.Record()
	calls := make(chan error, 3)
	e.Then(func(err error) { calls <- err })
	e.Then(func(err error) { calls <- err })
	require.Empty(t, calls)
	h.Release(broken)
	require.ErrorIs(t, <-calls, broken)
	require.ErrorIs(t, <-calls, broken)
	e.Then(func(err error) { calls <- err }) // at once
	require.Len(t, calls, 1)
	require.ErrorIs(t, s.Synchronize(t.Context()), broken)
}

func checkErrors(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	broken, later := errors.New("broken"), errors.New("later")
	ran := false
	s[0].Do(fails(broken))
	s[0].Do(func(*streams.Context) error { ran = true; return later })
	e := s[0].Record()
	require.ErrorIs(t, e.Wait(t.Context()), broken)

	s[1].Wait(e) // what it would read was never written
	s[1].Do(does(func() { ran = true }))
	require.ErrorIs(t, s[1].Synchronize(t.Context()), broken)
	require.False(t, ran)

	require.ErrorIs(t, s[0].Synchronize(t.Context()), broken)
	s[0].Do(does(func() { ran = true }))
	require.NoError(t, s[0].Synchronize(t.Context()))
	require.True(t, ran)
}

func checkGivingUp(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	broken, stop := errors.New("broken"), errors.New("stop")
	h := s.Hold()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	require.ErrorIs(t, s.Synchronize(ctx), stop)
	require.ErrorIs(t, s.Record().Wait(ctx), stop)
	h.Release(broken)
	h.Release(nil) // only the first counts
	require.ErrorIs(t, s.Synchronize(t.Context()), broken, "the stream must keep the error for who still asks")
}

func checkPanics(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	cause := errors.New("cause")
	for _, c := range []struct {
		fn   func()
		want any
	}{
		{func() { panic("oh") }, "oh"},
		{func() { panic(cause) }, cause},
		{runtime.Goexit, nil},
	} {
		s.Do(does(c.fn))
		s.Do(does(func() { t.Error("ran after a failure") }))
		err := s.Synchronize(t.Context())
		var p *streams.PanicError
		require.ErrorAs(t, err, &p)
		require.Equal(t, c.want, p.Value)
		require.Equal(t, c.want == cause, errors.Is(err, cause))
	}
	ran := false
	s.Do(does(func() { ran = true }))
	require.NoError(t, s.Synchronize(t.Context()))
	require.True(t, ran, "the stream must outlive what ended its goroutine")
}

func checkHold(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	var log []string
	add := func(text string) func(*streams.Context) error { return does(func() { log = append(log, text) }) }
	s[0].Do(add("before"))
	h := s[0].Hold()
	s[0].Do(add("after"))
	require.NoError(t, h.Ready().Wait(t.Context()))
	s[1].Do(add("held"))
	s[1].Record().Then(h.Release)
	require.NoError(t, s[0].Synchronize(t.Context()))
	require.Equal(t, []string{"before", "held", "after"}, log)
}

func checkNoEvent(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	s.Wait(nil)
	s.Do(does(func() { t.Error("ran before what nobody knows") }))
	require.Equal(t, streams.ErrNoEvent, s.Record().Wait(t.Context()))
	require.Equal(t, streams.ErrNoEvent, s.Synchronize(t.Context()))
	ran := false
	s.Do(does(func() { ran = true }))
	require.NoError(t, s.Synchronize(t.Context()))
	require.True(t, ran)
	require.NoError(t, s.Close())
	s.Wait(nil)
}

func checkPassed(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	first, h := s[0].Hold(), s[0].Hold()
	require.False(t, h.Passed().Query())
	h.Release(nil) // it has not been reached
	require.False(t, h.Passed().Query())
	first.Release(nil)
	require.NoError(t, h.Passed().Wait(t.Context()))
	require.NoError(t, first.Passed().Wait(t.Context()))

	broken := errors.New("broken")
	first, h = s[0].Hold(), s[0].Hold()
	calls := make(chan error, 2)
	h.Passed().Then(func(err error) { calls <- err })
	s[1].Wait(h.Passed())
	h.Release(broken)
	require.Equal(t, broken, <-calls, "there is nothing left to wait for")
	require.Equal(t, broken, h.Passed().Wait(t.Context()))
	require.Equal(t, broken, s[1].Synchronize(t.Context()))
	require.False(t, first.Ready().Query() && first.Passed().Query(), "the stream itself goes on in order")
	first.Release(nil)
	require.Equal(t, broken, s[0].Synchronize(t.Context()))
	require.Empty(t, calls)
	require.Equal(t, broken, h.Passed().Wait(t.Context()))
}

func checkContext(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	var first *byte
	s[0].Do(func(c *streams.Context) error {
		c.Value = "mine"
		w := c.Workspace(100)
		assert.Len(t, w, 100)
		assert.Zero(t, uintptr(unsafe.Pointer(&w[0]))%64)
		first = &w[0]
		return nil
	})
	s[0].Do(func(c *streams.Context) error {
		assert.Equal(t, "mine", c.Value)
		w := c.Workspace(50)
		assert.Same(t, first, &w[0])
		assert.Equal(t, 50, cap(w), "an append must not reach what others see")
		w = c.Workspace(1000)
		assert.Len(t, w, 1000)
		assert.Zero(t, uintptr(unsafe.Pointer(&w[0]))%64)
		return nil
	})
	require.NoError(t, s[0].Synchronize(t.Context()))
	s[1].Do(func(c *streams.Context) error {
		assert.Nil(t, c.Value)
		assert.NotSame(t, first, &c.Workspace(50)[0])
		return nil
	})
	require.NoError(t, s[1].Synchronize(t.Context()))
}

func checkClose(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	broken := errors.New("broken")
	var ran atomic.Int32
	for range 100 {
		s[0].Do(does(func() { ran.Add(1) }))
	}
	s[0].Do(fails(broken))
	require.ErrorIs(t, s[0].Close(), broken)
	require.EqualValues(t, 100, ran.Load(), "what was issued must run")
	require.NoError(t, s[0].Close())

	s[0].Do(does(func() { t.Error("ran on a closed stream") }))
	s[1].Wait(s[0].Record())
	require.ErrorIs(t, s[0].Record().Wait(t.Context()), streams.ErrClosed)
	require.ErrorIs(t, s[0].Synchronize(t.Context()), streams.ErrClosed)
	h := s[0].Hold()
	require.ErrorIs(t, h.Ready().Wait(t.Context()), streams.ErrClosed)
	h.Release(nil)
	require.ErrorIs(t, s[1].Synchronize(t.Context()), streams.ErrClosed)

	s[1].Do(fails(broken))
	require.ErrorIs(t, d.Close(), broken)
}

func checkTwoDevices(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	host := streams.NewHost()
	defer host.Close()
	h := openStreams(t, host, 1)[0]
	var log []string
	add := func(text string) func(*streams.Context) error { return does(func() { log = append(log, text) }) }
	h.Do(add("host"))
	s.Wait(h.Record())
	s.Do(add("device"))
	h.Wait(s.Record())
	h.Do(add("host again"))
	require.NoError(t, h.Synchronize(t.Context()))
	require.Equal(t, []string{"host", "device", "host again"}, log)

	broken := errors.New("broken")
	h.Do(fails(broken))
	s.Wait(h.Record())
	require.ErrorIs(t, s.Synchronize(t.Context()), broken)
	require.ErrorIs(t, h.Synchronize(t.Context()), broken)
}

// checkPlans runs random graphs under every policy. A node is 1 plus the sum of
// its producers; under the race detector this also proves the order.
func checkPlans(t *testing.T, d streams.Device) {
	main := openStreams(t, d, 1)[0]
	for seed := range uint64(12) {
		g := RandomGraph(seed, 12)
		for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
			p, err := streams.Assign(g, policy, streams.Options{})
			require.NoError(t, err)
			r, err := streams.NewRunner(p, func(int) (streams.Device, error) { return d, nil })
			require.NoError(t, err)
			want, got := make([]int, g.N), make([]int, g.N)
			for v := range g.N {
				require.NoError(t, sum(g, want, v)(nil))
			}
			for range 2 {
				e := r.Run(t.Context(), main, func(v int) func(*streams.Context) error { return sum(g, got, v) })
				require.NoError(t, e.Wait(t.Context()))
				require.Equal(t, want, got, "seed %d, policy %v", seed, policy)
			}
			require.NoError(t, r.Close())
		}
	}
}

func sum(g *streams.Graph, values []int, v int) func(*streams.Context) error {
	return func(*streams.Context) error {
		values[v] = 1
		for _, e := range g.Edges {
			if e.To == v {
				values[v] += values[e.From]
			}
		}
		return nil
	}
}

// RandomGraph returns a graph of up to n nodes, data edges only, that follows
// from the seed. Density, commands and costs vary.
func RandomGraph(seed uint64, n int) *streams.Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	g := &streams.Graph{N: 1 + rng.IntN(n)}
	density := 2 + rng.IntN(5)
	for v := range g.N {
		for u := range v {
			if rng.IntN(density) == 0 {
				g.Edges = append(g.Edges, streams.Edge{From: u, To: v})
			}
		}
		g.Cmds = append(g.Cmds, rng.IntN(3))
		g.Cost = append(g.Cost, float64(rng.IntN(5)))
	}
	return g
}
