package readers

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

// putItem copies an item into tensors of the declared outputs.
func putItem(out []*datum.Tensor, specs []datum.Spec, item Item) error {
	if len(item) != len(specs) {
		return fmt.Errorf("the item has %d elements, but there are %d outputs", len(item), len(specs))
	}
	for i, v := range item {
		if err := putValue(out[i], &specs[i], v); err != nil {
			return fmt.Errorf("element %d of the item: %w", i, err)
		}
	}
	return nil
}

func putValue(t *datum.Tensor, spec *datum.Spec, v any) error {
	switch v := v.(type) {
	case uint8:
		return putNumber(t, spec, datum.Uint8, v)
	case int8:
		return putNumber(t, spec, datum.Int8, v)
	case uint16:
		return putNumber(t, spec, orFloat16(spec), v)
	case int16:
		return putNumber(t, spec, datum.Int16, v)
	case uint32:
		return putNumber(t, spec, datum.Uint32, v)
	case int32:
		return putNumber(t, spec, datum.Int32, v)
	case uint64:
		return putNumber(t, spec, datum.Uint64, v)
	case int64:
		return putNumber(t, spec, datum.Int64, v)
	case float32:
		return putNumber(t, spec, datum.Float32, v)
	case float64:
		return putNumber(t, spec, datum.Float64, v)
	case bool:
		return putNumber(t, spec, datum.Bool, asByte(v))
	case []uint8:
		return putSlice(t, spec, datum.Uint8, v)
	case []int8:
		return putSlice(t, spec, datum.Int8, v)
	case []uint16:
		return putSlice(t, spec, orFloat16(spec), v)
	case []int16:
		return putSlice(t, spec, datum.Int16, v)
	case []uint32:
		return putSlice(t, spec, datum.Uint32, v)
	case []int32:
		return putSlice(t, spec, datum.Int32, v)
	case []uint64:
		return putSlice(t, spec, datum.Uint64, v)
	case []int64:
		return putSlice(t, spec, datum.Int64, v)
	case []float32:
		return putSlice(t, spec, datum.Float32, v)
	case []float64:
		return putSlice(t, spec, datum.Float64, v)
	case []bool:
		return putBools(t, spec, v)
	}
	return fmt.Errorf("%T cannot be an output; want %s", v, wanted(spec))
}

func putNumber[T datum.Element](t *datum.Tensor, spec *datum.Spec, dt datum.DType, v T) error {
	if len(spec.Shape) > 0 || dt != spec.DType {
		return fmt.Errorf("one %s; want %s", dt, wanted(spec))
	}
	mem, err := t.Resize()
	if err == nil {
		datum.View[T](mem)[0] = v
	}
	return err
}

func putSlice[T datum.Element](t *datum.Tensor, spec *datum.Spec, dt datum.DType, v []T) error {
	mem, err := resizeFor(t, spec, dt, len(v))
	if err == nil {
		copy(datum.View[T](mem), v)
	}
	return err
}

func putBools(t *datum.Tensor, spec *datum.Spec, v []bool) error {
	mem, err := resizeFor(t, spec, datum.Bool, len(v))
	if err != nil {
		return err
	}
	for i, b := range v {
		mem[i] = asByte(b)
	}
	return nil
}

// resizeFor gives t the declared shape, the open dimension of which follows
// from the number of elements.
func resizeFor(t *datum.Tensor, spec *datum.Spec, dt datum.DType, n int) ([]byte, error) {
	if len(spec.Shape) == 0 || dt != spec.DType {
		return nil, fmt.Errorf("[]%s; want %s", dt, wanted(spec))
	}
	var dims [datum.MaxDims]int
	shape := dims[:copy(dims[:], spec.Shape)]
	known, open := 1, -1
	for i, d := range shape {
		if d < 0 {
			open = i
		} else {
			known *= d
		}
	}
	if open >= 0 {
		shape[open] = n / known
		known *= shape[open]
	}
	if n != known {
		return nil, fmt.Errorf("%d elements do not make the declared shape (%s)", n, spec)
	}
	return t.Resize(shape...)
}

// wanted says what an element of an item for the output must be.
func wanted(spec *datum.Spec) string {
	dt := spec.DType.String()
	if spec.DType == datum.Float16 {
		dt = "uint16"
	}
	if len(spec.Shape) == 0 {
		return fmt.Sprintf("%s (the output is declared %s)", dt, spec)
	}
	return fmt.Sprintf("[]%s (the output is declared %s)", dt, spec)
}

// orFloat16 returns what a uint16 stands for.
func orFloat16(spec *datum.Spec) datum.DType {
	if spec.DType == datum.Float16 {
		return datum.Float16
	}
	return datum.Uint16
}

func asByte(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}
