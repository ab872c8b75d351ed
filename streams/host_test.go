package streams_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

func TestHostConforms(t *testing.T) {
	streamtest.Conform(t, func(*testing.T) streams.Device { return streams.NewHost() })
}

func TestHostClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := streams.NewHost()
		defer d.Close()
		assert.Equal(t, "host", d.Name())
		s, err := d.NewStream()
		require.NoError(t, err)
		begin := s.Record()
		s.Do(func(*streams.Context) error { time.Sleep(time.Second); return nil })
		end := s.Record()
		synctest.Wait()
		assert.True(t, begin.Query())
		assert.False(t, end.Query())
		require.NoError(t, end.Wait(t.Context()))
		took, err := end.Elapsed(begin)
		require.NoError(t, err)
		assert.Equal(t, time.Second, took)
	})
}

func TestPanicsShowTheirStack(t *testing.T) {
	d := streams.NewHost()
	s, err := d.NewStream()
	require.NoError(t, err)
	s.Do(func(*streams.Context) error { panic("oh") })
	var p *streams.PanicError
	require.ErrorAs(t, d.Close(), &p)
	assert.ErrorContains(t, p, "panic: oh (")
	assert.ErrorContains(t, p, "/host_test.go:")
	assert.Contains(t, string(p.Stack), "TestPanicsShowTheirStack")
	assert.ErrorContains(t, &streams.PanicError{}, "Goexit")
}

func BenchmarkHostStream(b *testing.B) {
	d := streams.NewHost()
	defer d.Close()
	s := make([]streams.Stream, 2)
	for i := range s {
		var err error
		s[i], err = d.NewStream()
		require.NoError(b, err)
	}
	nothing := func(*streams.Context) error { return nil }
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
