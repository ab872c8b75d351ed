package readers

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// fail reports a mistake under the reader's name, or its kind where it has none.
func fail(g *pipeline.Graph, kind, name string, err error) {
	if name == "" {
		name = kind
	}
	g.Fail(name, err)
}

// describe names a sample that has no name of its own.
func describe(kind, name string, index int64) string {
	if name == "" {
		name = kind
	}
	return fmt.Sprintf("%s[%d]", name, index)
}

// declaredClasses returns the number of classes that options ask for, 0 if they
// leave it open.
func declaredClasses(n int, names []string) (int, error) {
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

// checkLabel returns an error for what is no label of the given number of
// classes; 0 leaves it open.
func checkLabel(label int64, classes int) error {
	switch {
	case classes > 0 && (label < 0 || label >= int64(classes)):
		return fmt.Errorf("label %d is out of range: with %d classes labels are 0 … %d", label, classes, classes-1)
	case label < 0 || label >= math.MaxInt32:
		return fmt.Errorf("label %d is out of range: labels are 0 … %d", label, math.MaxInt32-1)
	}
	return nil
}

// putLabel makes t the scalar label.
func putLabel(t *datum.Tensor, label int32) error {
	mem, err := t.Resize()
	if err == nil {
		binary.NativeEndian.PutUint32(mem, uint32(label))
	}
	return err
}
