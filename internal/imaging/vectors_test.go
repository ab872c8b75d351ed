package imaging

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/pipeline/datum"
)

// vectorArray is an array as the recorded figures hold it.
type vectorArray struct {
	DType  string
	Shape  []int
	Layout string
	Data   []any
	File   string
}

type vector struct {
	ID, Operator string
	Args         map[string]any
	Inputs       []vectorArray
	Output       []vectorArray
	Error        any
}

// array is an array in memory.
type array struct {
	typ    datum.DType
	shape  []int
	layout string
	data   []byte
}

func newArray(t datum.DType, layout string, shape ...int) array {
	return array{typ: t, shape: shape, layout: layout, data: make([]byte, elements(shape)*t.Size())}
}

func (a array) image() *Image {
	return &Image{Pix: a.data, Type: a.typ, H: a.shape[0], W: a.shape[1], C: a.shape[2]}
}

func parseDType(name string) datum.DType {
	name = strings.ToLower(strings.TrimPrefix(name, "types."))
	if name == "float" {
		name = "float32"
	}
	t, _ := datum.ParseDType(name)
	return t
}

func (v vectorArray) array(t *testing.T) array {
	a := newArray(parseDType(v.DType), v.Layout, v.Shape...)
	f := make([]byte, 0, len(v.Data)*8)
	for _, x := range v.Data {
		var d float64
		switch x := x.(type) {
		case float64:
			d = x
		case bool:
			if x {
				d = 1
			}
		case string:
			_, err := fmt.Sscan(x, &d)
			require.NoError(t, err)
		}
		f = binary.NativeEndian.AppendUint64(f, math.Float64bits(d))
	}
	require.NoError(t, Cast(a.data, a.typ, f, datum.Float64))
	return a
}

func (a array) floats() []float64 {
	f := make([]byte, elements(a.shape)*8)
	convert(f, datum.Float64, a.data, a.typ)
	return datum.View[float64](f)
}

func (v vector) number(name string, otherwise float64) float64 {
	if x, ok := v.Args[name].(float64); ok {
		return x
	}
	return otherwise
}

func (v vector) numbers(name string) []float64 {
	switch x := v.Args[name].(type) {
	case float64:
		return []float64{x}
	case []any:
		f := make([]float64, len(x))
		for i := range x {
			f[i] = x[i].(float64)
		}
		return f
	}
	return nil
}

func (v vector) text(name string) string {
	s, _ := v.Args[name].(string)
	return strings.TrimPrefix(s, "types.")
}

func (v vector) dtype(otherwise datum.DType) datum.DType {
	if v.text("dtype") == "" {
		return otherwise
	}
	return parseDType(v.text("dtype"))
}

func to32(f []float64) []float32 {
	out := make([]float32, len(f))
	for i, x := range f {
		out[i] = float32(x)
	}
	return out
}

// TestRecordedFigures applies every recorded operator call of which this package has the arithmetic.
func TestRecordedFigures(t *testing.T) {
	var all struct{ Entries []vector }
	require.NoError(t, json.Unmarshal(datatest.Vectors(t, "dali_operators.json"), &all))
	apply := map[string]func(*testing.T, vector, []array) (array, error){
		"resize": applyResize, "crop": applyCrop, "flip": applyFlip, "crop_mirror_normalize": applyCMN,
		"cast": applyCast, "one_hot": applyOneHot, "normalize": applyNormalize, "slice": applySlice, "transpose": applyTranspose,
	}
	seen := map[string]int{}
	for _, v := range all.Entries {
		f := apply[v.Operator]
		if f == nil || slices.ContainsFunc(v.Inputs, func(a vectorArray) bool { return a.File != "" }) {
			continue
		}
		seen[v.Operator]++
		t.Run(v.ID, func(t *testing.T) {
			in := make([]array, len(v.Inputs))
			for i, a := range v.Inputs {
				in[i] = a.array(t)
			}
			got, err := f(t, v, in)
			if v.Error != nil {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			requireSame(t, v.Output[0], got)
		})
	}
	require.Len(t, seen, len(apply), "operators without a recorded figure")
}

// requireSame compares as DALI's users may expect: integers within 1, others within 1e-4.
func requireSame(t *testing.T, want vectorArray, got array) {
	t.Helper()
	require.Equal(t, want.DType, got.typ.String())
	require.Equal(t, want.Shape, got.shape)
	w, g := want.array(t).floats(), got.floats()
	if len(w) == 0 {
		return
	}
	worst, where := 0.0, 0
	for i := range w {
		d := math.Abs(w[i] - g[i])
		if w[i] == g[i] || w[i] != w[i] && g[i] != g[i] {
			continue
		}
		if !strings.Contains(want.DType, "int") {
			d /= 1e-4 * max(1, math.Abs(w[i]))
		}
		if !(d <= worst) {
			worst, where = d, i
		}
	}
	require.LessOrEqual(t, worst, 1.0, "element %d is %v, want %v", where, g[where], w[where])
}

func applyResize(t *testing.T, v vector, in []array) (array, error) {
	s := ResizeSpec{Mode: map[string]ResizeMode{
		"": ResizeDefault, "default": ResizeDefault, "stretch": ResizeStretch, "not_larger": ResizeNotLarger, "not_smaller": ResizeNotSmaller,
	}[v.text("mode")]}
	if size := v.numbers("size"); size != nil {
		s.Size = [2]float64{size[0], size[len(size)-1]}
	}
	s.Size[0] += v.number("resize_y", 0)
	s.Size[1] += v.number("resize_x", 0)
	if x := v.number("resize_shorter", 0); x != 0 {
		s.Size, s.Mode = [2]float64{x, x}, ResizeNotSmaller
	}
	if x := v.number("resize_longer", 0); x != 0 {
		s.Size, s.Mode = [2]float64{x, x}, ResizeNotLarger
	}
	if m := v.numbers("max_size"); m != nil {
		s.MaxSize = [2]float64{m[0], m[len(m)-1]}
	}
	filters := map[string]Filter{
		"": Linear, "INTERP_LINEAR": Linear, "INTERP_TRIANGULAR": Triangular, "INTERP_NN": Nearest,
		"INTERP_CUBIC": Cubic, "INTERP_LANCZOS3": Lanczos3, "INTERP_GAUSSIAN": Gaussian,
	}
	s.Min, s.Mag = filters[v.text("interp_type")], filters[v.text("interp_type")]
	if f := v.text("min_filter"); f != "" {
		s.Min = filters[f]
	}
	if f := v.text("mag_filter"); f != "" {
		s.Mag = filters[f]
	}
	s.NoAntialias = v.Args["antialias"] == false
	s.WholePixels = v.Args["subpixel_scale"] == false
	if start := v.numbers("roi_start"); start != nil {
		s.ROI, s.ROIRelative = true, v.Args["roi_relative"] == true
		s.ROIStart, s.ROIEnd = [2]float64(start), [2]float64(v.numbers("roi_end"))
	}
	src := in[0].image()
	plan, err := s.Resolve(src.H, src.W)
	if err != nil {
		return array{}, err
	}
	out := newArray(v.dtype(in[0].typ), "HWC", plan.Y.Out, plan.X.Out, src.C)
	var r Resampler
	return out, r.Resize(out.data, out.typ, src, plan)
}

// cropWindow returns the region that the crop arguments ask for.
func cropWindow(v vector, h, w int) (y, x, n, m int, err error) {
	n, m = h, w
	if c := v.numbers("crop"); c != nil {
		n, m = int(c[0]), int(c[1])
	}
	n, m = int(v.number("crop_h", float64(n))), int(v.number("crop_w", float64(m)))
	truncate := v.text("rounding") == "truncate"
	y = CropAnchor(v.number("crop_pos_y", 0.5), h, n, truncate)
	x = CropAnchor(v.number("crop_pos_x", 0.5), w, m, truncate)
	b := bounds(v)
	if y, n, err = b.Bound(y, n, h); err == nil {
		x, m, err = b.Bound(x, m, w)
	}
	return
}

func bounds(v vector) Bounds {
	return map[string]Bounds{"": BoundsError, "error": BoundsError, "pad": BoundsPad, "trim_to_shape": BoundsTrim}[v.text("out_of_bounds_policy")]
}

func fillBytes(v vector, typ datum.DType) []byte {
	f := to32(v.numbers("fill_values"))
	out := make([]byte, len(f)*typ.Size())
	castFrom(out, typ, f)
	return out
}

func applyCrop(t *testing.T, v vector, in []array) (array, error) {
	a := in[0]
	y, x, h, w, err := cropWindow(v, a.shape[0], a.shape[1])
	if err != nil {
		return array{}, err
	}
	out := newArray(a.typ, "HWC", h, w, a.shape[2])
	return out, Slice(out.data, a.data, a.typ.Size(), a.shape, []int{y, x, 0}, out.shape, fillBytes(v, a.typ), 2)
}

func applyFlip(t *testing.T, v vector, in []array) (array, error) {
	a := in[0]
	out := newArray(a.typ, a.layout, a.shape...)
	h, w, c := a.shape[0], a.shape[1], a.shape[2]
	copy(out.data, a.data)
	if v.number("horizontal", 1) != 0 {
		require.NoError(t, Flip(out.data, slices.Clone(out.data), a.typ.Size(), h, w, c))
	}
	if v.number("vertical", 0) != 0 {
		require.NoError(t, Flip(out.data, slices.Clone(out.data), a.typ.Size(), 1, h, w*c))
	}
	return out, nil
}

func applyCMN(t *testing.T, v vector, in []array) (array, error) {
	src := in[0].image()
	srcCHW := in[0].layout == "CHW"
	if srcCHW {
		src.C, src.H, src.W = src.H, src.W, src.C
	}
	y, x, h, w, err := cropWindow(v, src.H, src.W)
	if err != nil {
		return array{}, err
	}
	s := CMNSpec{
		Y: y, X: x, H: h, W: w, Fill: to32(v.numbers("fill_values")), Mirror: v.number("mirror", 0) != 0,
		Mean: to32(v.numbers("mean")), Std: to32(v.numbers("std")),
		Scale: float32(v.number("scale", 1)), Shift: float32(v.number("shift", 0)),
		SrcCHW: srcCHW, DstCHW: v.text("output_layout") != "HWC", DstC: src.C,
	}
	if v.Args["pad_output"] == true {
		for s.DstC&(s.DstC-1) != 0 {
			s.DstC++
		}
	}
	out := newArray(v.dtype(datum.Float32), "HWC", h, w, s.DstC)
	if s.DstCHW {
		out = newArray(v.dtype(datum.Float32), "CHW", s.DstC, h, w)
	}
	var n CropMirrorNormalizer
	return out, n.Apply(out.data, out.typ, src, &s)
}

func applyCast(t *testing.T, v vector, in []array) (array, error) {
	out := newArray(v.dtype(0), "", in[0].shape...)
	return out, Cast(out.data, out.typ, in[0].data, in[0].typ)
}

func applyOneHot(t *testing.T, v vector, in []array) (array, error) {
	labels := make([]byte, 8*elements(in[0].shape))
	convert(labels, datum.Int64, in[0].data, in[0].typ)
	classes := int(v.number("num_classes", 0))
	axis := int(v.number("axis", -1))
	if axis < 0 {
		axis = len(in[0].shape)
	}
	out := newArray(v.dtype(datum.Float32), "", slices.Insert(slices.Clone(in[0].shape), axis, classes)...)
	inner := elements(in[0].shape[axis:])
	on, off := v.number("on_value", 1), v.number("off_value", 0)
	if out.typ == datum.Int32 {
		return out, OneHot(datum.View[int32](out.data), datum.View[int64](labels), classes, inner, int32(on), int32(off))
	}
	return out, OneHot(datum.View[float32](out.data), datum.View[int64](labels), classes, inner, float32(on), float32(off))
}

func applyNormalize(t *testing.T, v vector, in []array) (array, error) {
	a := in[0]
	s := NormalizeSpec{
		DDoF: int(v.number("ddof", 0)), Epsilon: float32(v.number("epsilon", 0)),
		Scale: float32(v.number("scale", 1)), Shift: float32(v.number("shift", 0)),
	}
	for _, x := range v.numbers("axes") {
		s.Axes = append(s.Axes, int(x))
	}
	for _, name := range v.text("axis_names") {
		s.Axes = append(s.Axes, strings.IndexRune(a.layout, name))
	}
	if m := to32(v.numbers("mean")); len(m) > 0 {
		s.Mean = &m[0]
	}
	if d := to32(v.numbers("stddev")); len(d) > 0 {
		s.StdDev = &d[0]
	}
	out := newArray(v.dtype(datum.Float32), a.layout, a.shape...)
	var n Normalizer
	return out, n.Apply(out.data, out.typ, a.data, a.typ, a.shape, &s)
}

func applySlice(t *testing.T, v vector, in []array) (array, error) {
	a := in[0]
	var axes []int
	for _, x := range v.numbers("axes") {
		axes = append(axes, int(x))
	}
	names := v.text("axis_names")
	if names == "" && len(in) == 3 && axes == nil {
		names = "WH" // DALI's default for an anchor and a shape that are inputs
	}
	for _, name := range names {
		axes = append(axes, strings.IndexRune(a.layout, name))
	}
	start, shape := make([]int, len(a.shape)), slices.Clone(a.shape)
	for i, axis := range axes {
		n := float64(a.shape[axis])
		from, to := 0.0, n
		if len(in) == 3 {
			from, to = in[1].floats()[i], in[2].floats()[i]
			if v.Args["normalized_anchor"] != false {
				from *= n
			}
			if v.Args["normalized_shape"] != false {
				to *= n
			}
			to += from
		}
		for _, p := range []struct {
			prefix string
			scale  float64
		}{{"", 1}, {"rel_", n}} {
			if x := v.numbers(p.prefix + "start"); x != nil {
				from = x[i] * p.scale
			}
			if x := v.numbers(p.prefix + "end"); x != nil {
				to = x[i] * p.scale
			}
			if x := v.numbers(p.prefix + "shape"); x != nil {
				to = from + x[i]*p.scale
			}
		}
		if to < from {
			return array{}, badArgument("slice", "region from %g to %g", from, to)
		}
		var err error
		start[axis] = int(math.Round(from))
		start[axis], shape[axis], err = bounds(v).Bound(start[axis], int(math.Round(to))-start[axis], a.shape[axis])
		if err != nil {
			return array{}, err
		}
	}
	cut := newArray(a.typ, a.layout, shape...)
	if err := Slice(cut.data, a.data, a.typ.Size(), a.shape, start, shape, fillBytes(v, a.typ), len(shape)-1); err != nil {
		return cut, err
	}
	out := newArray(v.dtype(a.typ), a.layout, shape...)
	return out, Cast(out.data, out.typ, cut.data, cut.typ)
}

func applyTranspose(t *testing.T, v vector, in []array) (array, error) {
	a := in[0]
	out := newArray(a.typ, "")
	out.data = make([]byte, len(a.data))
	perm := make([]int, 0, len(a.shape))
	for _, p := range v.numbers("perm") {
		perm = append(perm, int(p))
		out.shape = append(out.shape, a.shape[int(p)])
	}
	return out, Transpose(out.data, a.data, a.typ.Size(), a.shape, perm)
}
