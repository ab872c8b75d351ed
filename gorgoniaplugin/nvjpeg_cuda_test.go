//go:build cuda

package gorgoniaplugin_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// pictureOf is a JPEG file and the picture that it is declared to hold.
func pictureOf(t *testing.T, h, w, seed int) fakedriver.JPEG {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	j := fakedriver.JPEG{H: h, W: w, Components: 3, RGB: make([]byte, h*w*3)}
	for i := range h * w {
		c := color.RGBA{uint8(i + seed), uint8(i * 3), uint8(seed * 5), 255}
		m.SetRGBA(i%w, i/w, c)
		copy(j.RGB[3*i:], []byte{c.R, c.G, c.B})
	}
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, m, nil))
	j.File = file.Bytes()
	return j
}

// Pictures of several sizes are decoded and resized on the machine's device, ahead of the
// graph that doubles them there. The decoder is opened before there is a device, and is used by
// the machines of two feeds, one after the other.
func TestPicturesDecodedOnTheMachinesGPU(t *testing.T) {
	const side = 4
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 100)
	dec, err := nvjpeg.New(nvjpeg.Options{Library: drv.Library})
	require.NoError(t, err)
	var files [][]byte
	var flat []byte // of one colour each, so that a resize changes nothing
	for i := range 8 {
		j := pictureOf(t, 3+i, 9-i, i)
		for k := range j.RGB {
			j.RGB[k] = byte(10*i + k%3)
		}
		drv.Declare(t, j)
		files, flat = append(files, j.File), append(flat, byte(10*i))
	}
	for range 2 {
		l := newLoader(t, pipeline.Options{BatchSize: 4, Device: gorgoniaplugin.Device()}, drop, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
			g.Output("x", ops.DeviceDecodeResize(g, v, ops.DeviceDecodeResizeOptions{
				Resize: ops.ResizeOptions{Height: side, Width: side, DType: datum.Float32}, Decoder: dec,
			}))
		})
		g := gorgonia.NewGraph()
		f, err := gorgoniaplugin.New(g, l)
		require.NoError(t, err)
		var got gorgonia.Value
		weights := tensor.New(tensor.WithShape(4, side, side, 3), tensor.WithBacking(slices.Repeat([]float32{2}, 4*side*side*3)))
		w := gorgonia.NodeFromAny(g, weights, gorgonia.WithName("w"))
		gorgonia.Read(gorgonia.Must(gorgonia.HadamardProd(f.Node("x"), w)), &got)
		vm := machine(t, g)
		require.NoError(t, f.Attach(vm))
		seen := 0
		for b, err := range f.Epoch(t.Context()) {
			require.NoError(t, err)
			require.NoError(t, vm.RunAll())
			doubled := got.Data().([]float32)
			for i, id := range b.IDs() {
				for k := range side * side * 3 {
					require.InDelta(t, 2*(int(flat[id])+k%3), doubled[i*side*side*3+k], 1e-3)
				}
				seen++
			}
			vm.Reset()
		}
		require.Equal(t, len(files), seen)
		require.NoError(t, f.Close())
	}
	require.NoError(t, dec.Close(), "what it had on the devices ended with them")
	require.Empty(t, drv.Report())
}
