package ops_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

func TestCast(t *testing.T) {
	column := readers.Rows([]float32{-1.5, -0.5, 0.5, 2.4, 300, float32(math.Inf(1))}, 2, 3)
	for _, c := range []struct {
		to   datum.DType
		want []float64
	}{
		{datum.Uint8, []float64{0, 0, 1, 2, 255, 255}},
		{datum.Int8, []float64{-2, -1, 1, 2, 127, 127}},
		{datum.Int32, []float64{-2, -1, 1, 2, 300, math.MaxInt32}},
		{datum.Bool, []float64{1, 1, 1, 1, 1, 1}},
		{datum.Float64, []float64{-1.5, -0.5, 0.5, float64(float32(2.4)), 300, math.Inf(1)}},
	} {
		got := only(t, column, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return ops.Cast(g, v, c.to) })
		require.Equal(t, []array{{c.to, "", []int{2, 3}, c.want}}, got)
	}
	got := only(t, picture(1, 1, 3, 1, 2, 3), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return ops.Cast(g, v, datum.Int64) })
	require.Equal(t, datum.HWC, got[0].layout, "the layout stays")
}

func TestNormalize(t *testing.T) {
	data := readers.Rows([]float32{1, 2, 3, 6}, 2, 2, 1).WithLayout(datum.HWC)
	all := []float64{-2, -1, 0, 3} // less the mean
	for i := range all {
		all[i] /= math.Sqrt(3.5)
	}
	for _, c := range []struct {
		name string
		opt  func(g *pipeline.Graph) ops.NormalizeOptions
		want []float64
	}{
		{"over everything", func(*pipeline.Graph) ops.NormalizeOptions { return ops.NormalizeOptions{} }, all},
		{"over rows", func(*pipeline.Graph) ops.NormalizeOptions { return ops.NormalizeOptions{Axes: []int{1}} }, []float64{-1, 1, -1, 1}},
		{"over columns by name", func(*pipeline.Graph) ops.NormalizeOptions { return ops.NormalizeOptions{AxisNames: "H"} }, []float64{-1, -1, 1, 1}},
		{"given mean", func(g *pipeline.Graph) ops.NormalizeOptions {
			return ops.NormalizeOptions{Mean: number(g, 1), StdDev: number(g, 2), Scale: 4, Shift: 10}
		}, []float64{10, 12, 14, 20}},
		{"corrected for the sample", func(*pipeline.Graph) ops.NormalizeOptions {
			return ops.NormalizeOptions{AxisNames: "H", DDoF: 1, Scale: 2}
		},
			[]float64{-math.Sqrt2, -math.Sqrt2, math.Sqrt2, math.Sqrt2}},
		{"epsilon", func(*pipeline.Graph) ops.NormalizeOptions { return ops.NormalizeOptions{Axes: []int{1}, Epsilon: 3.75} },
			[]float64{-0.25, 0.25, -1.5 / math.Sqrt(6), 1.5 / math.Sqrt(6)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := only(t, data, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return ops.Normalize(g, v, c.opt(g)) })[0]
			require.Equal(t, []int{2, 2, 1}, got.shape)
			require.Equal(t, datum.Float32, got.dtype)
			require.InDeltaSlice(t, c.want, got.data, 1e-5)
		})
	}
	got := only(t, readers.Rows([]float64{5, 5, 5}, 3), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.Normalize(g, v, ops.NormalizeOptions{Shift: 7, DType: datum.Uint8})
	})
	require.Equal(t, array{datum.Uint8, "", []int{3}, []float64{7, 7, 7}}, got[0], "data without deviation become Shift")
}

func TestOneHot(t *testing.T) {
	first := 0
	for _, c := range []struct {
		name   string
		labels readers.Column
		opt    ops.OneHotOptions
		want   array
	}{
		{"classes from the reader", readers.Rows([]int32{2}).WithClasses(3), ops.OneHotOptions{},
			array{datum.Float32, "", []int{3}, []float64{0, 0, 1}}},
		{"other values", readers.Rows([]uint8{0}), ops.OneHotOptions{Classes: 2, On: 0.9, Off: 0.1},
			array{datum.Float32, "", []int{2}, []float64{float64(float32(0.9)), float64(float32(0.1))}}},
		{"only off", readers.Rows([]int64{1}), ops.OneHotOptions{Classes: 2, Off: 5, DType: datum.Int16},
			array{datum.Int16, "", []int{2}, []float64{5, 0}}},
		{"unknown", readers.Rows([]int32{-1}), ops.OneHotOptions{Classes: 2, IgnoreUnknown: true},
			array{datum.Float32, "", []int{2}, []float64{0, 0}}},
		{"an array", readers.Rows([]int32{1, 0}, 2), ops.OneHotOptions{Classes: 3},
			array{datum.Float32, "", []int{2, 3}, []float64{0, 1, 0, 1, 0, 0}}},
		{"an array of one", readers.Rows([]int32{1}, 1), ops.OneHotOptions{Classes: 3},
			array{datum.Float32, "", []int{3}, []float64{0, 1, 0}}},
		{"an array of one, classes first", readers.Rows([]int32{1}, 1), ops.OneHotOptions{Classes: 3, Axis: &first},
			array{datum.Float32, "", []int{3, 1}, []float64{0, 1, 0}}},
		{"classes first", readers.Rows([]int32{1, 0}, 2), ops.OneHotOptions{Classes: 3, Axis: &first},
			array{datum.Float32, "", []int{3, 2}, []float64{0, 1, 1, 0, 0, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := only(t, c.labels, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return ops.OneHot(g, v, c.opt) })
			require.Equal(t, []array{c.want}, got)
		})
	}
	for _, label := range []int32{-1, 4} {
		msg := fails(t, readers.Rows([]int32{label}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.OneHot(g, v, ops.OneHotOptions{Classes: 4})
		})
		require.Regexp(t, `one_hot: label (-1|4) is outside the classes 0 … 3$`, msg)
	}
}

func TestFunc(t *testing.T) {
	divide := func(_ *datum.Sample, in, out []*datum.Tensor) error {
		a, b := in[0].Int32s()[0], in[1].Int32s()[0]
		if b == 0 {
			return errors.New("division by zero")
		}
		for i, x := range []int32{a / b, a % b} {
			if _, err := out[i].Resize(); err != nil {
				return err
			}
			out[i].Int32s()[0] = x
		}
		return nil
	}
	define := func(g *pipeline.Graph) {
		in := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{7, 9, 1}), readers.Rows([]int32{2, 3, 0}))
		o := ops.FuncOptions{Name: "divide", Outputs: []datum.Spec{{DType: datum.Int32}, {DType: datum.Int32}}}
		out := ops.Func(g, o, divide, in...)
		g.Output("quotient", out[0])
		g.Output("remainder", out[1])
	}
	got, err := epoch(t, pipeline.Options{OnError: pipeline.Skip}, define)
	require.NoError(t, err)
	require.Len(t, got["quotient"], 2)
	require.Equal(t, []float64{3}, got["quotient"][0].data)
	require.Equal(t, []float64{1}, got["remainder"][0].data)
	_, err = epoch(t, pipeline.Options{}, define)
	require.EqualError(t, err, "pipeline: readers.Slices[2]: divide: division by zero; set OnError to Skip or Replace to go on without such samples")
}

// An output must have the shape that its operator declared.
func TestAFuncThatBreaksItsDeclaration(t *testing.T) {
	o := ops.FuncOptions{Outputs: []datum.Spec{{DType: datum.Int32, Shape: []int{2}}}}
	msg := fails(t, readers.Rows([]int32{1}), func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.Func(g, o, func(_ *datum.Sample, in, out []*datum.Tensor) error {
			_, err := out[0].Resize(3)
			return err
		}, v)[0]
	})
	require.Equal(t, "pipeline: readers.Slices[0]: func: shape [3], the output was declared [2]", msg)
}
