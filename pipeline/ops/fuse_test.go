package ops_test

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// chainOptions are the options of a decode, resize, crop-mirror-normalise chain.
type chainOptions struct {
	random     bool // decode a random region
	colour     ops.ColorType
	resize     ops.ResizeOptions
	cmn        ops.CropMirrorNormalizeOptions
	posY, posX float64
	mirror     bool
	twist      bool // change colours before they are normalised
	erase      bool // erase regions behind
}

// drawChain draws options that are legal for pictures of at least 1×1 pixels.
func drawChain(t *rapid.T) chainOptions {
	extent := func(name string) float64 {
		x := float64(rapid.IntRange(1, 24).Draw(t, name))
		if rapid.Bool().Draw(t, name+" has a fraction") {
			x += 0.4
		}
		return x
	}
	c := chainOptions{
		random: rapid.Bool().Draw(t, "random crop"), mirror: rapid.Bool().Draw(t, "mirror"),
		colour: rapid.SampledFrom([]ops.ColorType{ops.RGB, ops.Gray, ops.BGR, ops.YCbCr}).Draw(t, "Type"),
		posY:   rapid.Float64Range(0, 1).Draw(t, "PosY"), posX: rapid.Float64Range(0, 1).Draw(t, "PosX"),
	}
	r := &c.resize
	switch rapid.IntRange(0, 4).Draw(t, "kind of size") {
	case 0:
		r.Height, r.Width = extent("Height"), extent("Width")
	case 1:
		r.Height, r.Width = -extent("Height"), -extent("Width")
	case 2:
		r.Shorter, r.MaxHeight, r.MaxWidth = extent("Shorter"), 60, 60
	case 3:
		r.Longer = extent("Longer")
	case 4:
		r.Height, r.Mode = extent("Height"), ops.Stretch
	}
	r.Interp = rapid.SampledFrom([]ops.Interp{ops.Linear, ops.Cubic, ops.Lanczos3, ops.Gaussian, ops.Nearest}).Draw(t, "Interp")
	r.NoAntialias = rapid.Bool().Draw(t, "NoAntialias")
	r.WholePixels = rapid.Bool().Draw(t, "WholePixels")

	o := &c.cmn
	fits := func(extent float64) int { return max(1, int(math.Abs(extent))) } // one pixel always does
	o.Height = rapid.IntRange(0, fits(r.Height)).Draw(t, "crop height")
	o.Width = rapid.IntRange(0, fits(r.Width)).Draw(t, "crop width")
	o.Truncate = rapid.Bool().Draw(t, "Truncate")
	o.Layout = rapid.SampledFrom([]datum.Layout{datum.CHW, datum.HWC}).Draw(t, "Layout")
	if rapid.Bool().Draw(t, "uint8") {
		o.DType = datum.Uint8
	} else {
		// A deviation of 1 keeps the unit: one level.
		o.Mean, o.Shift = []float64{rapid.Float64Range(0, 255).Draw(t, "Mean")}, rapid.Float64Range(-1, 1).Draw(t, "Shift")
	}
	return c
}

func (c chainOptions) define(g *pipeline.Graph, file pipeline.Value, whole bool) {
	d := ops.DecodeOptions{Type: c.colour}
	var v pipeline.Value
	if c.random {
		v = ops.DecodeRandomCrop(g, file, ops.RandomCropOptions{DecodeOptions: d})
	} else {
		v = ops.DecodeImage(g, file, d)
	}
	if whole {
		g.Output("decoded", v)
	}
	v = ops.Resize(g, v, c.resize)
	if whole {
		g.Output("resized", v)
	}
	if c.twist {
		v = ops.ColorTwist(g, v, ops.ColorTwistOptions{
			Hue: ops.Uniform(g, -90, 90), Saturation: ops.Uniform(g, 0, 1.5), Brightness: ops.Uniform(g, 0.5, 1.5),
		})
		if whole {
			g.Output("twisted", v)
		}
	}
	o := c.cmn
	o.PosY, o.PosX = ops.Constant(g, c.posY), ops.Constant(g, c.posX)
	if c.mirror {
		o.Mirror = ops.Constant(g, 1)
	}
	v = ops.CropMirrorNormalize(g, v, o)
	if c.erase {
		if whole {
			g.Output("normalised", v)
		}
		v = ops.RandomErasing(g, v, ops.RandomErasingOptions{Fill: ops.Constant(g, 7)})
		v = ops.Erase(g, v, ops.EraseOptions{Anchor: ops.Constant(g, 1, 0), Shape: ops.Constant(g, 2, 3), AxisNames: "HW"})
	}
	g.Output("out", v)
}

// name is a part of the name of the operator that a chain is fused to.
func (c chainOptions) name() string {
	name := "+resize"
	if c.twist {
		name += "+color_twist"
	}
	name += "+crop_mirror_normalize"
	if c.erase {
		name += "+random_erasing"
	}
	return name
}

// noise is a picture with edges everywhere.
func noise(t *rapid.T, h, w int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	state := rapid.Uint32().Draw(t, "pixels")
	for i := range m.Pix {
		state = state*1664525 + 1013904223
		m.Pix[i] = byte(state >> 24)
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

// bothWays runs a chain fused and, with its intermediate values as outputs too,
// one operator after the other.
func bothWays(t *testing.T, o pipeline.Options, file []byte, c chainOptions) (fused, apart array) {
	t.Helper()
	results := make([]array, 2)
	for i, whole := range []bool{false, true} {
		o.BatchSize, o.Workers = 1, 1
		p, err := pipeline.New(o, func(g *pipeline.Graph) {
			c.define(g, readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0], whole)
		})
		require.NoError(t, err)
		smooth := c.resize.Interp != ops.Nearest && c.resize.Interp != ops.Gaussian
		require.Equal(t, smooth && !whole, strings.Contains(p.String(), c.name()), "fused is fused, apart is apart")
		got, err := run(t, p)
		require.NoError(t, err)
		results[i] = got["out"][0]
	}
	require.Equal(t, results[1].shape, results[0].shape)
	require.Equal(t, results[1].dtype, results[0].dtype)
	require.Equal(t, results[1].layout, results[0].layout)
	return results[0], results[1]
}

// difference returns the largest and the mean difference.
func difference(a, b array) (largest, mean float64) {
	for i := range a.data {
		d := math.Abs(a.data[i] - b.data[i])
		largest = max(largest, d)
		mean += d / float64(len(a.data))
	}
	return largest, mean
}

// With ExactRGB a fused chain rounds as the operators do: only sums at the
// border of two levels may go the other way, because positions are counted from
// another origin.
func TestFusedIsTheSameAsApartInExactRGB(t *testing.T) {
	var worst float64
	var different, all int
	rapid.Check(t, func(rt *rapid.T) {
		c := drawChain(rt)
		c.twist = c.colour != ops.Gray && rapid.Bool().Draw(rt, "twist")
		c.erase = rapid.Bool().Draw(rt, "erase")
		file := encodePNG(t, noise(rt, rapid.IntRange(1, 40).Draw(rt, "height"), rapid.IntRange(1, 40).Draw(rt, "width")))
		if rapid.Bool().Draw(rt, "JPEG") {
			file = encodeJPEG(t, smooth(rapid.IntRange(1, 40).Draw(rt, "height"), rapid.IntRange(1, 40).Draw(rt, "width")))
			file = turned(file, rapid.ByteRange(1, 8).Draw(rt, "orientation"))
		}
		fused, apart := bothWays(t, pipeline.Options{ExactRGB: true, Seed: rapid.Uint64().Draw(rt, "seed")}, file, c)
		largest, _ := difference(fused, apart)
		limit := 1.001
		if c.twist {
			limit = 6 // a level more or less in each channel, by factors of up to 1.7
		}
		if largest > limit {
			rt.Fatalf("they differ by %g: %+v", largest, c)
		}
		worst = max(worst, largest)
		for i := range fused.data {
			all++
			if math.Abs(fused.data[i]-apart.data[i]) > 0.5 {
				different++
			}
		}
	})
	t.Logf("largest difference %.3f; %d of %d values one level apart", worst, different, all)
	// One picture of few colours may have many sums at one border.
	require.Less(t, different, 100+all/100)
}

// An output that lies on a source row has fewer weights than its neighbours; the region has
// such an output in it.
func TestFusedWhereAnOutputLiesOnARow(t *testing.T) {
	for _, filter := range []ops.Interp{ops.Linear, ops.Cubic, ops.Lanczos3} {
		for orientation := byte(1); orientation <= 8; orientation++ {
			c := chainOptions{posY: 0.0625, resize: ops.ResizeOptions{Height: 24, Width: 1, Interp: filter}}
			c.cmn.Height, c.cmn.DType = 5, datum.Uint8
			file := turned(encodeJPEG(t, smooth(8, 1)), orientation)
			if orientation >= 5 {
				file = turned(encodeJPEG(t, smooth(1, 8)), orientation)
			}
			fused, apart := bothWays(t, pipeline.Options{ExactRGB: true}, file, c)
			largest, _ := difference(fused, apart)
			require.LessOrEqual(t, largest, 1., "%v, orientation %d", filter, orientation)
		}
	}
}

// By default the fused chain keeps fractions of levels. Pictures without
// subsampled colour differ by the rounding alone.
func TestFusedKeepsFractionsByDefault(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawChain(rt)
		file := encodePNG(t, noise(rt, rapid.IntRange(1, 40).Draw(rt, "height"), rapid.IntRange(1, 40).Draw(rt, "width")))
		fused, apart := bothWays(t, pipeline.Options{Seed: rapid.Uint64().Draw(rt, "seed")}, file, c)
		if largest, _ := difference(clamped(fused, c), clamped(apart, c)); largest > 1.001 {
			rt.Fatalf("they differ by %g: %+v", largest, c)
		}
	})
}

// clamped undoes the normalisation and cuts to 0 … 255: a filter with negative
// lobes leaves that range where nothing is rounded to bytes.
func clamped(a array, c chainOptions) array {
	for i, x := range a.data {
		if a.dtype == datum.Float32 {
			x += c.cmn.Mean[0] - c.cmn.Shift
		}
		a.data[i] = min(max(x, 0), 255)
	}
	return a
}

// The planes of a JPEG file are resized before their colours are converted,
// which on photographs changes little, however the picture is turned.
func TestFusedOnPlanesIsClose(t *testing.T) {
	for _, size := range []image.Point{{120, 90}, {37, 53}, {16, 200}} {
		upright := encodeJPEG(t, smooth(size.Y, size.X))
		for orientation := byte(1); orientation <= 8; orientation++ {
			file := turned(upright, orientation)
			for _, shorter := range []float64{7, 16, 30, 100} {
				for _, random := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v, orientation %d, to %g, random %v", size, orientation, shorter, random), func(t *testing.T) {
						c := chainOptions{random: random, resize: ops.ResizeOptions{Shorter: shorter}, mirror: true}
						fused, apart := bothWays(t, pipeline.Options{Seed: 4}, file, c)
						largest, mean := difference(fused, apart)
						require.Less(t, largest, 4.)
						require.Less(t, mean, 1.)
					})
				}
			}
		}
	}
}

// Only what a chain can do is fused.
func TestWhatIsNotFused(t *testing.T) {
	file := encodePNG(t, smooth(8, 8))
	for _, c := range []struct {
		name   string
		define func(g *pipeline.Graph, v pipeline.Value) pipeline.Value
		fused  bool
	}{
		{"a plain chain is", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.CropMirrorNormalize(g, ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4}), ops.CropMirrorNormalizeOptions{})
		}, true},
		{"a change of colours on the way is", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4})
			v = ops.Saturation(g, v, ops.SaturationOptions{Saturation: ops.Constant(g, 0.5)})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{})
		}, true},
		{"colours as floats", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4})
			v = ops.Hue(g, v, ops.HueOptions{Hue: ops.Constant(g, 10), DType: datum.Float32})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{})
		}, false},
		{"padding", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 6, Width: 6, OutOfBounds: ops.BoundsPad}})
		}, false},
		{"padded channels", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{PadOutput: true})
		}, false},
		{"float pictures", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Cast(g, v, datum.Float32)
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4, DType: datum.Uint8})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{})
		}, false},
		{"a resize to floats", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4, DType: datum.Float32})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{})
		}, false},
		{"normalised bytes", func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.Resize(g, v, ops.ResizeOptions{Height: 4, Width: 4})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Std: []float64{2}, DType: datum.Uint8})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			means := [2][]float64{}
			for i, whole := range []bool{false, true} {
				p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
					v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
					v = ops.DecodeImage(g, v, ops.DecodeOptions{})
					if whole {
						g.Output("decoded", v)
					}
					g.Output("out", c.define(g, v))
				})
				require.NoError(t, err)
				if !whole {
					require.Equal(t, c.fused, strings.Contains(p.String(), "+resize+"), p)
				}
				got, err := run(t, p)
				require.NoError(t, err)
				means[i] = got["out"][0].data
			}
			require.InDeltaSlice(t, means[1], means[0], 1.001)
		})
	}
}

// A change of colours and what erases are the same to the bit in front of and behind a
// normalisation as apart from it, whatever their arguments are.
func TestFusedAroundNormalisation(t *testing.T) {
	file := encodePNG(t, smooth(19, 23))
	for _, o := range []ops.CropMirrorNormalizeOptions{
		{Mean: ops.ImageNetMean, Std: ops.ImageNetStd},
		{Mean: ops.ImageNetMean, Layout: datum.HWC},
		{DType: datum.Uint8, PadOutput: true},
		{CropOptions: ops.CropOptions{Height: 30, Width: 9, OutOfBounds: ops.BoundsPad, Fill: []float64{3}}},
	} {
		for _, mirror := range []float64{0, 1} {
			results := make([]array, 2)
			for i, apart := range []bool{false, true} {
				p, err := pipeline.New(pipeline.Options{BatchSize: 1, Seed: 3}, func(g *pipeline.Graph) {
					v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
					v = ops.DecodeImage(g, v, ops.DecodeOptions{})
					v = ops.HSV(g, v, ops.HSVOptions{Hue: ops.Uniform(g, 0, 360), Value: ops.Constant(g, 0.7)})
					if apart {
						g.Output("twisted", v)
					}
					o.PosX, o.Mirror = ops.Constant(g, 0.3), ops.Constant(g, mirror)
					v = ops.CropMirrorNormalize(g, v, o)
					if apart {
						g.Output("normalised", v)
					}
					g.Output("out", ops.Erase(g, v, ops.EraseOptions{Anchor: ops.Uniforms(g, ops.UniformOptions{DrawOptions: ops.DrawOptions{Shape: []int{2}}, Min: ops.Constant(g, 0), Max: ops.Constant(g, 9)}), Shape: ops.Constant(g, 5, 6), Fill: ops.Constant(g, 4)}))
				})
				require.NoError(t, err)
				require.Equal(t, !apart, strings.Contains(p.String(), "hsv+crop_mirror_normalize+erase"), p)
				got, err := run(t, p)
				require.NoError(t, err)
				results[i] = got["out"][0]
			}
			require.Equal(t, results[1], results[0])
		}
	}
}

// A mistake in an argument of a part is the sample's error as it is apart.
func TestFusedMistakes(t *testing.T) {
	file := encodePNG(t, smooth(8, 8))
	for want, define := range map[string]func(g *pipeline.Graph, v pipeline.Value) pipeline.Value{
		"Hue is +Inf": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.ColorTwist(g, v, ops.ColorTwistOptions{Saturation: ops.Constant(g, 1), Hue: ops.Constant(g, math.Inf(1))})
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mirror: ops.Constant(g, 1)})
		},
		"Anchor has 1 values": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			v = ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mirror: ops.Constant(g, 1)})
			return ops.Erase(g, v, ops.EraseOptions{Anchor: ops.Constant(g, 1), Shape: ops.Constant(g, 1, 2)})
		},
	} {
		_, err := epoch(t, pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
			v = ops.Resize(g, ops.DecodeImage(g, v, ops.DecodeOptions{}), ops.ResizeOptions{Height: 4, Width: 4})
			g.Output("out", define(g, v))
		})
		require.ErrorContains(t, err, want)
	}
}

// A grey picture fills three channels alike.
func TestFusedGreyPictures(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 12, 9))
	for i := range m.Pix {
		m.SetGray(i%12, i/12, color.Gray{uint8(i * 2)})
	}
	for _, file := range [][]byte{encodePNG(t, m), encodeJPEG(t, m)} {
		for _, exact := range []bool{false, true} {
			fused, apart := bothWays(t, pipeline.Options{ExactRGB: exact}, file, chainOptions{resize: ops.ResizeOptions{Height: 5, Width: 7}})
			largest, _ := difference(fused, apart)
			require.Less(t, largest, 1.001)
			require.Equal(t, fused.data[:35], fused.data[35:70])
		}
	}
}
