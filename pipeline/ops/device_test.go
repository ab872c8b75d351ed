package ops_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams"
)

// resizes are options of DeviceResize for pictures of any size.
var resizes = map[string]ops.ResizeOptions{
	"smaller":  {Height: 4, Width: 5},
	"larger":   {Shorter: 30, DType: datum.Float32},
	"mirrored": {Height: -5, Width: 12, Interp: ops.Cubic},
	"part":     {Height: 3, Width: 2.5, ROIStart: [2]float64{0.2, 0.1}, ROIEnd: [2]float64{0.9, 0.8}, ROIRelative: true, Interp: ops.Lanczos3, DType: datum.Float32},
	"sharp":    {Longer: 4, NoAntialias: true},
	"nearest":  {Height: 7, Width: 4, Interp: ops.Nearest},
}

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
			"pad":    {CropOptions: ops.CropOptions{Height: 12, Width: 3, OutOfBounds: ops.BoundsPad, Fill: []float64{7}}, PadOutput: true, Layout: datum.HWC},
			"uint8":  {DType: datum.Uint8, Scale: 1.3, Shift: -9, Mirror: flip},
			"shifts": {Scale: 2, Shift: 1, Mean: []float64{3}},
		} {
			g.Output("device "+name, ops.DeviceCropMirrorNormalize(g, image, o))
			g.Output("host "+name, ops.CropMirrorNormalize(g, v[0], o))
		}
		for name, o := range resizes {
			g.Output("device "+name, ops.DeviceResize(g, image, o))
			g.Output("host "+name, ops.Resize(g, v[0], o))
		}
		small, crop := ops.ResizeOptions{Height: 6, Width: 7}, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 4, Width: 5, PosX: at}, Mirror: flip}
		g.Output("device chain", ops.DeviceCropMirrorNormalize(g, ops.DeviceResize(g, image, small), crop))
		resized := ops.Resize(g, v[0], small)
		g.Output("between", resized) // keeps the two apart
		g.Output("host chain", ops.CropMirrorNormalize(g, resized, crop))
		again := ops.DeviceResize(g, image, ops.ResizeOptions{Shorter: 20, DType: datum.Float32})
		g.Output("device twice", ops.DeviceResize(g, again, small))
		g.Output("host twice", ops.Resize(g, ops.Resize(g, v[0], ops.ResizeOptions{Shorter: 20, DType: datum.Float32}), small))
		one := ops.OneHotOptions{Classes: 3, On: 0.9, Off: 0.05, IgnoreUnknown: true}
		g.Output("device label", ops.DeviceOneHot(g, label, one))
		g.Output("host label", ops.OneHot(g, v[1], one))
	}
	names := slices.Collect(maps.Keys(resizes))
	names = append(names, "plain", "crop", "pad", "uint8", "shifts", "chain", "twice", "label")
	host := streams.NewHost()
	defer host.Close()
	for _, o := range []pipeline.Options{{}, {Device: host, StreamPolicy: streams.Optimal}} {
		o.BatchSize, o.Seed = 4, 3
		got, err := epoch(t, o, define)
		require.NoError(t, err)
		for _, name := range names {
			require.Len(t, got["host "+name], n)
			require.Equal(t, got["host "+name], got["device "+name], name)
		}
	}
}

// A state that was saved where there is a device can be restored where there is none.
func TestFingerprintDoesNotTellWhereValuesAre(t *testing.T) {
	lines := func(o pipeline.Options, define func(g *pipeline.Graph, image, label pipeline.Value)) []string {
		o.BatchSize = 2
		p, err := pipeline.New(o, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]byte, 24), 2, 2, 3), readers.Rows([]int32{0, 1}))
			define(g, v[0], v[1])
		})
		require.NoError(t, err)
		return p.Fingerprint()
	}
	both := func(g *pipeline.Graph, image, label pipeline.Value) {
		g.Output("image", ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, image), ops.CropMirrorNormalizeOptions{Mirror: ops.CoinFlip(g, 0.5)}))
		g.Output("label", ops.ToDevice(g, ops.OneHot(g, label, ops.OneHotOptions{Classes: 2})))
		g.Output("side", g.If(label, func() []pipeline.Value { return []pipeline.Value{ops.Constant(g, 1)} },
			func() []pipeline.Value { return []pipeline.Value{ops.Constant(g, 2)} })[0])
	}
	host := streams.NewHost()
	defer host.Close()
	want := lines(pipeline.Options{}, both)
	require.Equal(t, want, lines(pipeline.Options{Device: host}, both))
	require.NotContains(t, strings.Join(want, "\n"), "to_device")
	require.NotEqual(t, want, lines(pipeline.Options{Device: host}, func(g *pipeline.Graph, image, label pipeline.Value) {
		both(g, image, ops.Cast(g, label, datum.Int64))
	}))
}

func TestMistakesWithDeviceOperators(t *testing.T) {
	for want, define := range map[string]func(g *pipeline.Graph, image, label pipeline.Value) pipeline.Value{
		"to_device: the input is missing": func(g *pipeline.Graph, _, _ pipeline.Value) pipeline.Value {
			return ops.ToDevice(g, pipeline.Value{})
		},
		"uint8 pictures of one size with 1 to 4 channels": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, ops.Cast(g, image, datum.Float32)), ops.CropMirrorNormalizeOptions{})
		},
		"every row of a batch needs the same size": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, image), ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 100, OutOfBounds: ops.BoundsTrim}})
		},
		"uint8 or float32 pictures of one size are wanted": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceResize(g, ops.ToDevice(g, ops.Cast(g, image, datum.Int16)), ops.ResizeOptions{Height: 3})
		},
		"device_resize: give Height and Width, or Shorter, or Longer": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceResize(g, ops.ToDevice(g, image), ops.ResizeOptions{Height: 3, Shorter: 4})
		},
		"limit it with MaxHeight and MaxWidth": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceResize(g, ops.ToDevice(g, image), ops.ResizeOptions{Height: 1 << 15, Width: 1 << 15})
		},
		"DType is float64": func(g *pipeline.Graph, image, _ pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, image), ops.CropMirrorNormalizeOptions{DType: datum.Float64})
		},
		"set IgnoreUnknown": func(g *pipeline.Graph, _, label pipeline.Value) pipeline.Value {
			return ops.DeviceOneHot(g, ops.ToDevice(g, label), ops.OneHotOptions{Classes: 3})
		},
		"leave Axis and DType out": func(g *pipeline.Graph, _, label pipeline.Value) pipeline.Value {
			return ops.DeviceOneHot(g, ops.ToDevice(g, label), ops.OneHotOptions{Classes: 3, Axis: new(int), DType: datum.Uint8})
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
