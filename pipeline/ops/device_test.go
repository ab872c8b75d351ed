package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams"
)

// TestDeviceOperatorsEqualTheHosts runs the operators for whole batches beside
// those for single samples, with and without a device that works on the host.
func TestDeviceOperatorsEqualTheHosts(t *testing.T) {
	const n, side = 11, 9
	pictures, labels := make([]byte, n*side*side*3), make([]int64, n)
	for i := range pictures {
		pictures[i] = byte(i * i >> 2)
	}
	for i := range labels {
		labels[i] = int64(i%5) - 1
	}
	define := func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{},
			readers.Rows(pictures, side, side, 3),
			readers.Rows(labels))
		image, label := ops.ToDevice(g, v[0]), ops.ToDevice(g, v[1])
		flip, at := ops.CoinFlip(g, 0.5), ops.Uniform(g, 0, 1)
		for name, o := range map[string]ops.CropMirrorNormalizeOptions{
			"plain":  {},
			"crop":   {CropOptions: ops.CropOptions{Height: 4, Width: 5, PosX: at}, Mirror: flip, Mean: ops.ImageNetMean, Std: ops.ImageNetStd},
			"pad":    {CropOptions: ops.CropOptions{Height: 12, Width: 3, OutOfBounds: ops.BoundsPad, Fill: []float64{7}}, PadOutput: true, Layout: pipeline.HWC},
			"uint8":  {DType: pipeline.Uint8, Scale: 1.3, Shift: -9, Mirror: flip},
			"shifts": {Scale: 2, Shift: 1, Mean: []float64{3}},
		} {
			g.Output("device "+name, ops.DeviceCropMirrorNormalize(g, image, o))
			g.Output("host "+name, ops.CropMirrorNormalize(g, v[0], o))
		}
		one := ops.OneHotOptions{Classes: 3, On: 0.9, Off: 0.05, IgnoreUnknown: true}
		g.Output("device label", ops.DeviceOneHot(g, label, one))
		g.Output("host label", ops.OneHot(g, v[1], one))
	}
	host := streams.NewHost()
	defer host.Close()
	for _, o := range []pipeline.Options{{}, {Device: host, StreamPolicy: streams.Optimal}} {
		o.BatchSize, o.Seed = 4, 3
		got, err := epoch(t, o, define)
		require.NoError(t, err)
		for _, name := range []string{"plain", "crop", "pad", "uint8", "shifts", "label"} {
			require.Len(t, got["host "+name], n)
			require.Equal(t, got["host "+name], got["device "+name], name)
		}
	}
}

func TestMistakesWithDeviceOperators(t *testing.T) {
	for want, define := range map[string]func(g *pipeline.Graph, image, label pipeline.Value) pipeline.Value{
		"to_device: the input is missing": func(g *pipeline.Graph, _, _ pipeline.Value) pipeline.Value {
			return ops.ToDevice(g, pipeline.Value{})
		},
		"uint8 pictures of one size with 1 to 4 channels": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, ops.Cast(g, image, pipeline.Float32)), ops.CropMirrorNormalizeOptions{})
		},
		"every row of a batch needs the same size": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, image), ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 100, OutOfBounds: ops.BoundsTrim}})
		},
		"DType is float64": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, image), ops.CropMirrorNormalizeOptions{DType: pipeline.Float64})
		},
		"set IgnoreUnknown": func(g *pipeline.Graph, _, label pipeline.Value) pipeline.Value {
			return ops.DeviceOneHot(g, ops.ToDevice(g, label), ops.OneHotOptions{Classes: 3})
		},
		"leave Axis and DType out": func(g *pipeline.Graph, _, label pipeline.Value) pipeline.Value {
			return ops.DeviceOneHot(g, ops.ToDevice(g, label), ops.OneHotOptions{Classes: 3, Axis: new(int), DType: pipeline.Uint8})
		},
		"Classes is 0": func(g *pipeline.Graph, _, label pipeline.Value) pipeline.Value {
			return ops.DeviceOneHot(g, ops.ToDevice(g, label), ops.OneHotOptions{IgnoreUnknown: true})
		},
		"int32 or int64 is wanted": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceOneHot(g, ops.ToDevice(g, image), ops.OneHotOptions{Classes: 3, IgnoreUnknown: true})
		},
		"operators for single samples come before": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.Crop(g, ops.ToDevice(g, image), ops.CropOptions{})
		},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{},
				readers.Rows(make([]byte, 24), 2, 2, 3),
				readers.Rows(make([]int64, 2)))
			g.Output("x", define(g, v[0], v[1]))
		})
		require.ErrorContains(t, err, want)
	}
}
