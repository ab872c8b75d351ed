package arrays

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// What DALI 2.4.0 computes a + b in, by the types of a and b.
func TestPromote(t *testing.T) {
	const (
		b   = datum.Bool
		u8  = datum.Uint8
		i8  = datum.Int8
		u16 = datum.Uint16
		i16 = datum.Int16
		u32 = datum.Uint32
		i32 = datum.Int32
		u64 = datum.Uint64
		i64 = datum.Int64
		f32 = datum.Float32
		f64 = datum.Float64
	)
	types := []DType{b, u8, i8, u16, i16, u32, i32, u64, i64, f32, f64}
	for i, row := range [][]DType{
		{b, u8, i8, u16, i16, u32, i32, u64, i64, f32, f64},
		{u8, u8, i16, u16, i16, u32, i32, u64, i64, f32, f64},
		{i8, i16, i8, i32, i16, i64, i32, i64, i64, f32, f64},
		{u16, u16, i32, u16, i32, u32, i32, u64, i64, f32, f64},
		{i16, i16, i16, i32, i16, i64, i32, i64, i64, f32, f64},
		{u32, u32, i64, u32, i64, u32, i64, u64, i64, f32, f64},
		{i32, i32, i32, i32, i32, i64, i32, i64, i64, f32, f64},
		{u64, u64, i64, u64, i64, u64, i64, u64, i64, f32, f64},
		{i64, i64, i64, i64, i64, i64, i64, i64, i64, f32, f64},
		{f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f64},
		{f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},
	} {
		for j, want := range row {
			require.Equal(t, want, Promote(types[i], types[j]), "%v and %v", types[i], types[j])
		}
	}
}

// A border shows what the definition says, as far away as one likes.
func TestBorders(t *testing.T) {
	for border, want := range map[Border]string{
		Edge: "aaaaaabcdddddd", Reflect: "ddcbaabcddcbaa", Reflect101: "bcdcbabcdcbabc", Wrap: "dabcdabcdabcda",
	} {
		got := make([]byte, 14)
		require.NoError(t, SliceBorder(got, []byte("abcd"), 1, []int{4}, []int{-5}, []int{14}, border))
		require.Equal(t, want, string(got), "%d", border)
	}
}

// Integers divide as in C, and by zero not at all.
func TestDivision(t *testing.T) {
	var e Elementwise
	operand := func(xs ...int8) Operand {
		mem := make([]byte, len(xs))
		for i, x := range xs {
			mem[i] = byte(x)
		}
		return Operand{mem, datum.Int8, []int{len(xs)}}
	}
	dst := make([]byte, 4)
	in := []Operand{operand(-7, 7, -128, 5), operand(2, -2, -1, 5)}
	require.NoError(t, e.Run(FloorDiv, dst, []int{4}, in))
	require.Equal(t, []byte{0xfd, 0xfd, 0x80, 1}, dst)
	require.NoError(t, e.Run(Mod, dst, []int{4}, in))
	require.Equal(t, []byte{0xff, 1, 0, 0}, dst)
	in[1] = operand(1, 1, 0, 1)
	require.ErrorIs(t, e.Run(FloorDiv, dst, []int{4}, in), ErrDivideByZero)
	require.ErrorIs(t, e.Run(Mod, dst, []int{4}, in), ErrDivideByZero)
}
