package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// With prefetch depths of their own, the two parts share the memory of a device, and
// page-locked memory, among more batches than there is memory for. The fake driver
// sees whether a slab is used again before its copy or its consumer is done.
func TestDepthsOnTheDevice(t *testing.T) {
	const n, row, batch = 50, 24, 4
	data := ramp(n * row)
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 100)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	for _, depths := range [][2]int{{1, 1}, {3, 1}, {1, 3}} {
		p, err := pipeline.New(pipeline.Options{
			BatchSize: batch, Device: d, StreamPolicy: streams.PerOperator,
			HostPrefetchDepth: depths[0], DevicePrefetchDepth: depths[1],
			DeviceMemoryBudget: int64(depths[1]+1) * batch * row,
		}, func(g *pipeline.Graph) {
			g.Output("x", ops.ToDevice(g, readers.Slices(g, readers.SlicesOptions{Name: "r"}, readers.Rows(data, row))[0]))
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{ReaderName: "r", LastBatch: shard.Partial}, p)
		require.NoError(t, err)
		reader, err := d.NewStream()
		require.NoError(t, err)
		at := 0
		for range 2 {
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				got := cudatest.Download(t, reader, b.Bytes("x"))
				want := b.NumValid() * row
				require.Equal(t, data[at:at+want], got[:want], "batch %d", b.Step())
				require.Equal(t, make([]byte, len(got)-want), got[want:], "rows that are not valid")
				at = (at + want) % len(data)
			}
		}
		require.EqualValues(t, (depths[0]+1)*batch*row, p.MemoryOf(memstats.PageLocked).Live)
		require.EqualValues(t, (depths[1]+1)*batch*row, p.MemoryOf(memstats.Device).Live)
		require.NoError(t, l.Close())
		require.NoError(t, reader.Close())
		require.Zero(t, p.MemoryOf(memstats.PageLocked).Live+p.MemoryOf(memstats.Device).Live)
	}
	require.NoError(t, d.Close())
	require.Empty(t, drv.Report())
}
