package ops_test

import (
	"bytes"
	"image"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// declareAsDecoded tells the fake library of pictures as the host decodes them; status is what
// decoding number i returns.
func declareAsDecoded(t *testing.T, drv *fakedriver.Driver, files [][]byte, status func(i int) int) {
	host, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
		g.Output("rgb", ops.DecodeImage(g, v, ops.DecodeOptions{}))
	})
	require.NoError(t, err)
	for i, file := range files {
		p := host["rgb"][i]
		j := fakedriver.JPEG{File: file, H: p.shape[0], W: p.shape[1], Components: 3, RGB: make([]byte, len(p.data)), Status: status(i)}
		for k, v := range p.data {
			j.RGB[k] = uint8(v)
		}
		drv.Declare(t, j)
	}
}

// TestDeviceDecodeResize compares the device's chain with the host's, to the bit: the fake
// library decodes as the host does. Batches of which the device holds a part at a time, files
// that the library refuses and files that it is not asked for are among them.
func TestDeviceDecodeResize(t *testing.T) {
	const batch, h, w = 4, 17, 23
	drv, d, dec := cudatest.OpenNVJPEG(t)
	colour := encodeJPEG(t, smooth(60, 81))
	files := [][]byte{
		colour, encodeJPEG(t, smooth(33, 47)), encodeJPEG(t, gray(40, 40)), encodePNG(t, smooth(50, 31)), turned(colour, 6),
		encodeJPEG(t, smooth(16, 200)), commented(colour, 1<<14), encodeJPEG(t, smooth(9, 9)), encodeJPEG(t, smooth(70, 70)),
	}
	declareAsDecoded(t, drv, files, func(i int) int { return map[int]int{7: 4}[i] })
	for _, c := range []struct {
		name    string
		policy  streams.Policy
		o       ops.DeviceDecodeResizeOptions
		decoded int // by the library, in an epoch; all but the PNG, the turned one, the refused one, and the large one where it has no room
	}{
		{"all policies 1", streams.Single, ops.DeviceDecodeResizeOptions{FileBytes: 16 << 10}, 5},
		{"all policies 2", streams.PerBackend, ops.DeviceDecodeResizeOptions{FileBytes: 16 << 10}, 5},
		{"all policies 3", streams.PerOperator, ops.DeviceDecodeResizeOptions{FileBytes: 16 << 10}, 5},
		{"all policies 4", streams.Ranked, ops.DeviceDecodeResizeOptions{FileBytes: 16 << 10}, 5},
		{"float32", streams.Optimal, ops.DeviceDecodeResizeOptions{FileBytes: 16 << 10, Resize: ops.ResizeOptions{DType: datum.Float32}}, 5},
		{"whole pictures", streams.Optimal, ops.DeviceDecodeResizeOptions{Whole: true, Resize: ops.ResizeOptions{Interp: ops.Cubic}}, 6},
		{"checked", streams.Optimal, ops.DeviceDecodeResizeOptions{Check: true}, 6},
	} {
		c.o.Decoder, c.o.Resize.Height, c.o.Resize.Width = dec, h, w
		onHost := c.o
		onHost.Decoder = nil
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 5, Device: d, StreamPolicy: c.policy}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{Name: "r", Shuffle: true}, readers.Ragged(files))[0]
			x := ops.DeviceDecodeResize(g, v, c.o)
			g.Output("x", x)
			if c.o.Resize.DType == 0 {
				g.Output("normalised", ops.DeviceCropMirrorNormalize(g, x, ops.CropMirrorNormalizeOptions{Mean: []float64{7}}))
			}
		})
		require.NoError(t, err, c.name)
		l, err := iterator.New(iterator.Options{ReaderName: "r", LastBatch: shard.Partial}, p)
		require.NoError(t, err)
		q, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 5}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{Name: "r", Shuffle: true}, readers.Ragged(files))[0]
			g.Output("x", ops.DeviceDecodeResize(g, v, onHost))
		})
		require.NoError(t, err)
		host, err := iterator.New(iterator.Options{ReaderName: "r", LastBatch: shard.Partial}, q)
		require.NoError(t, err)
		reader, err := d.NewStream()
		require.NoError(t, err)
		var before memstats.Stats
		launches := drv.Count(fakedriver.Launches)
		for round := range 3 {
			var want [][]byte
			for b, err := range host.Epoch(t.Context()) {
				require.NoError(t, err)
				want = append(want, bytes.Clone(b.Bytes("x")))
			}
			step := 0
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				require.True(t, b.OnDevice("x"))
				require.Equal(t, []int{batch, h, w, 3}, b.Shape("x"))
				require.Equal(t, want[step], cudatest.Download(t, reader, b.Bytes("x")), "%s: batch %d", c.name, step)
				step++
			}
			require.Len(t, want, step)
			if round > 0 {
				require.Equal(t, before, p.MemoryOf(memstats.Device), "memory must not grow")
			}
			before = p.MemoryOf(memstats.Device)
		}
		require.NoError(t, l.Close())
		require.NoError(t, host.Close())
		require.NoError(t, reader.Close())
		if c.o.Resize.DType == 0 {
			launches += 3 * 3 // of the kernel behind
		}
		require.GreaterOrEqual(t, drv.Count(fakedriver.Launches)-launches, 3*2*c.decoded, "%s: two kernels resize a picture", c.name)
	}
}

// A batch whose pictures are more than Scratch is decoded in parts, and a picture that is
// more on the host: the results are the same.
func TestDeviceDecodeResizeInParts(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	var files [][]byte
	for i := range 6 {
		files = append(files, encodeJPEG(t, smooth(300+10*i, 700)))
	}
	files = append(files, encodeJPEG(t, smooth(600, 700)))
	declareAsDecoded(t, drv, files, func(int) int { return 0 })
	results := map[int][]byte{}
	for _, scratch := range []int{1 << 20, 0} {
		p, err := pipeline.New(pipeline.Options{BatchSize: len(files), Device: d}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
			g.Output("x", ops.DeviceDecodeResize(g, v, ops.DeviceDecodeResizeOptions{
				Resize: ops.ResizeOptions{Height: 20, Width: 30}, Decoder: dec, Scratch: scratch,
			}))
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			reader := cudatest.Stream(t, d)
			results[scratch] = cudatest.Download(t, reader, b.Bytes("x"))
			require.NoError(t, reader.Close())
			break
		}
		require.NoError(t, l.Close())
	}
	require.Equal(t, results[0], results[1<<20])
}

// TestDeviceDecodeResizeErrors tells what is an error of a sample from what ends the epoch.
func TestDeviceDecodeResizeErrors(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	good := encodeJPEG(t, smooth(32, 40))
	declareAsDecoded(t, drv, [][]byte{good}, func(int) int { return 0 })
	run := func(bad []byte, o ops.DeviceDecodeResizeOptions) (valid []int, err error) {
		o.Decoder, o.Resize = dec, ops.ResizeOptions{Height: 8, Width: 8}
		return validOnDevice(t, d, [][]byte{good, bad, good}, func(g *pipeline.Graph, files pipeline.Value) pipeline.Value {
			return ops.DeviceDecodeResize(g, files, o)
		})
	}
	for name, bad := range map[string][]byte{"no picture": []byte("no picture"), "cut short": good[:len(good)-2], "damaged": emptyScan(good)} {
		valid, err := run(bad, ops.DeviceDecodeResizeOptions{Check: true})
		require.NoError(t, err, name)
		require.Equal(t, []int{0, 2}, valid, name)
	}
	_, err := run(emptyScan(good), ops.DeviceDecodeResizeOptions{})
	var e *ops.DeviceDecodeError
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, 1, e.Index)
	require.Equal(t, 1, e.Row)
	require.ErrorContains(t, err, "device_decode_resize: sample 1, row 1 of its batch")

	drv.Fail("nvjpegDecodeBatched", 5, 0)
	_, err = run(good, ops.DeviceDecodeResizeOptions{})
	require.ErrorIs(t, err, cuda.ErrMemory)
}

func TestDeviceDecodeResizeRefuses(t *testing.T) {
	_, d, dec := cudatest.OpenNVJPEG(t)
	good := encodeJPEG(t, image.NewGray(image.Rect(0, 0, 8, 8)))
	size := ops.ResizeOptions{Height: 8, Width: 8}
	for want, o := range map[string]ops.DeviceDecodeResizeOptions{
		"no size is given":               {},
		"Resize gives no one size":       {Resize: ops.ResizeOptions{Shorter: 8}},
		"Resize has a region of its own": {Resize: ops.ResizeOptions{Height: 8, Width: 8, ROIEnd: [2]float64{1, 1}, ROIRelative: true}},
		"Type is 3":                      {Resize: size, RandomCropOptions: ops.RandomCropOptions{DecodeOptions: ops.DecodeOptions{Type: ops.YCbCr}}},
		"FileBytes is 3":                 {Resize: size, FileBytes: 3},
		"Scratch 5":                      {Resize: size, Scratch: 5},
		"Area is 2":                      {Resize: size, RandomCropOptions: ops.RandomCropOptions{Area: [2]float64{2, 3}}},
	} {
		o.Decoder = dec
		_, err := pipeline.New(pipeline.Options{BatchSize: 1, Device: d}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{good}))[0]
			g.Output("x", ops.DeviceDecodeResize(g, v, o))
		})
		require.ErrorContains(t, err, want)
	}
	_, err := pipeline.New(pipeline.Options{BatchSize: 1, Device: d, ExactRGB: true}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{good}))[0]
		g.Output("x", ops.DeviceDecodeResize(g, v, ops.DeviceDecodeResizeOptions{Resize: size, Decoder: dec}))
	})
	require.ErrorContains(t, err, "which nvjpeg 12.4.0 does not have: leave Decoder out")
}
