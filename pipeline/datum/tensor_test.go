package datum_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

func TestDTypes(t *testing.T) {
	for dt := datum.Uint8; dt <= datum.Bool; dt++ {
		back, err := datum.ParseDType(dt.String())
		require.NoError(t, err)
		require.Equal(t, dt, back)
		require.Positive(t, dt.Size())
	}
	for _, name := range []string{"", "int", "DType(0)"} {
		_, err := datum.ParseDType(name)
		require.ErrorContains(t, err, "the types are uint8 … int64, float16, float32, float64 and bool")
	}
	require.Zero(t, datum.DType(0).Size())
	require.Equal(t, "DType(99)", datum.DType(99).String())
}

// scratch returns a tensor of any shape with memory of its own.
func scratch(dt datum.DType) *datum.Tensor {
	x := new(datum.Tensor)
	if dt != 0 {
		_, _ = x.ResizeAs(dt, 0)
	}
	return x
}

func TestResizeKeepsItsMemoryWhenItShrinks(t *testing.T) {
	x := scratch(datum.Int32)
	mem, err := x.Resize(4, 5)
	require.NoError(t, err)
	require.Len(t, mem, 80)
	require.Equal(t, []int{4, 5}, x.Shape())
	require.Equal(t, 20, x.Len())
	first := &mem[0]
	mem, err = x.Resize(3)
	require.NoError(t, err)
	require.Len(t, mem, 12)
	require.Same(t, first, &mem[0])
	require.Equal(t, []int{3}, x.Shape())
	mem, err = x.Resize()
	require.NoError(t, err)
	require.Len(t, mem, 4, "a scalar is one element")
	mem, err = x.Resize(3, 0)
	require.NoError(t, err)
	require.Empty(t, mem)
	_, err = x.Resize(1, 1, 1, 1, 1, 1, 1)
	require.EqualError(t, err, "7 dimensions, at most 6 are possible")
}

func TestARowKeepsItsShapeAndType(t *testing.T) {
	row := make([]byte, 24)
	x := new(datum.Cell)
	x.Declare(&datum.Spec{DType: datum.Float32, Layout: datum.HWC, Shape: []int{1, 2, 3}})
	x.Bind(row)
	mem, err := x.Resize(1, 2, 3)
	require.NoError(t, err)
	require.Same(t, &row[0], &mem[0])
	_, err = x.Resize(3, 2, 1)
	var bad *datum.ShapeError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, datum.ShapeError{Got: []int{3, 2, 1}, Want: []int{1, 2, 3}}, *bad)
	require.EqualError(t, err, "shape [3 2 1], the output was declared [1 2 3]")
	_, err = x.ResizeAs(datum.Uint8, 1, 2, 3)
	require.EqualError(t, err, "uint8 elements, the output was declared float32")

	src := scratch(datum.Float32)
	_, err = src.Resize(1, 2, 3)
	require.NoError(t, err)
	src.Float32s()[5] = 42
	src.SetLayout(datum.CHW)
	require.NoError(t, x.CopyFrom(src))
	require.EqualValues(t, 42, datum.View[float32](row)[5])
	require.Equal(t, datum.CHW, x.Layout())
}

func TestScalar(t *testing.T) {
	set := func(dt datum.DType, put func(x *datum.Tensor)) *datum.Tensor {
		x := scratch(dt)
		_, err := x.Resize(1)
		require.NoError(t, err)
		put(x)
		return x
	}
	for _, c := range []struct {
		x    *datum.Tensor
		want float64
	}{
		{set(datum.Uint8, func(x *datum.Tensor) { x.Uint8s()[0] = 200 }), 200},
		{set(datum.Bool, func(x *datum.Tensor) { x.Bytes()[0] = 1 }), 1},
		{set(datum.Int8, func(x *datum.Tensor) { datum.View[int8](x.Bytes())[0] = -7 }), -7},
		{set(datum.Uint16, func(x *datum.Tensor) { datum.View[uint16](x.Bytes())[0] = 60000 }), 60000},
		{set(datum.Int16, func(x *datum.Tensor) { datum.View[int16](x.Bytes())[0] = -300 }), -300},
		{set(datum.Uint32, func(x *datum.Tensor) { datum.View[uint32](x.Bytes())[0] = 1 << 31 }), 1 << 31},
		{set(datum.Int32, func(x *datum.Tensor) { x.Int32s()[0] = -70000 }), -70000},
		{set(datum.Uint64, func(x *datum.Tensor) { datum.View[uint64](x.Bytes())[0] = 1 << 63 }), 1 << 63},
		{set(datum.Int64, func(x *datum.Tensor) { x.Int64s()[0] = -1 << 40 }), -1 << 40},
		{set(datum.Float32, func(x *datum.Tensor) { x.Float32s()[0] = 0.5 }), 0.5},
		{set(datum.Float64, func(x *datum.Tensor) { x.Float64s()[0] = math.Pi }), math.Pi},
	} {
		got, err := c.x.Scalar()
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.x.DType())
	}
	two := scratch(datum.Int32)
	_, err := two.Resize(2)
	require.NoError(t, err)
	_, err = two.Scalar()
	require.EqualError(t, err, "one number is wanted, got int32 of shape [2]")
}

func TestViewLeavesOutWhatFillsNoElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := make([]byte, rapid.IntRange(0, 40).Draw(t, "bytes"))
		require.Len(t, datum.View[uint16](mem), len(mem)/2)
		require.Len(t, datum.View[float64](mem), len(mem)/8)
	})
	require.Nil(t, datum.View[int32](nil))
}

func TestTypedMethodsPanicForOtherTypes(t *testing.T) {
	a := scratch(datum.Float32)
	_, err := a.Resize(2)
	require.NoError(t, err)
	require.Len(t, a.Float32s(), 2)
	for want, read := range map[string]func(){
		"float64": func() { a.Float64s() },
		"int32":   func() { a.Int32s() },
		"int64":   func() { a.Int64s() },
		"uint8":   func() { a.Uint8s() },
	} {
		require.PanicsWithValue(t, "datum: the tensor is float32, not "+want, read)
	}
}

// What a reader lends is not written, whoever asks for memory after it.
func TestLentMemoryIsNotWritten(t *testing.T) {
	lent := []byte{1, 2, 3}
	var x datum.Cell
	x.Declare(&datum.Spec{DType: datum.Uint8, Shape: []int{-1}})
	require.NoError(t, x.Lend(lent, 3))
	require.NoError(t, x.Own())
	require.Equal(t, []byte{1, 2, 3}, x.Bytes())
	x.Bytes()[0] = 9
	require.NoError(t, x.Lend(lent, 3))
	mem, err := x.Resize(2)
	require.NoError(t, err)
	copy(mem, []byte{8, 9})
	require.Equal(t, []byte{1, 2, 3}, lent)
}
