package ops_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams"
)

// turned adds an Exif orientation to a JPEG file.
func turned(file []byte, orientation byte) []byte {
	exif := "Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00\x00"
	app1 := append([]byte{0xff, 0xe1, 0, byte(2 + len(exif))}, exif...)
	return bytes.Join([][]byte{file[:2], app1, file[2:]}, nil)
}

// TestDeviceDecodeOnTheHost decodes where there is no decoder on a device.
func TestDeviceDecodeOnTheHost(t *testing.T) {
	const side = 24
	files := [][]byte{
		encodeJPEG(t, smooth(side, side)), encodePNG(t, smooth(side, side)), encodeJPEG(t, gray(side, side)), turned(encodeJPEG(t, smooth(side, side)), 6),
	}
	host := streams.NewHost()
	defer host.Close()
	for _, device := range []streams.Device{nil, host} {
		got, err := epoch(t, pipeline.Options{BatchSize: 3, Device: device}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
			for name, o := range map[string]ops.DecodeOptions{"rgb": {}, "bgr": {Type: ops.BGR}, "gray": {Type: ops.Gray}, "stored": {IgnoreOrientation: true}} {
				g.Output("host "+name, ops.DecodeImage(g, v, o))
				g.Output("device "+name, ops.DeviceDecodeImage(g, v, ops.DeviceDecodeOptions{DecodeOptions: o, Height: side, Width: side}))
			}
		})
		require.NoError(t, err)
		for _, name := range []string{"rgb", "bgr", "gray", "stored"} {
			require.Len(t, got["host "+name], len(files))
			require.Equal(t, got["host "+name], got["device "+name], name)
		}
	}
}

// TestPicturesOfAnotherSize names the sample.
func TestPicturesOfAnotherSize(t *testing.T) {
	_, err := epoch(t, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{encodeJPEG(t, smooth(24, 24)), encodeJPEG(t, smooth(24, 25))}))[0]
		g.Output("x", ops.DeviceDecodeImage(g, v, ops.DeviceDecodeOptions{Height: 24, Width: 24}))
	})
	var sample *pipeline.SampleError
	require.ErrorAs(t, err, &sample)
	require.EqualValues(t, 1, sample.Index)
	var shape *datum.ShapeError
	require.ErrorAs(t, err, &shape)
	require.Equal(t, &datum.ShapeError{Got: []int{24, 25, 3}, Want: []int{24, 24, 3}}, shape)
}

func TestMistakesWithDeviceDecode(t *testing.T) {
	for want, o := range map[string]ops.DeviceDecodeOptions{
		"the size is 0×24":       {Width: 24},
		"the size is 24×-1":      {Height: 24, Width: -1},
		"Type is 3; RGB, BGR":    {Height: 24, Width: 24, DecodeOptions: ops.DecodeOptions{Type: ops.YCbCr}},
		"Type is 9":              {Height: 24, Width: 24, DecodeOptions: ops.DecodeOptions{Type: 9}},
		"MaxPixels is -1":        {Height: 24, Width: 24, DecodeOptions: ops.DecodeOptions{MaxPixels: -1}},
		"it must be positive an": {Height: 1 << 20, Width: 1 << 20},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{{1}}))[0]
			g.Output("x", ops.DeviceDecodeImage(g, v, o))
		})
		require.ErrorContains(t, err, want)
	}
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, picture(2, 2, 3, ramp(12)...))[0]
		g.Output("x", ops.DeviceDecodeImage(g, v, ops.DeviceDecodeOptions{Height: 2, Width: 2}))
	})
	require.ErrorContains(t, err, "the bytes of a picture file are wanted")
}
