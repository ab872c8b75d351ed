package streams

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// open returns a host device with n streams, closed when the test ends.
func open(t testing.TB, n int) (Device, []Stream) {
	d := NewHost()
	list := make([]Stream, n)
	for i := range list {
		s, err := d.NewStream()
		require.NoError(t, err)
		list[i] = s
	}
	t.Cleanup(func() { d.Close() })
	return d, list
}

func work(fn func()) func(*Context) error {
	return func(*Context) error { fn(); return nil }
}

func TestStreamRunsInOrder(t *testing.T) {
	_, s := open(t, 1)
	var got []int
	for i := range 1000 {
		s[0].Do(work(func() { got = append(got, i) }))
	}
	require.NoError(t, s[0].Synchronize(t.Context()))
	for i, v := range got {
		require.Equal(t, i, v)
	}
	assert.Len(t, got, 1000)
}

func TestEventsOrderStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := open(t, 2)
		defer d.Close()
		written := false
		begin := s[0].Record()
		s[0].Do(work(func() { time.Sleep(time.Second); written = true }))
		ready := s[0].Record()
		s[1].Wait(ready)
		var seen bool
		s[1].Do(work(func() { seen = written }))
		end := s[1].Record()

		synctest.Wait()
		assert.True(t, begin.Query())
		assert.False(t, ready.Query())
		_, err := ready.Elapsed(begin)
		assert.ErrorIs(t, err, ErrNotReady)

		require.NoError(t, end.Wait(t.Context()))
		assert.True(t, seen)
		took, err := end.Elapsed(begin)
		require.NoError(t, err)
		assert.Equal(t, time.Second, took)
		_, err = end.Elapsed(nil)
		assert.ErrorIs(t, err, errors.ErrUnsupported)
	})
}

func TestEventThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := open(t, 1)
		defer d.Close()
		s[0].Do(work(func() { time.Sleep(time.Second) }))
		e := s[0].Record()
		calls := make(chan error, 2)
		e.Then(func(err error) { calls <- err })
		synctest.Wait()
		assert.Empty(t, calls)
		require.NoError(t, <-calls)
		e.Then(func(err error) { calls <- err }) // at once
		assert.Len(t, calls, 1)
	})
}

func TestFirstErrorSticksUntilSynchronize(t *testing.T) {
	_, s := open(t, 2)
	broken, later := errors.New("broken"), errors.New("later")
	ran := false
	s[0].Do(func(*Context) error { return broken })
	s[0].Do(func(*Context) error { ran = true; return later })
	e := s[0].Record()
	assert.ErrorIs(t, e.Wait(t.Context()), broken)

	s[1].Wait(e) // what it would read was never written
	s[1].Do(work(func() { ran = true }))
	assert.ErrorIs(t, s[1].Synchronize(t.Context()), broken)
	assert.False(t, ran)

	assert.ErrorIs(t, s[0].Synchronize(t.Context()), broken)
	s[0].Do(work(func() { ran = true }))
	assert.NoError(t, s[0].Synchronize(t.Context()))
	assert.True(t, ran)
}

func TestSynchronizeGivesUpWithItsContext(t *testing.T) {
	_, s := open(t, 1)
	broken, stop := errors.New("broken"), errors.New("stop")
	hold := s[0].Hold()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	assert.ErrorIs(t, s[0].Synchronize(ctx), stop)
	assert.ErrorIs(t, s[0].Record().Wait(ctx), stop)
	hold.Release(broken)
	hold.Release(nil) // only the first counts
	assert.ErrorIs(t, s[0].Synchronize(t.Context()), broken, "the stream must keep the error for who still asks")
}

func TestPanicsBecomeErrors(t *testing.T) {
	_, s := open(t, 1)
	s[0].Do(func(*Context) error { panic("oh") })
	err := s[0].Synchronize(t.Context())
	var p *PanicError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "oh", p.Value)
	assert.Contains(t, string(p.Stack), "TestPanicsBecomeErrors")

	cause := errors.New("cause")
	s[0].Do(func(*Context) error { panic(cause) })
	assert.ErrorIs(t, s[0].Synchronize(t.Context()), cause)

	s[0].Do(func(*Context) error { runtime.Goexit(); return nil })
	s[0].Do(work(func() { t.Error("ran after a failure") }))
	err = s[0].Synchronize(t.Context())
	require.ErrorAs(t, err, &p)
	assert.ErrorContains(t, err, "Goexit")

	ran := false
	s[0].Do(work(func() { ran = true }))
	assert.NoError(t, s[0].Synchronize(t.Context()))
	assert.True(t, ran, "the stream must outlive its goroutine")
}

func TestClose(t *testing.T) {
	d := NewHost()
	assert.Equal(t, "host", d.Name())
	a, err := d.NewStream()
	require.NoError(t, err)
	b, err := d.NewStream()
	require.NoError(t, err)
	var ran atomic.Int32
	broken := errors.New("broken")
	for range 100 {
		a.Do(work(func() { ran.Add(1) }))
	}
	assert.NoError(t, a.Close())
	assert.EqualValues(t, 100, ran.Load(), "what was issued must run")
	assert.NoError(t, a.Close())

	a.Do(work(func() { t.Error("ran on a closed stream") }))
	assert.ErrorIs(t, a.Record().Wait(t.Context()), ErrClosed)
	assert.ErrorIs(t, a.Synchronize(t.Context()), ErrClosed)
	h := a.Hold()
	assert.ErrorIs(t, h.Ready().Wait(t.Context()), ErrClosed)
	h.Release(nil)

	b.Do(func(*Context) error { return broken })
	assert.ErrorIs(t, d.Close(), broken)
	assert.NoError(t, d.Close())
	_, err = d.NewStream()
	assert.ErrorIs(t, err, ErrClosed)
}

func TestContextBelongsToTheStream(t *testing.T) {
	_, s := open(t, 2)
	var first *byte
	s[0].Do(func(c *Context) error {
		c.Value = "mine"
		w := c.Workspace(100)
		assert.Len(t, w, 100)
		assert.Zero(t, uintptr(unsafe.Pointer(&w[0]))%64)
		w[0], first = 7, &w[0]
		return nil
	})
	s[0].Do(func(c *Context) error {
		assert.Equal(t, "mine", c.Value)
		w := c.Workspace(50)
		assert.Same(t, first, &w[0])
		assert.EqualValues(t, 7, w[0])
		assert.Equal(t, 50, cap(w), "an append must not reach what others see")
		w = c.Workspace(1000)
		assert.Len(t, w, 1000)
		assert.Zero(t, uintptr(unsafe.Pointer(&w[0]))%64)
		return nil
	})
	assert.NoError(t, s[0].Synchronize(t.Context()))
	s[1].Do(func(c *Context) error {
		assert.Nil(t, c.Value)
		w := c.Workspace(50)
		assert.NotSame(t, first, &w[0])
		return nil
	})
	assert.NoError(t, s[1].Synchronize(t.Context()))
}

func TestScheduleIsSerialAndReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := open(t, 2)
		defer d.Close()
		var log []string
		add := func(text string) { log = append(log, text) }
		s[0].Do(work(func() { time.Sleep(time.Second); add("before") }))
		begin := time.Now()
		one := Schedule(t.Context(), s[0], func(ctx context.Context) error {
			add("one starts")
			s[1].Do(work(func() { time.Sleep(time.Second); add("work of one") }))
			if err := s[1].Synchronize(ctx); err != nil { // a decision on the host
				return err
			}
			add("one ends")
			return nil
		})
		two := Schedule(t.Context(), s[0], func(context.Context) error { add("two"); return nil })
		s[0].Do(work(func() { add("after") }))
		assert.Zero(t, time.Since(begin))
		require.NoError(t, two.Wait(t.Context()))
		assert.True(t, one.Query())
		require.NoError(t, s[0].Synchronize(t.Context()))
		assert.Equal(t, []string{"before", "one starts", "work of one", "one ends", "two", "after"}, log)
	})
}

func TestScheduleFails(t *testing.T) {
	_, s := open(t, 1)
	broken := errors.New("broken")
	skipped := func(context.Context) error { t.Error("ran after a failure"); return nil }
	e := Schedule(t.Context(), s[0], func(context.Context) error { return broken })
	f := Schedule(t.Context(), s[0], skipped)
	assert.ErrorIs(t, e.Wait(t.Context()), broken)
	assert.ErrorIs(t, f.Wait(t.Context()), broken)
	assert.ErrorIs(t, s[0].Synchronize(t.Context()), broken)

	var p *PanicError
	e = Schedule(t.Context(), s[0], func(context.Context) error { panic("oh") })
	assert.ErrorAs(t, e.Wait(t.Context()), &p)
	assert.Error(t, s[0].Synchronize(t.Context()))
	e = Schedule(t.Context(), s[0], func(context.Context) error { runtime.Goexit(); return nil })
	assert.ErrorAs(t, e.Wait(t.Context()), &p)
	assert.Error(t, s[0].Synchronize(t.Context()))

	require.NoError(t, s[0].Close())
	assert.ErrorIs(t, Schedule(t.Context(), s[0], skipped).Wait(t.Context()), ErrClosed)
}

func BenchmarkHostStream(b *testing.B) {
	_, s := open(b, 2)
	nothing := work(func() {})
	b.Run("do", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			s[0].Do(nothing)
		}
		require.NoError(b, s[0].Synchronize(b.Context()))
	})
	b.Run("record and wait", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			s[0].Do(nothing)
			s[1].Wait(s[0].Record())
			s[1].Do(nothing)
		}
		require.NoError(b, s[1].Synchronize(b.Context()))
	})
}
