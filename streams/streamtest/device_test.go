package streamtest

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newStreams makes streams on the devices in turn, which the end of the test closes.
func newStreams(t *testing.T, d []*Device, n int) []streams.Stream {
	list := make([]streams.Stream, n)
	for i := range list {
		s, err := d[i%len(d)].NewStream()
		require.NoError(t, err)
		list[i] = s
	}
	for _, d := range d {
		t.Cleanup(func() { d.Close() })
	}
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
				for _, devices := range []int{1, 2, 3} { // and wherever the streams are
					d := NewDevices(seed, devices)
					c.issue(t, newStreams(t, d, 3))
					for _, d := range d {
						require.NoError(t, d.Close())
					}
					assert.Len(t, d[0].Races(), c.races)
					assert.Equal(t, d[0].Races(), d[devices-1].Races())
					for _, r := range d[0].Races() {
						assert.Contains(t, r.String(), "buffer x: ")
					}
				}
			}
		})
	}
}

func TestSeedDecides(t *testing.T) {
	run := func(seed uint64) []Step {
		d := New(seed)
		s := newStreams(t, []*Device{d}, 3)
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
	s := newStreams(t, []*Device{d}, 1)[0]
	ran := make(chan struct{})
	s.Do(func(*streams.Context) error { close(ran); return nil })
	assert.Empty(t, d.Trace())
	d.Start()
	<-ran
}

func TestName(t *testing.T) {
	for n, names := range [][]string{1: {"test"}, 2: {"test 0", "test 1"}} {
		var got []string
		for _, d := range NewDevices(1, n) {
			got = append(got, d.Name())
			require.NoError(t, d.Close())
		}
		assert.Equal(t, names, got)
	}
}

// TestClosedApart: of devices made together one goes on without the other, and
// has its own streams and clock.
func TestClosedApart(t *testing.T) {
	d := NewDevices(1, 2)
	s := newStreams(t, d, 2)
	s[0].Do(writes("x"))
	e := s[0].Record()
	require.NoError(t, d[0].Close())
	require.NoError(t, d[0].Close())
	_, err := d[0].NewStream()
	require.ErrorIs(t, err, streams.ErrClosed)
	s[1].Wait(e)
	s[1].Do(reads("x"))
	_, err = s[1].Record().Elapsed(e)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, s[1].Synchronize(t.Context()))
	require.NoError(t, d[1].Close())
	require.Empty(t, d[1].Races())
	require.Len(t, d[1].Trace(), 6)
}

// TestOtherDevices: what is declared on a device made apart says nothing, and its
// events are on another clock.
func TestOtherDevices(t *testing.T) {
	s := newStreams(t, []*Device{New(1)}, 1)[0]
	host := streams.NewHost()
	defer host.Close()
	h, err := host.NewStream()
	require.NoError(t, err)
	h.Do(writes("x"))
	require.NoError(t, h.Synchronize(t.Context()))
	_, err = s.Record().Elapsed(h.Record())
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestTwoDevices lets two devices wait for each other again and again.
func TestTwoDevices(t *testing.T) {
	d := []*Device{New(1), New(2)}
	var s [2]streams.Stream
	for i := range s {
		var err error
		s[i], err = d[i].NewStream()
		require.NoError(t, err)
		d[i].Start()
	}
	var log []int
	const rounds = 2000
	for i := range rounds {
		s[i%2].Do(func(*streams.Context) error { log = append(log, i); return nil })
		s[(i+1)%2].Wait(s[i%2].Record())
	}
	for i := range s {
		require.NoError(t, s[i].Synchronize(t.Context()))
		require.NoError(t, d[i].Close())
	}
	require.Len(t, log, rounds)
	require.True(t, slices.IsSorted(log))
}
