package streamtest

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
)

func checkSchedule(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	var log []string
	add := func(text string) { log = append(log, text) }
	h := s[0].Hold()
	s[0].Do(does(func() { add("before") }))
	one := streams.Schedule(t.Context(), s[0], func(ctx context.Context) error {
		add("one starts")
		s[1].Do(does(func() { time.Sleep(time.Millisecond); add("work of one") }))
		if err := s[1].Synchronize(ctx); err != nil { // a decision on the host
			return err
		}
		add("one ends")
		return nil
	})
	two := streams.Schedule(t.Context(), s[0], func(context.Context) error { add("two"); return nil })
	s[0].Do(does(func() { add("after") }))
	require.False(t, one.Query())
	h.Release(nil)
	require.NoError(t, two.Wait(t.Context()))
	require.True(t, one.Query())
	require.NoError(t, s[0].Synchronize(t.Context()))
	require.Equal(t, []string{"before", "one starts", "work of one", "one ends", "two", "after"}, log)

	broken := errors.New("broken")
	e := streams.Schedule(t.Context(), s[0], func(context.Context) error { return broken })
	f := streams.Schedule(t.Context(), s[0], func(context.Context) error { t.Error("ran after a failure"); return nil })
	require.ErrorIs(t, e.Wait(t.Context()), broken)
	require.ErrorIs(t, f.Wait(t.Context()), broken)
	require.ErrorIs(t, s[0].Synchronize(t.Context()), broken)

	for _, fn := range []func(){func() { panic("oh") }, runtime.Goexit} {
		e := streams.Schedule(t.Context(), s[0], func(context.Context) error { fn(); return nil })
		var p *streams.PanicError
		require.ErrorAs(t, e.Wait(t.Context()), &p)
		require.ErrorAs(t, s[0].Synchronize(t.Context()), &p)
	}
	require.NoError(t, s[0].Close())
	f = streams.Schedule(t.Context(), s[0], func(context.Context) error { t.Error("ran on a closed stream"); return nil })
	require.ErrorIs(t, f.Wait(t.Context()), streams.ErrClosed)
}

// checkScheduled counts goroutines while many graphs wait for their turn.
func checkScheduled(t *testing.T, d streams.Device) {
	const graphs = 1000
	s := openStreams(t, d, 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := s.Hold()
	require.NoError(t, h.Ready().Wait(t.Context())) // what runs the device is there
	before, ran := runtime.NumGoroutine(), 0
	var last streams.Event
	for range graphs {
		last = streams.Schedule(ctx, s, func(context.Context) error { ran++; return nil })
	}
	require.Less(t, runtime.NumGoroutine()-before, graphs/10)
	h.Release(nil)
	require.NoError(t, last.Wait(t.Context()))
	require.Equal(t, graphs, ran)
}

// checkScheduleEnds ends the context of a graph that has not started.
func checkScheduleEnds(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 1)[0]
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := s.Hold()
	e := streams.Schedule(ctx, s, func(context.Context) error { t.Error("ran after its context"); return nil })
	told := make(chan error, 1)
	e.Then(func(err error) { told <- err })
	cancel(stop)
	require.Equal(t, stop, <-told)
	require.Equal(t, stop, e.Wait(t.Context()))
	s.Do(does(func() { t.Error("ran after a failure") }))
	h.Release(nil)
	require.Equal(t, stop, s.Synchronize(t.Context()))
}

// checkOwnStream schedules graphs on the stream that their callers hold: with the
// caller's context, from a graph in between, and with another context.
func checkOwnStream(t *testing.T, d streams.Device) {
	s := openStreams(t, d, 2)
	never := func(context.Context) error { t.Error("ran inside of what it comes after"); return nil }
	wait := func(e streams.Event) error { return e.Wait(context.Background()) }
	stop := errors.New("stop")
	outer, cancel := context.WithCancelCause(t.Context())
	e := streams.Schedule(t.Context(), s[0], func(ctx context.Context) error {
		assert.Equal(t, streams.ErrOwnStream, wait(streams.Schedule(ctx, s[0], never)))
		assert.NoError(t, wait(streams.Schedule(ctx, s[1], func(ctx context.Context) error {
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			assert.Equal(t, streams.ErrOwnStream, wait(streams.Schedule(derived, s[0], never)))
			return nil
		})))
		e := streams.Schedule(outer, s[0], never)
		cancel(stop)
		assert.Equal(t, stop, wait(e))
		return nil
	})
	require.NoError(t, wait(e), "the caller's own graph is unharmed")
	require.Equal(t, stop, s[0].Synchronize(t.Context()), "what was given up has its place behind")

	var late context.Context
	require.NoError(t, wait(streams.Schedule(t.Context(), s[0], func(ctx context.Context) error { late = ctx; return nil })))
	require.NoError(t, wait(streams.Schedule(late, s[0], func(context.Context) error { return nil })), "its caller has ended")
}
