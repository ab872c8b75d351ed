package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// number is a per-sample argument that is the same for all.
func number(g *pipeline.Graph, x float64) pipeline.Value { return ops.Constant(g, x) }

func TestCrop(t *testing.T) {
	pic := picture(4, 4, 1, ramp(16)...)
	for _, c := range []struct {
		name  string
		opt   func(g *pipeline.Graph) ops.CropOptions
		shape []int
		want  []float64
	}{
		{"nothing asked", func(*pipeline.Graph) ops.CropOptions { return ops.CropOptions{} }, []int{4, 4, 1},
			[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
		{"the middle", func(*pipeline.Graph) ops.CropOptions { return ops.CropOptions{Height: 2, Width: 2} }, []int{2, 2, 1},
			[]float64{5, 6, 9, 10}},
		{"top right", func(g *pipeline.Graph) ops.CropOptions {
			return ops.CropOptions{Height: 2, Width: 2, PosY: number(g, 0), PosX: number(g, 1)}
		}, []int{2, 2, 1}, []float64{2, 3, 6, 7}},
		{"one axis", func(*pipeline.Graph) ops.CropOptions { return ops.CropOptions{Height: 1} }, []int{1, 4, 1},
			[]float64{8, 9, 10, 11}},
		{"truncated", func(*pipeline.Graph) ops.CropOptions { return ops.CropOptions{Height: 1, Truncate: true} }, []int{1, 4, 1},
			[]float64{4, 5, 6, 7}},
		{"padded", func(g *pipeline.Graph) ops.CropOptions {
			return ops.CropOptions{Height: 1, Width: 6, PosY: number(g, 0), OutOfBounds: ops.BoundsPad, Fill: []float64{99}}
		}, []int{1, 6, 1}, []float64{99, 0, 1, 2, 3, 99}},
		{"padded with the default", func(g *pipeline.Graph) ops.CropOptions {
			return ops.CropOptions{Height: 6, Width: 1, PosX: number(g, 1), OutOfBounds: ops.BoundsPad}
		}, []int{6, 1, 1}, []float64{0, 3, 7, 11, 15, 0}},
		{"trimmed", func(g *pipeline.Graph) ops.CropOptions {
			return ops.CropOptions{Height: 1, Width: 6, PosY: number(g, 1), OutOfBounds: ops.BoundsTrim}
		}, []int{1, 4, 1}, []float64{12, 13, 14, 15}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, known := range []bool{true, false} {
				got := only(t, pic, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
					if !known {
						v = ragged(g, v)
					}
					return ops.Crop(g, v, c.opt(g))
				})
				require.Equal(t, []array{{datum.Uint8, datum.HWC, c.shape, c.want}}, got)
			}
		})
	}
	got := only(t, picture(1, 1, 3, 1, 2, 3), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.Crop(g, v, ops.CropOptions{Width: 2, PosX: number(g, 0), OutOfBounds: ops.BoundsPad, Fill: []float64{7, 8, 300}})
	})
	require.Equal(t, []float64{1, 2, 3, 7, 8, 255}, got[0].data, "fill values are per channel and saturate")
}

func TestACropThatDoesNotFit(t *testing.T) {
	pic := picture(4, 4, 1, ramp(16)...)
	require.Equal(t, "pipeline: readers.Slices[0]: crop: a region of 5 pixels does not fit into 4; resize first, or set OutOfBounds",
		fails(t, pic, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Crop(g, ragged(g, v), ops.CropOptions{Width: 5})
		}))
	require.Equal(t, "pipeline: readers.Slices[0]: crop_mirror_normalize: the position 1.5 is outside 0 … 1",
		fails(t, pic, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Width: 2, PosX: number(g, 1.5)}})
		}))
}

func TestFlip(t *testing.T) {
	pic := picture(2, 3, 1, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		name       string
		horizontal float64 // -1: not given
		vertical   float64
		want       []float64
	}{
		{"default", -1, -1, []float64{3, 2, 1, 6, 5, 4}},
		{"vertical only", 0, 1, []float64{4, 5, 6, 1, 2, 3}},
		{"both", -1, 7, []float64{6, 5, 4, 3, 2, 1}},
		{"neither", 0, -1, []float64{1, 2, 3, 4, 5, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := only(t, pic, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
				var o ops.FlipOptions
				if c.horizontal >= 0 {
					o.Horizontal = number(g, c.horizontal)
				}
				if c.vertical >= 0 {
					o.Vertical = number(g, c.vertical)
				}
				return ops.Flip(g, v, o)
			})
			require.Equal(t, []array{{datum.Uint8, datum.HWC, []int{2, 3, 1}, c.want}}, got)
		})
	}
	got := only(t, readers.Rows([]int16{-1, -2, 300, 400}, 1, 2, 2).WithLayout(datum.HWC), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.Flip(g, v, ops.FlipOptions{})
	})
	require.Equal(t, []float64{300, 400, -1, -2}, got[0].data, "channels stay together")
}

func TestArgumentsPerSample(t *testing.T) {
	got, err := epoch(t, pipeline.Options{BatchSize: 2, Workers: 2}, func(g *pipeline.Graph) {
		in := readers.Slices(g, readers.SlicesOptions{},
			picture(1, 3, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9),
			readers.Rows([]int32{1, 0, -3}), readers.Rows([]float32{0, 0.5, 1}))
		g.Output("flip", ops.Flip(g, in[0], ops.FlipOptions{Horizontal: in[1]}))
		g.Output("crop", ops.Crop(g, in[0], ops.CropOptions{Width: 1, PosX: in[2]}))
		g.Output("cmn", ops.CropMirrorNormalize(g, in[0], ops.CropMirrorNormalizeOptions{
			CropOptions: ops.CropOptions{Width: 2, PosX: in[2], Truncate: true}, Mirror: in[1],
		}))
		g.Output("normalize", ops.Normalize(g, in[0], ops.NormalizeOptions{Mean: in[2], StdDev: number(g, 2)}))
	})
	require.NoError(t, err)
	data := func(name string) (all [][]float64) {
		for _, a := range got[name] {
			all = append(all, a.data)
		}
		return all
	}
	require.Equal(t, [][]float64{{3, 2, 1}, {4, 5, 6}, {9, 8, 7}}, data("flip"))
	require.Equal(t, [][]float64{{1}, {5}, {9}}, data("crop"))
	require.Equal(t, [][]float64{{2, 1}, {4, 5}, {9, 8}}, data("cmn"))
	require.Equal(t, [][]float64{{0.5, 1, 1.5}, {1.75, 2.25, 2.75}, {3, 3.5, 4}}, data("normalize"))
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		name string
		pic  readers.Column
		opt  ops.ResizeOptions
		want array // without the type
	}{
		{"linear grows", picture(1, 2, 1, 0, 100), ops.ResizeOptions{Height: 1, Width: 4},
			array{shape: []int{1, 4, 1}, data: []float64{0, 25, 75, 100}}},
		{"nearest grows", picture(1, 2, 1, 0, 100), ops.ResizeOptions{Height: 1, Width: 4, Interp: ops.Nearest},
			array{shape: []int{1, 4, 1}, data: []float64{0, 0, 100, 100}}},
		{"linear shrinks with antialias", picture(1, 4, 1, 0, 0, 80, 80), ops.ResizeOptions{Height: 1, Width: 2},
			array{shape: []int{1, 2, 1}, data: []float64{10, 70}}},
		{"linear shrinks without", picture(1, 4, 1, 0, 0, 80, 80), ops.ResizeOptions{Height: 1, Width: 2, NoAntialias: true},
			array{shape: []int{1, 2, 1}, data: []float64{0, 80}}},
		{"triangular is linear", picture(1, 4, 1, 0, 0, 80, 80), ops.ResizeOptions{Height: 1, Width: 2, Interp: ops.Triangular},
			array{shape: []int{1, 2, 1}, data: []float64{10, 70}}},
		{"a filter for growing alone", picture(1, 2, 1, 0, 100), ops.ResizeOptions{Height: 1, Width: 4, Mag: ops.Nearest},
			array{shape: []int{1, 4, 1}, data: []float64{0, 0, 100, 100}}},
		{"a filter for shrinking alone", picture(1, 4, 1, 1, 2, 3, 4), ops.ResizeOptions{Height: 1, Width: 2, Min: ops.Nearest},
			array{shape: []int{1, 2, 1}, data: []float64{2, 4}}},
		{"channels apart", picture(1, 2, 3, 0, 100, 200, 100, 0, 200), ops.ResizeOptions{Height: 1, Width: 4},
			array{shape: []int{1, 4, 3}, data: []float64{0, 100, 200, 25, 75, 200, 75, 25, 200, 100, 0, 200}}},
		{"one extent keeps the aspect ratio", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Width: 8, Interp: ops.Nearest},
			array{shape: []int{4, 8, 1}}},
		{"stretch leaves the other one", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Width: 8, Mode: ops.Stretch},
			array{shape: []int{2, 8, 1}}},
		{"shorter", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Shorter: 4}, array{shape: []int{4, 8, 1}}},
		{"shorter, limited", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Shorter: 4, MaxHeight: 6, MaxWidth: 6}, array{shape: []int{3, 6, 1}}},
		{"longer", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Longer: 2}, array{shape: []int{1, 2, 1}}},
		{"not larger", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Height: 8, Width: 8, Mode: ops.NotLarger}, array{shape: []int{4, 8, 1}}},
		{"not smaller", picture(2, 4, 1, ramp(8)...), ops.ResizeOptions{Height: 8, Width: 8, Mode: ops.NotSmaller}, array{shape: []int{8, 16, 1}}},
		{"negative extents mirror", picture(1, 2, 1, 1, 2), ops.ResizeOptions{Height: 1, Width: -2},
			array{shape: []int{1, 2, 1}, data: []float64{2, 1}}},
		{"a part", picture(1, 4, 1, 1, 2, 3, 4), ops.ResizeOptions{Height: 1, Width: 2, ROIStart: [2]float64{0, 2}, ROIEnd: [2]float64{1, 4}},
			array{shape: []int{1, 2, 1}, data: []float64{3, 4}}},
		{"a part in fractions", picture(1, 4, 1, 1, 2, 3, 4),
			ops.ResizeOptions{Height: 1, Width: 2, ROIRelative: true, ROIEnd: [2]float64{1, 0.5}},
			array{shape: []int{1, 2, 1}, data: []float64{1, 2}}},
		{"a single pixel", picture(1, 1, 3, 10, 20, 30), ops.ResizeOptions{Height: 2, Width: 1, Interp: ops.Lanczos3},
			array{shape: []int{2, 1, 3}, data: []float64{10, 20, 30, 10, 20, 30}}},
		{"no less than a pixel", picture(1, 9, 1, ramp(9)...), ops.ResizeOptions{Longer: 3}, array{shape: []int{1, 3, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, known := range []bool{true, false} {
				got := only(t, c.pic, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
					if !known {
						v = ragged(g, v)
					}
					return ops.Resize(g, v, c.opt)
				})[0]
				require.Equal(t, datum.Uint8, got.dtype)
				require.Equal(t, datum.HWC, got.layout)
				require.Equal(t, c.want.shape, got.shape)
				if c.want.data != nil {
					require.Equal(t, c.want.data, got.data)
				}
			}
		})
	}
	got := only(t, picture(1, 2, 1, 0, 1), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.Resize(g, v, ops.ResizeOptions{Height: 1, Width: 4, DType: datum.Float32})
	})
	require.Equal(t, array{datum.Float32, datum.HWC, []int{1, 4, 1}, []float64{0, 0.25, 0.75, 1}}, got[0])
}

// A thin picture whose shorter side grows must not take all memory.
func TestAResizeIsLimited(t *testing.T) {
	thin := picture(1, 4000, 1, make([]uint8, 4000)...)
	require.Equal(t, "pipeline: readers.Slices[0]: resize: the result has 260×1040000 = 270400000 pixels; "+
		"at most 268435456 are possible: limit it with MaxHeight and MaxWidth",
		fails(t, thin, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Resize(g, ragged(g, v), ops.ResizeOptions{Shorter: 260})
		}))
	for _, fused := range []bool{false, true} {
		require.Regexp(t, `^pipeline: readers.Slices\[0\]: (resize|resize\+crop_mirror_normalize): an output of 1e\+09 samples, at most \d+ are possible$`,
			fails(t, thin, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
				v = ops.Resize(g, ragged(g, v), ops.ResizeOptions{Shorter: 250000})
				if !fused {
					return v
				}
				return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 1, Width: 1}})
			}))
	}
}

func TestCropMirrorNormalize(t *testing.T) {
	// 2×2 pixels of two channels; the second channel is ten times the first.
	pic := picture(2, 2, 2, 1, 10, 2, 20, 3, 30, 4, 40)
	f32, chw := datum.Float32, datum.CHW
	for _, c := range []struct {
		name string
		opt  func(g *pipeline.Graph) ops.CropMirrorNormalizeOptions
		want array
	}{
		{"nothing asked", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions { return ops.CropMirrorNormalizeOptions{} },
			array{f32, chw, []int{2, 2, 2}, []float64{1, 2, 3, 4, 10, 20, 30, 40}}},
		{"HWC", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{Layout: datum.HWC}
		}, array{f32, datum.HWC, []int{2, 2, 2}, []float64{1, 10, 2, 20, 3, 30, 4, 40}}},
		{"mirrored", func(g *pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{Mirror: number(g, 1)}
		}, array{f32, chw, []int{2, 2, 2}, []float64{2, 1, 4, 3, 20, 10, 40, 30}}},
		{"normalised per channel", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{Mean: []float64{2, 20}, Std: []float64{1, 10}, Scale: 2, Shift: 1}
		}, array{f32, chw, []int{2, 2, 2}, []float64{-1, 1, 3, 5, -1, 1, 3, 5}}},
		{"normalised alike", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{Mean: []float64{2}, Std: []float64{0.5}}
		}, array{f32, chw, []int{2, 2, 2}, []float64{-2, 0, 2, 4, 16, 36, 56, 76}}},
		{"cut", func(g *pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 1, PosY: number(g, 1)}}
		}, array{f32, chw, []int{2, 1, 2}, []float64{3, 4, 30, 40}}},
		{"filled in the units of the output", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{
				CropOptions: ops.CropOptions{Height: 1, Width: 4, OutOfBounds: ops.BoundsPad, Fill: []float64{-1, -2}, Truncate: true},
				Std:         []float64{10},
			}
		}, array{f32, chw, []int{2, 1, 4}, []float64{-1, 0.1, 0.2, -1, -2, 1, 2, -2}}},
		{"padded channels", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{PadOutput: true, DType: datum.Uint8, Shift: 0.5}
		}, array{datum.Uint8, chw, []int{2, 2, 2}, []float64{2, 3, 4, 5, 11, 21, 31, 41}}},
		{"integers saturate", func(*pipeline.Graph) ops.CropMirrorNormalizeOptions {
			return ops.CropMirrorNormalizeOptions{Mean: []float64{2}, Scale: 10, DType: datum.Int8, Layout: datum.HWC}
		}, array{datum.Int8, datum.HWC, []int{2, 2, 2}, []float64{-10, 80, 0, 127, 10, 127, 20, 127}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, known := range []bool{true, false} {
				got := only(t, pic, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
					if !known {
						v = ragged(g, v)
					}
					return ops.CropMirrorNormalize(g, v, c.opt(g))
				})[0]
				require.InDeltaSlice(t, c.want.data, got.data, 1e-5)
				got.data = c.want.data
				require.Equal(t, c.want, got)
			}
		})
	}
	got := only(t, picture(1, 1, 3, 1, 2, 3), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{PadOutput: true})
	})
	require.Equal(t, array{f32, chw, []int{4, 1, 1}, []float64{1, 2, 3, 0}}, got[0], "three channels become four")
}

// Where the number of channels is not known, a wrong number of means is the
// sample's error.
func TestMeansForPicturesOfUnknownChannels(t *testing.T) {
	msg := fails(t, readers.Ragged([][]byte{encodePNG(t, gray(2, 2))}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		v = ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.Any})
		return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean})
	})
	require.Equal(t, "pipeline: readers.Slices[0]: crop_mirror_normalize: 3 values for 1 channels, one or one per channel are wanted", msg)
}
