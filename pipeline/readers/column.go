package readers

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Column is one column of a data set in memory, for [Slices]. It is made by
// [Rows] or [Ragged]; its methods return a changed copy. What is wrong with it
// comes out when it is used.
type Column struct {
	spec  datum.Spec
	rows  int
	names []string // of the classes
	row   func(i int) []byte
	all   []byte                  // the rows, where all have one shape
	check func(classes int) error // that all rows are labels; nil if they cannot be
	label func(i int) int64       // row i as a label, where there is a check
	err   error
}

// Rows is a column whose rows all have the same shape: data holds them one
// after the other, each in row-major order. Without a shape a row is one number.
func Rows[T datum.Element](data []T, shape ...int) Column {
	c := Column{spec: datum.Spec{DType: dtypeOf[T](), Shape: slices.Clone(shape)}}
	size := 1
	for i, d := range shape {
		if d < 1 || d > math.MaxInt/size {
			c.err = fmt.Errorf("dimension %d of the shape is %d; dimensions are at least 1 and have a product that fits an int", i, d)
			return c
		}
		size *= d
	}
	if len(data)%size != 0 {
		c.err = fmt.Errorf("%d elements are not a whole number of rows of %d", len(data), size)
		return c
	}
	c.rows, c.all = len(data)/size, datum.BytesOf(data)
	c.row = func(i int) []byte { return datum.BytesOf(data[i*size : (i+1)*size : (i+1)*size]) }
	if whole := c.spec.DType != datum.Float32 && c.spec.DType != datum.Float64; whole && len(shape) == 0 {
		c.check = func(classes int) error { return checkLabels(data, classes) }
		c.label = func(i int) int64 { return int64(data[i]) }
	}
	return c
}

// Ragged is a column whose rows have one dimension that differs in length, such
// as encoded pictures as [][]byte.
func Ragged[T datum.Element](rows [][]T) Column {
	c := Column{spec: datum.Spec{DType: dtypeOf[T](), Shape: []int{-1}}, rows: len(rows)}
	c.row = func(i int) []byte { return datum.BytesOf(slices.Clip(rows[i])) }
	return c
}

// WithClasses makes the column one of class labels, 0 … n-1. It must hold one
// whole number per row; one that is out of range is an error.
func (c Column) WithClasses(n int) Column {
	switch {
	case c.err != nil:
		return c
	case n < 1:
		c.err = fmt.Errorf("WithClasses(%d): there must be at least 1 class", n)
	case c.check == nil:
		c.err = errors.New("only a column of one whole number per row can be class labels")
	default:
		c.spec.Classes = n
		c.err = c.check(n)
	}
	return c
}

// WithClassNames is WithClasses for classes with names, which become part of
// the data set's metadata.
func (c Column) WithClassNames(names ...string) Column {
	c = c.WithClasses(len(names))
	c.names = slices.Clone(names)
	return c
}

// WithLayout names the dimensions of a row, as in "HWC" for rows of the shape
// H×W×C. Operators on pictures need it.
func (c Column) WithLayout(layout datum.Layout) Column {
	if c.err == nil && len(layout) != len(c.spec.Shape) {
		c.err = fmt.Errorf("layout %q names %d dimensions, a row has %d", layout, len(layout), len(c.spec.Shape))
	}
	c.spec.Layout = layout
	return c
}

// lend makes t show row i.
func (c *Column) lend(t *datum.Tensor, i int) error {
	mem := c.row(i)
	if c.spec.Dense() {
		return t.Lend(mem, c.spec.Shape...)
	}
	return t.Lend(mem, len(mem)/c.spec.DType.Size())
}

func checkLabels[T datum.Element](data []T, classes int) error {
	for i, v := range data {
		// The conversion wraps what is too large for an int64 round to below 0.
		if label := int64(v); label < 0 || label >= int64(classes) {
			return fmt.Errorf("row %d: label %v is out of range: with %d classes labels are 0 … %d", i, v, classes, classes-1)
		}
	}
	return nil
}

func dtypeOf[T datum.Element]() datum.DType {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Uint8:
		return datum.Uint8
	case reflect.Int8:
		return datum.Int8
	case reflect.Uint16:
		return datum.Uint16
	case reflect.Int16:
		return datum.Int16
	case reflect.Uint32:
		return datum.Uint32
	case reflect.Int32:
		return datum.Int32
	case reflect.Uint64:
		return datum.Uint64
	case reflect.Int64:
		return datum.Int64
	case reflect.Float32:
		return datum.Float32
	default:
		return datum.Float64
	}
}
