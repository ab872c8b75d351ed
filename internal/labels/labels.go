// Package labels makes class labels of a column of a table: of whole numbers, or of text.
package labels

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/printable"
)

// Labels are the class labels of rows, in their order.
type Labels struct {
	Of      []int32
	Classes int
	Names   []string // of the classes, nil where they have none
}

// Declared returns the number of classes that options ask for, 0 if they leave it open.
func Declared(n int, names []string) (int, error) {
	switch {
	case n < 0:
		return 0, fmt.Errorf("the number of classes is %d; it must be at least 1, or 0 where it is to be found out", n)
	case len(names) == 0:
		return n, nil
	case n > 0 && n != len(names):
		return 0, fmt.Errorf("%d classes, but %d class names; give as many names as classes, or the names alone", n, len(names))
	}
	return len(names), nil
}

// Check returns an error for what is no label of the given number of classes; 0 leaves it
// open.
func Check(label int64, classes int) error {
	switch {
	case classes > 0 && (label < 0 || label >= int64(classes)):
		return fmt.Errorf("label %d is out of range: with %d classes labels are 0 … %d", label, classes, classes-1)
	case label < 0 || label >= math.MaxInt32:
		return fmt.Errorf("label %d is out of range: labels are 0 … %d", label, math.MaxInt32-1)
	}
	return nil
}

// Whole makes labels of whole numbers. Classes and names are what options declare; at
// names a row for an error.
func Whole(values []int64, classes int, names []string, at func(row int) string) (*Labels, error) {
	classes, err := Declared(classes, names)
	if err != nil {
		return nil, err
	}
	l := &Labels{Of: make([]int32, len(values)), Classes: classes, Names: slices.Clone(names)}
	for i, v := range values {
		if err := Check(v, classes); err != nil {
			return nil, fmt.Errorf("%s: %w", at(i), err)
		}
		l.Of[i] = int32(v)
	}
	if classes == 0 && len(values) > 0 {
		l.Classes = int(slices.Max(l.Of)) + 1
	}
	return l, nil
}

// Texts makes labels of texts: row i has texts[of[i]]. A text stands for its place among
// the names or, without these, among all texts, sorted. At names a row for an error.
func Texts(texts []string, of []int32, classes int, names []string, at func(row int) string) (*Labels, error) {
	if names == nil {
		names = slices.Sorted(slices.Values(texts))
	}
	if classes != 0 && classes != len(names) {
		return nil, fmt.Errorf("the column has %d different texts, but %d classes are declared; correct it, or give the names of the classes", len(names), classes)
	}
	place := make(map[string]int32, len(names))
	for i, name := range names {
		if _, twice := place[name]; twice {
			return nil, fmt.Errorf("two classes have the name %s", printable.Name(name))
		}
		place[name] = int32(i)
	}
	label := make([]int32, len(texts))
	for i, text := range texts {
		p, ok := place[text]
		if !ok {
			p = -1
		}
		label[i] = p
	}
	l := &Labels{Of: make([]int32, len(of)), Classes: len(names), Names: slices.Clone(names)}
	for i, t := range of {
		if l.Of[i] = label[t]; l.Of[i] < 0 {
			return nil, fmt.Errorf("%s: the text %s is none of the %d class names; add it there", at(i), printable.Name(texts[t]), len(names))
		}
	}
	return l, nil
}
