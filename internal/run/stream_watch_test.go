package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// A watch holds on to no stream: streams come and go with runs.
func TestAWatchForgetsItsStreams(t *testing.T) {
	d := streamtest.New(1)
	w := &streamWatch{running: map[*streams.Context]*streamWork{}}
	for range 3 {
		w.begin()
		s, err := w.devices(d)[0].NewStream()
		require.NoError(t, err)
		for range 2 {
			s.Do(func(c *streams.Context) error {
				w.called(c, &opWork{})
				return nil
			})
			s.Record()
		}
		require.NoError(t, s.Synchronize(t.Context()))
		w.mu.Lock()
		require.Empty(t, w.running)
		w.mu.Unlock()
		require.NoError(t, s.Close())
	}
	require.NoError(t, d.Close())
}

// Each device has a clock of its own: the times of work on either are measured, and
// streams are numbered through.
func TestAWatchOfTwoDevices(t *testing.T) {
	w := &streamWatch{running: map[*streams.Context]*streamWork{}, hook: func(stats.StreamEvent) {}}
	devices := streamtest.NewDevices(1, 2)
	for number, d := range w.devices(devices[0], nil, devices[1]) {
		s, err := d.NewStream()
		require.NoError(t, err)
		var of opWork
		s.Do(func(c *streams.Context) error { w.called(c, &of); return nil })
		require.NoError(t, s.Record().Wait(t.Context()))
		work := w.take(&of)
		require.Equal(t, number, work.stream)
		took, measured := work.took()
		require.True(t, measured)
		e := w.event(work, took, measured)
		require.True(t, e.Measured, "by the events of device %d", number)
		require.Equal(t, number, e.Stream)
		require.Same(t, d, work.device)
	}
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
}
