package datum

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// What an operator or reader does not write must not look like its result, since the memory
// still holds another sample. So every output is marked as not written before the
// operator runs (Begin). A method that gives it memory marks it as written, and whoever
// runs the operator looks at the marks afterwards (Written, Unwritten).

// Declare says what is known of the samples that t is going to hold. It is for whoever makes
// tensors: a pipeline, or a test. The spec must not change afterwards.
func (t *Tensor) Declare(spec *Spec) {
	t.spec, t.dense = spec, spec.Dense()
	if t.dense {
		t.bytes = spec.Bytes()
	}
	t.reset()
}

// reset gives t what was declared, in place of what an earlier sample has left.
func (t *Tensor) reset() {
	t.dtype, t.layout = t.spec.DType, t.spec.Layout
	t.ndim = copy(t.dims[:], t.spec.Shape)
	t.refused, t.changed = nil, !t.dense
}

// Begin readies the outputs of an operator or reader for a sample: none is written.
func Begin(out []*Tensor) {
	for _, t := range out {
		t.written = false
		if t.changed {
			t.reset()
		}
	}
}

// refuse notes why a request for memory failed.
func (t *Tensor) refuse(err error) error {
	t.written, t.changed, t.refused = false, true, err
	return err
}

// open gives an output the memory of its declared shape, for an operator that writes
// it without having asked. There is none where the shape is not known, or where a
// request was refused.
func (t *Tensor) open() {
	switch {
	case t.spec == nil:
	case t.refused == nil && t.spec.Dense():
		_, _ = t.Resize(t.spec.Shape...) // the worker finds the error in t.refused
	default:
		t.data = nil
	}
}

// readable returns an error for an output that its operator reads before it has
// written it.
func (t *Tensor) readable() error {
	if t.spec != nil && !t.written {
		return errors.New("an output is read that was not written yet")
	}
	return nil
}

// size returns the bytes of a shape, or an error if t cannot have it.
func (t *Tensor) size(shape []int) (int, error) {
	if len(shape) > MaxDims {
		return 0, fmt.Errorf("%d dimensions, at most %d are possible", len(shape), MaxDims)
	}
	if t.spec != nil && !t.spec.admits(shape) {
		return 0, &ShapeError{Got: slices.Clone(shape), Want: slices.Clone(t.spec.Shape)}
	}
	if t.dtype == 0 {
		return 0, errors.New("the type of the elements was not declared: call ResizeAs")
	}
	n, ok := sizeOf(shape, t.dtype.Size())
	if !ok {
		return 0, fmt.Errorf("shape %v of %s; dimensions must not be negative, and an int must hold the number of bytes", slices.Clone(shape), t.dtype)
	}
	return n, nil
}

// admits reports whether a sample of the spec may have this shape.
func (s *Spec) admits(shape []int) bool {
	if len(shape) != len(s.Shape) {
		return false
	}
	for i, d := range s.Shape {
		if d != shape[i] && d >= 0 {
			return false
		}
	}
	return true
}

// sizeOf returns the bytes of an array of elements of so many bytes; false if a
// dimension is negative, or if an int cannot hold what the dimensions that are not 0 make.
func sizeOf(shape []int, element int) (int, bool) {
	n, empty := uint64(element), false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, false
		case d == 0:
			empty = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt {
			return 0, false
		}
		n = lo
	}
	if empty {
		return 0, true
	}
	return int(n), true
}

// Written reports whether an operator or reader has written all of its outputs.
func Written(out []*Tensor) bool {
	for _, t := range out {
		if !t.written {
			return false
		}
	}
	return true
}

// Unwritten returns why a sample fails whose operator or reader has returned without
// writing all of its outputs; nil if it has written them.
func Unwritten(out []*Tensor) error {
	for i, t := range out {
		if t.written {
			continue
		}
		if t.refused != nil {
			return fmt.Errorf("output %d: %w", i, t.refused)
		}
		return &NotWrittenError{Output: i, Row: NoRow}
	}
	return nil
}

// Refusal returns the refused request for memory among outputs, nil if there is none.
func Refusal(out []*Tensor) error {
	for i, t := range out {
		if t.refused != nil && !t.written {
			return fmt.Errorf("output %d: %w", i, t.refused)
		}
	}
	return nil
}

// ShapeError is data of another shape than was declared.
type ShapeError struct {
	Got, Want []int
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("shape %v, the output was declared %v", e.Got, e.Want)
}

// NotWrittenError is an output that an operator or reader has not written, although it
// returned no error. It fails the sample, or, of an operator for whole batches, the run.
type NotWrittenError struct {
	Output int // its number
	Row    int // of an operator for whole batches, the row or AllRows; NoRow for single samples
}

// What NotWrittenError.Row is where it is no row.
const (
	NoRow   = -1 // the operator or reader makes single samples
	AllRows = -2 // the operator for whole batches has written no row
)

func (e *NotWrittenError) Error() string {
	switch {
	case e.Row >= 0:
		return fmt.Sprintf("output %d was not written in row %d; all rows that are valid must be", e.Output, e.Row)
	case e.Row == AllRows:
		return fmt.Sprintf("output %d was not written; write all rows that are valid, or return an error", e.Output)
	}
	return fmt.Sprintf("output %d was not written; call Resize and fill it, or return an error", e.Output)
}
