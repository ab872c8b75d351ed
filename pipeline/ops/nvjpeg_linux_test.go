package ops_test

import (
	"bytes"
	"image"
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
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// commented adds a comment to a JPEG file that makes it larger than its pixels.
func commented(file []byte, pixels int) []byte {
	n := pixels + 2
	return bytes.Join([][]byte{file[:2], {0xff, 0xfe, byte(n >> 8), byte(n)}, make([]byte, pixels), file[2:]}, nil)
}

// emptyScan is a file without the data of its picture, but with everything before
// and behind.
func emptyScan(file []byte) []byte {
	scan := bytes.Index(file, []byte("\xff\xda"))
	end := scan + 2 + int(file[scan+2])<<8 + int(file[scan+3])
	return append(bytes.Clone(file[:end]), 0xff, 0xd9)
}

// TestDeviceDecode decodes files of all kinds under every policy of streams. The
// fake library knows a negative of the pictures, so that each shows who decoded it.
func TestDeviceDecode(t *testing.T) {
	const side, batch = 32, 4
	drv, d, dec := cudatest.OpenNVJPEG(t)
	colour := encodeJPEG(t, smooth(side, side))
	refused := encodeJPEG(t, image.NewRGBA(image.Rect(0, 0, side, side)))
	files := [][]byte{
		colour, encodePNG(t, smooth(side, side)), encodeJPEG(t, gray(side, side)), turned(colour, 6), commented(colour, side*side*3), refused, turned(colour, 1), colour, colour,
		encodeJPEG(t, gray(side, side)),
	}
	onDevice := map[int]bool{0: true, 2: true, 6: true, 7: true, 8: true, 9: true}
	host, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
		g.Output("rgb", ops.DecodeImage(g, v, ops.DecodeOptions{}))
		g.Output("bgr", ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.BGR}))
		g.Output("gray", ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.Gray}))
	})
	require.NoError(t, err)
	for i, file := range files {
		j := fakedriver.JPEG{File: file, H: side, W: side, Components: 3, RGB: make([]byte, side*side*3)}
		for k := range j.RGB {
			j.RGB[k] = 255 - uint8(host["rgb"][i].data[k])
		}
		if bytes.Equal(file, refused) {
			j.Status = 4
		}
		drv.Declare(t, j)
	}
	want := func(name string, i, k int) uint8 {
		if !onDevice[i] {
			return uint8(host[name][i].data[k])
		}
		if name == "gray" { // of the fake library, the first channel
			return 255 - uint8(host["rgb"][i].data[3*k])
		}
		return 255 - uint8(host[name][i].data[k])
	}
	for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 5, Device: d, StreamPolicy: policy}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{Name: "r", Shuffle: true}, readers.Ragged(files))[0]
			for name, colours := range map[string]ops.ColorType{"rgb": ops.RGB, "bgr": ops.BGR, "gray": ops.Gray} {
				g.Output(name, ops.DeviceDecodeImage(g, v, ops.DeviceDecodeOptions{
					DecodeOptions: ops.DecodeOptions{Type: colours}, Height: side, Width: side, Decoder: dec,
				}))
			}
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{ReaderName: "r", LastBatch: shard.Partial}, p)
		require.NoError(t, err)
		reader, err := d.NewStream()
		require.NoError(t, err)
		var before memstats.Stats
		for round := range 3 {
			seen := 0
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				for name, c := range map[string]int{"rgb": 3, "bgr": 3, "gray": 1} {
					require.True(t, b.OnDevice(name))
					require.Equal(t, []int{batch, side, side, c}, b.Shape(name))
					got := cudatest.Download(t, reader, b.Bytes(name))
					expected := make([]byte, len(got))
					for row, ok := range b.Mask() {
						for k := range side * side * c {
							if ok {
								expected[row*side*side*c+k] = want(name, int(b.IDs()[row]), k)
							}
						}
					}
					require.Equal(t, expected, got, "%v, %s of batch %d", policy, name, b.Step())
				}
				seen += b.NumValid()
			}
			require.Equal(t, len(files), seen)
			if round > 0 {
				require.Equal(t, before, p.MemoryOf(memstats.Device), "memory must not grow")
			}
			before = p.MemoryOf(memstats.Device)
		}
		require.NoError(t, l.Close())
		require.NoError(t, reader.Close())
	}
}

// validOnDevice runs an epoch of one batch of files that a device decodes, where samples that
// cannot be decoded are skipped, and returns the rows that are valid.
func validOnDevice(t *testing.T, d *cuda.Device, files [][]byte, decode func(*pipeline.Graph, pipeline.Value) pipeline.Value) (valid []int, err error) {
	t.Helper()
	p, err := pipeline.New(pipeline.Options{BatchSize: len(files), Device: d, OnError: pipeline.Skip}, func(g *pipeline.Graph) {
		g.Output("x", decode(g, readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]))
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		if err != nil {
			return valid, err
		}
		for row, ok := range b.Mask() {
			if ok {
				valid = append(valid, row)
			}
		}
	}
	return valid, nil
}

// TestDeviceDecodeErrors tells what is an error of a sample from what ends the epoch.
func TestDeviceDecodeErrors(t *testing.T) {
	const side = 32
	drv, d, dec := cudatest.OpenNVJPEG(t)
	good := encodeJPEG(t, smooth(side, side))
	drv.Declare(t, fakedriver.JPEG{File: good, H: side, W: side, Components: 3, RGB: make([]byte, side*side*3)})
	run := func(bad []byte) (valid []int, err error) {
		return validOnDevice(t, d, [][]byte{good, bad, good}, func(g *pipeline.Graph, files pipeline.Value) pipeline.Value {
			return ops.DeviceDecodeImage(g, files, ops.DeviceDecodeOptions{Height: side, Width: side, Decoder: dec})
		})
	}
	for name, bad := range map[string][]byte{
		"no picture":   []byte("no picture"),
		"cut short":    good[:len(good)-2],
		"another size": encodeJPEG(t, smooth(side, side+1)),
	} {
		valid, err := run(bad)
		require.NoError(t, err, name)
		require.Equal(t, []int{0, 2}, valid, name)
	}
	_, err := run(emptyScan(good))
	var e *ops.DeviceDecodeError
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, 1, e.Index)
	require.Equal(t, 1, e.Row)
	require.ErrorIs(t, err, nvjpeg.ErrBadJPEG)
	require.Error(t, e.Host)

	drv.Fail("nvjpegDecodeBatched", 5, 0)
	_, err = run(good)
	require.ErrorIs(t, err, cuda.ErrMemory)

	_, err = pipeline.New(pipeline.Options{BatchSize: 1, Device: d, ExactRGB: true}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{good}))[0]
		g.Output("x", ops.DeviceDecodeImage(g, v, ops.DeviceDecodeOptions{Height: side, Width: side, Decoder: dec}))
	})
	require.ErrorContains(t, err, "which nvjpeg 12.4.0 does not have: leave Decoder out")
}
