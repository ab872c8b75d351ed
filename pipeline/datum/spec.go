package datum

import (
	"fmt"
	"strings"
)

// Spec says what is known of a value's samples when the pipeline is built.
type Spec struct {
	DType  DType  // 0: known only at run time
	Layout Layout // names of the dimensions, or empty
	Shape  []int  // of one sample, outermost first; -1 where it differs from sample to sample

	// Classes is the number of classes where the value is a class label,
	// 0 where it is not or the number is not known.
	Classes int
}

// Dense reports whether type and shape are known, so that all samples have the same and a
// batch of them is one array.
func (s Spec) Dense() bool {
	for _, d := range s.Shape {
		if d < 0 {
			return false
		}
	}
	return s.DType.valid()
}

// Countable reports whether an int can hold the number of bytes of a sample. It is true
// where the number is not known.
func (s Spec) Countable() bool {
	if !s.Dense() {
		return true
	}
	_, ok := sizeOf(s.Shape, s.DType.Size())
	return ok
}

// Bytes returns the bytes of a sample of a dense spec.
func (s Spec) Bytes() int { return elements(s.Shape) * s.DType.Size() }

// String writes a spec as in "uint8 HWC ?×?×3".
func (s Spec) String() string {
	var b strings.Builder
	if s.DType == 0 {
		b.WriteString("any type")
	} else {
		b.WriteString(s.DType.String())
	}
	if s.Layout != "" {
		b.WriteString(" " + string(s.Layout))
	}
	if len(s.Shape) == 0 {
		b.WriteString(" scalar")
		return b.String()
	}
	for i, d := range s.Shape {
		sep := "×"
		if i == 0 {
			sep = " "
		}
		b.WriteString(sep)
		if d < 0 {
			b.WriteString("?")
		} else {
			fmt.Fprint(&b, d)
		}
	}
	return b.String()
}
