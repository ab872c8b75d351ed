package pipeline

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/planktonml/plankton/memstats"
)

// What an operator or reader does not write must not look like its result: the memory
// still holds another sample. So every output is marked as not written before the
// operator runs, what gives it memory marks it as written, and the worker looks
// afterwards.

// declare makes t a tensor of which spec is known.
func (t *Tensor) declare(spec *Spec) {
	t.spec, t.dense = spec, spec.Dense()
	if t.dense {
		t.bytes = spec.rowBytes()
	}
	t.reset()
}

// reset gives t what was declared, in place of what the sample before has left.
func (t *Tensor) reset() {
	t.dtype, t.layout = t.spec.DType, t.spec.Layout
	t.ndim = copy(t.dims[:], t.spec.Shape)
	t.refused, t.changed = nil, !t.dense
}

// begin readies the outputs of the operator or reader that makes them.
func begin(out []*Tensor) {
	for _, t := range out {
		t.written = false
		if t.changed {
			t.reset()
		}
	}
}

// fill notes that t has memory to write, which is poisoned in builds with the tag
// invariants: so what is left as it was shows. Later requests for the same sample keep
// the contents.
func (t *Tensor) fill() {
	if memstats.Invariants && !t.written {
		memstats.Poison(t.data)
	}
	t.written = true
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

// written reports whether all outputs are.
func written(out []*Tensor) bool {
	for _, t := range out {
		if !t.written {
			return false
		}
	}
	return true
}

// unwritten returns why a sample fails whose operator or reader has returned without
// writing all of its outputs; nil if it has written them.
func unwritten(out []*Tensor) error {
	for i, t := range out {
		if t.written {
			continue
		}
		if t.refused != nil {
			return fmt.Errorf("output %d: %w", i, t.refused)
		}
		return &NotWrittenError{Output: i, Row: -1}
	}
	return nil
}

// refusal returns the refused request for memory among outputs, nil if there is none.
func refusal(out []*Tensor) error {
	for i, t := range out {
		if t.refused != nil && !t.written {
			return fmt.Errorf("output %d: %w", i, t.refused)
		}
	}
	return nil
}
