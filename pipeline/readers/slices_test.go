package readers

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

type celsius float32

func columns(o SlicesOptions, c ...Column) func(*pipeline.Graph) []pipeline.Value {
	return func(g *pipeline.Graph) []pipeline.Value { return Slices(g, o, c...) }
}

func TestSlicesBatches(t *testing.T) {
	pictures := counting(5 * 6)
	p, err := build(5, 3, columns(SlicesOptions{Name: "table"},
		Rows(pictures, 1, 2, 3).WithLayout("HWC"),
		Rows([]celsius{1.5, 2, 3, 4, 5}),
		Ragged([][]uint16{{1}, nil, {2, 3}, {4}, {5, 6, 7}}),
		Rows([]int64{0, 1, 2, 1, 0}).WithClassNames("a", "b", "c"),
	))
	require.NoError(t, err)
	r := p.Readers()[0]
	require.Equal(t, []datum.Spec{
		{DType: datum.Uint8, Layout: "HWC", Shape: []int{1, 2, 3}}, {DType: datum.Float32},
		{DType: datum.Uint16, Shape: []int{-1}}, {DType: datum.Int64, Classes: 3},
	}, r.Source.Outputs())
	require.Equal(t, []string{"a", "b", "c"}, r.Meta().Classes)
	require.Equal(t, "table[3]", r.Source.Describe(3))
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		require.Equal(t, pictures, b.Uint8s("0"))
		require.Equal(t, []float32{1.5, 2, 3, 4, 5}, b.Float32s("1"))
		require.Equal(t, []int64{0, 1, 2, 1, 0}, b.Int64s("3"))
		for i, n := range []int{1, 0, 2, 1, 3} {
			require.Equal(t, []int{n}, b.Sample("2", i).Shape())
		}
		require.Equal(t, []uint16{5, 6, 7}, datum.View[uint16](b.Sample("2", 4).Bytes()))
		clear(b.Uint8s("0"))
		clear(b.Sample("2", 4).Bytes())
	}))
	require.Equal(t, counting(30), pictures, "a batch is a copy")
}

// column puts all rows of a column into a batch and returns its elements.
func column[T datum.Element](t *testing.T, data []T, want datum.DType) {
	t.Helper()
	p, err := build(len(data), 1, columns(SlicesOptions{}, Rows(data)))
	require.NoError(t, err)
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		require.Equal(t, want, b.DType("0"))
		require.Equal(t, data, datum.View[T](b.Bytes("0")))
	}))
}

func TestSlicesTypes(t *testing.T) {
	column(t, []uint8{0, math.MaxUint8}, datum.Uint8)
	column(t, []int8{math.MinInt8, 1}, datum.Int8)
	column(t, []uint16{0, math.MaxUint16}, datum.Uint16)
	column(t, []int16{math.MinInt16, 1}, datum.Int16)
	column(t, []uint32{0, math.MaxUint32}, datum.Uint32)
	column(t, []int32{math.MinInt32, 1}, datum.Int32)
	column(t, []uint64{0, math.MaxUint64}, datum.Uint64)
	column(t, []int64{math.MinInt64, 1}, datum.Int64)
	column(t, []float32{-1.5, math.MaxFloat32}, datum.Float32)
	column(t, []float64{-1.5, math.MaxFloat64}, datum.Float64)
}

func TestSlicesRefusals(t *testing.T) {
	two := Rows([]float32{1, 2, 3, 4}, 2)
	tests := []struct {
		name    string
		columns []Column
		want    string
	}{
		{"none", nil, "there are no columns"},
		{"zero value", []Column{{}}, "column 0 is empty"},
		{"no rows", []Column{Rows([]int32(nil), 3)}, "column 0 (int32 3) has no rows"},
		{"lengths", []Column{two, Ragged([][]byte{nil, nil, nil})}, "column 1 (uint8 ?) has 3 rows, column 0 (float32 2) has 2"},
		{"part of a row", []Column{two, Rows(counting(7), 3)}, "column 1 (uint8 3): 7 elements are not a whole number of rows of 3"},
		{"dimension 0", []Column{Rows(counting(7), 3, 0)}, "dimension 1 of the shape is 0"},
		{"overflow", []Column{Rows(counting(7), math.MaxInt, 2)}, "dimension 1 of the shape is 2"},
		{"too many dimensions", []Column{Rows(counting(1), 1, 1, 1, 1, 1, 1, 1)}, "at most 6"},
		{"label too large", []Column{Rows([]uint8{0, 3, 2}).WithClasses(3)}, "column 0 (uint8 scalar): row 1: label 3 is out of range: with 3 classes labels are 0 … 2"},
		{"negative label", []Column{Rows([]int64{0, -3}).WithClasses(3)}, "row 1: label -3 is out of range"},
		{"huge label", []Column{Rows([]uint64{1, math.MaxUint64}).WithClasses(3)}, "row 1: label 18446744073709551615 is out of range"},
		{"no classes", []Column{Rows([]uint8{0}).WithClasses(0)}, "there must be at least 1 class"},
		{"classes of floats", []Column{Rows([]float32{0}).WithClasses(2)}, "only a column of one whole number per row"},
		{"classes of vectors", []Column{Rows([]int32{0}, 1).WithClassNames("a")}, "only a column of one whole number per row"},
		{"classes of rows that differ", []Column{Ragged([][]int32{{1}}).WithClasses(2)}, "only a column of one whole number per row"},
		{"names twice", []Column{Rows([]uint8{0}).WithClassNames("a"), Rows([]uint8{0}).WithClassNames("b")}, "column 1 (uint8 scalar) has class names"},
		{"layout", []Column{two.WithLayout("HWC")}, `layout "HWC" names 3 dimensions, a row has 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.ErrorContains(t, buildError(t, columns(SlicesOptions{Name: "table"}, tt.columns...)), "pipeline: table: ")
			require.ErrorContains(t, buildError(t, columns(SlicesOptions{}, tt.columns...)), tt.want)
		})
	}
}

func TestSlicesFingerprint(t *testing.T) {
	print := func(c ...Column) uint64 {
		s, err := newSlicesSource("", c)
		require.NoError(t, err)
		return s.Meta().Fingerprint
	}
	base := print(Rows(counting(6), 3))
	require.Equal(t, base, print(Rows(make([]byte, 6), 3)))
	require.NotEqual(t, base, print(Rows(counting(6), 2)))
	require.NotEqual(t, base, print(Rows(counting(9), 3)))
	require.NotEqual(t, base, print(Rows(make([]int8, 6), 3)))
}

func TestSlicesTouchTakesEveryRow(t *testing.T) {
	s, err := newSlicesSource("", []Column{Rows([]float32{1, 2, 3, 4}, 2), Ragged([][]byte{nil, []byte("ab")})})
	require.NoError(t, err)
	for i := range s.Len() {
		s.Touch(i)
	}
}

func TestSlicesReadAllocatesNothing(t *testing.T) {
	s, err := newSlicesSource("", []Column{
		Rows(make([]float32, 3*64), 8, 8), Ragged([][]byte{counting(3), counting(100), counting(7)}), Rows([]int32{1, 2, 3}),
	})
	require.NoError(t, err)
	requireNoAllocations(t, s)
}

func BenchmarkSlicesRead(b *testing.B) {
	s, err := newSlicesSource("", []Column{Rows(make([]float32, 64*64), 64), Rows(make([]int32, 64))})
	require.NoError(b, err)
	withTensors(b, s, func(out []*datum.Tensor) error {
		b.ReportAllocs()
		i := int64(0)
		for b.Loop() {
			if err := s.Read(context.Background(), i%64, out); err != nil {
				return err
			}
			i++
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		return nil
	})
}

// What a reader knows of a sample without reading it: of columns the label is that of the
// first one with classes.
func TestEntries(t *testing.T) {
	with, err := newSlicesSource("", []Column{Rows([]float32{1, 2}), Rows([]uint8{9, 8}), Rows([]int16{3, 1}).WithClasses(4)})
	require.NoError(t, err)
	require.Equal(t, datum.Entry{Name: "readers.Slices[1]", Label: 1}, datum.EntryOf(with, 1))
	without, err := newSlicesSource("table", []Column{Rows([]uint8{9, 8})})
	require.NoError(t, err)
	require.Equal(t, datum.Entry{Name: "table[0]", Label: datum.NoLabel}, datum.EntryOf(without, 0))

	files, err := newFileSource(&FileOptions{Root: filesIn(t, "a/x.jpg", "b/y.jpg")})
	require.NoError(t, err)
	require.Equal(t, datum.Entry{Name: "b/y.jpg", Label: 1}, datum.EntryOf(files, 1))
	require.Equal(t, datum.Entry{Name: files.Describe(0), Label: datum.NoLabel}, datum.EntryOf(unlisted{files}, 0))
}

// unlisted hides what a source knows.
type unlisted struct{ datum.Source }
