package readers

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Field chooses a column of a table for the readers of tables ([CSV], [JSONLines] and
// package parquet), and says what becomes of it. Every field is an output.
type Field struct {
	// Name is that of the column. Parts of a name are joined by dots: "image.bytes" is
	// the part bytes of the struct or object image.
	Name string

	// DType is the type of the elements. Text that is to be a number needs it: without
	// it, CSV gives the bytes of the text, as uint8 of one dimension. JSON has numbers as
	// float64 and true and false as bool if it says nothing else. A Parquet file says the types itself:
	// there it is left out.
	DType datum.DType

	// Shape is that of every row: a row with another number of elements is an error of
	// that sample. Without it a row has the shape of what it is: a number none, text and
	// lists one dimension that differs, lists of lists two, and so on.
	Shape []int

	// Layout names the dimensions.
	Layout datum.Layout

	// Label makes it a class label: an int32 scalar, which is known without reading the
	// sample. The column has whole numbers, or text. Text stands for its place among
	// ClassNames, or, without these, among all texts of the column, sorted.
	Label bool
	// Classes is the number of classes, and ClassNames their names, of a Label. Default
	// what the file says of it, if it does, else the highest label plus one.
	Classes    int
	ClassNames []string
}

// Check returns an error for a field that no reader can meet.
func (f *Field) Check() error {
	switch {
	case f.Name == "":
		return errors.New("a field has no Name; name the column")
	case !f.Label && (f.Classes != 0 || f.ClassNames != nil):
		return fmt.Errorf("field %s has classes and is no Label; set Label", shown(f.Name))
	case f.Label && (f.Shape != nil || f.Layout != "" || f.DType != 0):
		return fmt.Errorf("field %s is a Label, which is an int32 scalar; leave DType, Shape and Layout out", shown(f.Name))
	case len(f.Shape) > datum.MaxDims:
		return fmt.Errorf("field %s: Shape has %d dimensions; want at most %d", shown(f.Name), len(f.Shape), datum.MaxDims)
	case f.Layout != "" && len(f.Layout) != len(f.Shape):
		return fmt.Errorf("field %s: Layout %q names %d dimensions, Shape has %d", shown(f.Name), f.Layout, len(f.Layout), len(f.Shape))
	}
	n := 1
	for i, d := range f.Shape {
		if d < 1 || d > math.MaxInt32/n {
			return fmt.Errorf("field %s: dimension %d of Shape is %d; dimensions are at least 1 and have a product below 2^31", shown(f.Name), i, d)
		}
		n *= d
	}
	_, err := declaredClasses(f.Classes, f.ClassNames)
	return err
}
