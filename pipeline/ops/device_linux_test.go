package ops_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// TestBatchesOnTheDevice runs a pipeline under every policy on the fake driver and,
// where there is one, on a GPU. PLANKTON_CUDA=1 makes it a failure that there is none.
func TestBatchesOnTheDevice(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.DelayUS, 100)
		d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
		require.NoError(t, err)
		testBatchesOn(t, d)
		require.Empty(t, drv.Report())
	})
	t.Run("gpu", func(t *testing.T) {
		testBatchesOn(t, cudatest.OpenGPU(t, cuda.Options{}))
	})
}

// testBatchesOn compares outputs on the device with what host operators make. Rows
// that are not valid must be zero, and nothing may race, leak or grow.
func testBatchesOn(t *testing.T, d *cuda.Device) {
	const n, side, size, batch = 11, 9, 6, 4
	pictures, labels := make([]byte, n*side*side*3), make([]int64, n)
	for i := range pictures {
		pictures[i] = byte(i * i >> 2)
	}
	for i := range labels {
		labels[i] = int64(i % 3)
	}
	define := func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Name: "r", Shuffle: true}, readers.Rows(pictures, side, side, 3), readers.Rows(labels))
		o := ops.CropMirrorNormalizeOptions{
			CropOptions: ops.CropOptions{Height: size, Width: size, PosX: ops.Uniform(g, 0, 1)}, Mirror: ops.CoinFlip(g, 0.5), Mean: []float64{7}, Std: []float64{3},
		}
		one := ops.OneHotOptions{Classes: 3, IgnoreUnknown: true}
		image := ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, v[0]), o)
		g.Output("image", image)
		g.Output("label", ops.DeviceOneHot(g, ops.ToDevice(g, v[1]), one))
		g.Output("again", image)
		small := ops.ResizeOptions{Height: 5, Width: 7}
		resized := ops.DeviceResize(g, ops.ToDevice(g, v[0]), small)
		g.Output("resized", resized)
		g.Output("chain", ops.DeviceCropMirrorNormalize(g, resized, ops.CropMirrorNormalizeOptions{Mean: []float64{7}}))
		g.Output("host image", ops.CropMirrorNormalize(g, v[0], o))
		g.Output("host label", ops.OneHot(g, v[1], one))
		onHost := ops.Resize(g, v[0], small)
		g.Output("host resized", onHost)
		g.Output("host chain", ops.CropMirrorNormalize(g, onHost, ops.CropMirrorNormalizeOptions{Mean: []float64{7}}))
	}
	for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 5, Device: d, StreamPolicy: policy}, define)
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{ReaderName: "r", LastBatch: shard.Partial}, p)
		require.NoError(t, err)
		reader, err := d.NewStream()
		require.NoError(t, err)
		for epoch := range 3 {
			before := p.MemoryOf(memstats.Device)
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				for _, name := range []string{"image", "label", "resized", "chain"} {
					require.True(t, b.OnDevice(name))
					require.False(t, b.OnDevice("host "+name))
					got := cudatest.Download(t, reader, b.Bytes(name))
					require.Equal(t, b.Bytes("host "+name), got, "%v, %s of batch %d", policy, name, b.Step())
				}
				require.Equal(t, unsafe.SliceData(b.Bytes("image")), unsafe.SliceData(b.Bytes("again")))
			}
			if epoch > 0 {
				require.Equal(t, before, p.MemoryOf(memstats.Device), "memory must not grow")
			}
		}
		require.Positive(t, p.MemoryOf(memstats.PageLocked).Live)
		require.NoError(t, l.Close())
		require.NoError(t, reader.Close())
		require.Zero(t, p.MemoryOf(memstats.Device).Live)
	}
	require.NoError(t, d.Close())
}

// TestBatchesHeldAtClose closes a loader while batches are held, in memory of every
// kind. Their memory goes back, and they say so.
func TestBatchesHeldAtClose(t *testing.T) {
	drv := fakedriver.Open(t)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	for _, depth := range []int{0, 1} { // with slabs that belong to the batch, and to the device's part
		p, err := pipeline.New(pipeline.Options{BatchSize: 4, Device: d, HostPrefetchDepth: depth, DevicePrefetchDepth: depth}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]byte, 400), 10), readers.Rows(make([]byte, 40)))
			g.Output("device", ops.ToDevice(g, v[0]))
			g.Output("locked", v[0])
			g.Output("host", v[1])
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		var held []*iterator.Batch
		for b, err := range l.Steps(t.Context(), 2) {
			require.NoError(t, err)
			b.Retain()
			held = append(held, b)
		}
		require.NoError(t, l.Close())
		for kind := range memstats.Device + 1 {
			require.Zero(t, p.MemoryOf(kind).Live, kind)
		}
		for _, b := range held {
			for _, name := range p.Outputs() {
				require.PanicsWithValue(t, pipeline.ErrClosed, func() { b.Bytes(name) })
			}
			require.Len(t, b.IDs(), 4)
			b.Release()
			require.Panics(t, b.Release)
		}
	}
	require.NoError(t, d.Close())
}

// TestDeviceMemoryRunsOut asks for more than the GPU has.
func TestDeviceMemoryRunsOut(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.Memory, 100)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Device: d}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Name: "r"}, readers.Rows(make([]byte, 400), 100))
		g.Output("x", ops.ToDevice(g, v[0]))
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{ReaderName: "r"}, p)
	require.NoError(t, err)
	for _, err = range l.Epoch(t.Context()) {
		require.Error(t, err)
		break
	}
	var e *cuda.MemoryError
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, 400, e.Asked)
	require.EqualValues(t, 100, e.Free)
	require.NoError(t, l.Close())
	require.NoError(t, d.Close())
}

// TestHostOperatorCannotReadTheDevice names the operator that tries.
func TestHostOperatorCannotReadTheDevice(t *testing.T) {
	drv := fakedriver.Open(t)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	defer d.Close()
	_, err = pipeline.New(pipeline.Options{BatchSize: 1, Device: d}, func(g *pipeline.Graph) {
		v := ops.ToDevice(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]byte{1}))[0])
		g.Output("x", g.AddBatch(pipeline.BatchOp{
			Name: "reads", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{v.Spec()},
			New: func() (batchop.Kernel, error) { return nil, nil },
		})[0])
	})
	require.EqualError(t, err, "pipeline: reads: input 0 is in the memory of cuda:0 Fake 0, which an operator on the host cannot read")
}
