package readers

import (
	"encoding/binary"
	"fmt"

	"github.com/planktonml/plankton/internal/labels"
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
func declaredClasses(n int, names []string) (int, error) { return labels.Declared(n, names) }

// checkLabel returns an error for what is no label of the given number of
// classes; 0 leaves it open.
func checkLabel(label int64, classes int) error { return labels.Check(label, classes) }

// putLabel makes t the scalar label.
func putLabel(t *datum.Tensor, label int32) error {
	mem, err := t.Resize()
	if err == nil {
		binary.NativeEndian.PutUint32(mem, uint32(label))
	}
	return err
}
