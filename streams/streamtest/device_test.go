package streamtest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStreams(t *testing.T, d *Device, n int) []streams.Stream {
	list := make([]streams.Stream, n)
	for i := range list {
		s, err := d.NewStream()
		require.NoError(t, err)
		list[i] = s
	}
	t.Cleanup(func() { d.Close() })
	return list
}

func reads(key any) func(*streams.Context) error {
	return func(c *streams.Context) error { Reads(c, key); return nil }
}

func writes(key any) func(*streams.Context) error {
	return func(c *streams.Context) error { Writes(c, key); return nil }
}

func TestRaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		issue func(t *testing.T, s []streams.Stream)
		races int
	}{
		{"same stream", func(_ *testing.T, s []streams.Stream) { s[0].Do(writes("x")); s[0].Do(reads("x")) }, 0},
		{"read after write", func(_ *testing.T, s []streams.Stream) { s[0].Do(writes("x")); s[1].Do(reads("x")) }, 1},
		{"write after write", func(_ *testing.T, s []streams.Stream) { s[0].Do(writes("x")); s[1].Do(writes("x")) }, 1},
		{"write after two reads", func(_ *testing.T, s []streams.Stream) {
			s[0].Do(reads("x"))
			s[1].Do(reads("x"))
			s[2].Do(writes("x"))
		}, 2},
		{"two reads", func(_ *testing.T, s []streams.Stream) { s[0].Do(reads("x")); s[1].Do(reads("x")) }, 0},
		{"different buffers", func(_ *testing.T, s []streams.Stream) { s[0].Do(writes("x")); s[1].Do(writes("y")) }, 0},
		{"event", func(_ *testing.T, s []streams.Stream) {
			s[0].Do(writes("x"))
			s[1].Wait(s[0].Record())
			s[1].Do(reads("x"))
		}, 0},
		{"event over a third stream", func(_ *testing.T, s []streams.Stream) {
			s[0].Do(writes("x"))
			s[1].Wait(s[0].Record())
			s[2].Wait(s[1].Record())
			s[2].Do(writes("x"))
		}, 0},
		{"event recorded too early", func(_ *testing.T, s []streams.Stream) {
			e := s[0].Record()
			s[0].Do(writes("x"))
			s[1].Wait(e)
			s[1].Do(reads("x"))
		}, 1},
		{"over the host", func(t *testing.T, s []streams.Stream) {
			s[0].Do(writes("x"))
			require.NoError(t, s[0].Synchronize(t.Context()))
			s[1].Do(reads("x"))
		}, 0},
		{"over a hold", func(t *testing.T, s []streams.Stream) {
			h := s[1].Hold()
			s[1].Do(reads("x"))
			s[0].Do(writes("x"))
			s[0].Record().Then(h.Release)
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) { // found whatever the interleaving
				d := New(seed)
				c.issue(t, newStreams(t, d, 3))
				require.NoError(t, d.Close())
				assert.Len(t, d.Races(), c.races)
				for _, r := range d.Races() {
					assert.Contains(t, r.String(), "buffer x: ")
				}
			}
		})
	}
}

func TestSeedDecides(t *testing.T) {
	run := func(seed uint64) []Step {
		d := New(seed)
		s := newStreams(t, d, 3)
		for i := range 10 {
			s[i%3].Do(writes(i))
			s[(i+1)%3].Wait(s[i%3].Record())
		}
		require.NoError(t, d.Close())
		return d.Trace()
	}
	assert.Len(t, run(1), 30)
	assert.Equal(t, run(1), run(1))
	assert.NotEqual(t, run(1), run(2))
}

func TestStart(t *testing.T) {
	d := New(1)
	s := newStreams(t, d, 1)[0]
	ran := make(chan struct{})
	s.Do(func(*streams.Context) error { close(ran); return nil })
	assert.Empty(t, d.Trace())
	d.Start()
	<-ran
}

func TestDeviceKeepsTheRules(t *testing.T) {
	d := New(1)
	s := newStreams(t, d, 2)
	assert.Equal(t, "test", d.Name())
	broken := errors.New("broken")
	begin := s[0].Record()
	s[0].Do(func(*streams.Context) error { return broken })
	s[0].Do(func(*streams.Context) error { t.Error("ran after a failure"); return nil })
	end := s[0].Record()
	s[1].Wait(end)
	_, err := end.Elapsed(begin)
	assert.ErrorIs(t, err, streams.ErrNotReady)
	assert.ErrorIs(t, end.Wait(t.Context()), broken)
	took, err := end.Elapsed(begin)
	require.NoError(t, err)
	assert.Positive(t, took)
	assert.ErrorIs(t, s[1].Synchronize(t.Context()), broken)
	assert.ErrorIs(t, s[0].Synchronize(t.Context()), broken)
	assert.NoError(t, s[0].Synchronize(t.Context()))
	for !end.Query() {
	}

	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	h := s[0].Hold()
	assert.ErrorIs(t, s[0].Synchronize(ctx), stop)
	assert.NoError(t, h.Ready().Wait(t.Context()))
	h.Release(broken)
	assert.ErrorIs(t, s[0].Synchronize(t.Context()), broken)

	s[0].Do(func(*streams.Context) error { panic("oh") })
	var p *streams.PanicError
	assert.ErrorAs(t, s[0].Synchronize(t.Context()), &p)

	require.NoError(t, s[0].Close())
	s[0].Do(func(*streams.Context) error { t.Error("ran on a closed stream"); return nil })
	assert.ErrorIs(t, s[0].Record().Wait(t.Context()), streams.ErrClosed)
	assert.ErrorIs(t, s[0].Hold().Ready().Wait(t.Context()), streams.ErrClosed)
	assert.ErrorIs(t, s[0].Synchronize(t.Context()), streams.ErrClosed)
	require.NoError(t, d.Close())
	_, err = d.NewStream()
	assert.ErrorIs(t, err, streams.ErrClosed)
}

// TestTwoDevices lets streams of the test device and of the host wait for each other.
func TestTwoDevices(t *testing.T) {
	d := New(1)
	s := newStreams(t, d, 1)[0]
	host := streams.NewHost()
	defer host.Close()
	h, err := host.NewStream()
	require.NoError(t, err)
	var log []string
	add := func(text string) func(*streams.Context) error {
		return func(c *streams.Context) error {
			Writes(c, "log") // nothing to declare on the host
			log = append(log, text)
			return nil
		}
	}
	h.Do(add("host"))
	s.Wait(h.Record())
	s.Do(add("test"))
	h.Wait(s.Record())
	h.Do(add("host again"))
	require.NoError(t, h.Synchronize(t.Context()))
	assert.Equal(t, []string{"host", "test", "host again"}, log)
	_, err = s.Record().Elapsed(h.Record())
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}
