package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// elementsOf returns the elements of a tensor as JSON values: numbers, booleans
// for bool, and "nan", "inf", "-inf" as strings.
func elementsOf(t *datum.Tensor) ([]any, error) {
	n := t.Len()
	out := make([]any, n)
	switch t.DType() {
	case datum.Int64:
		for i, x := range t.Int64s() {
			out[i] = x
		}
		return out, nil
	case datum.Uint64:
		for i, x := range datum.View[uint64](t.Bytes()) {
			out[i] = x
		}
		return out, nil
	case datum.Bool:
		for i, x := range t.Bytes() {
			out[i] = x != 0
		}
		return out, nil
	}
	wide := make([]float64, n)
	if err := imaging.Cast(datum.BytesOf(wide), datum.Float64, t.Bytes(), t.DType()); err != nil {
		return nil, err
	}
	for i, x := range wide {
		switch {
		case math.IsNaN(x):
			out[i] = "nan"
		case math.IsInf(x, 1):
			out[i] = "inf"
		case math.IsInf(x, -1):
			out[i] = "-inf"
		case t.DType() == datum.Float32:
			out[i] = float32(x) // the shortest text that reads back
		default:
			out[i] = x
		}
	}
	return out, nil
}

// bytesOfJSON is the inverse: the memory of elements of type t. Integers are
// exact, other numbers go through float64.
func bytesOfJSON(t datum.DType, data []any) ([]byte, error) {
	wide := make([]float64, len(data))
	for i, v := range data {
		switch x := v.(type) {
		case json.Number:
			f, err := x.Float64()
			if err != nil {
				return nil, fmt.Errorf("element %d is %s, which is beyond what a float64 holds", i, x)
			}
			wide[i] = f
		case bool:
			if x {
				wide[i] = 1
			}
		case string:
			special := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}
			f, ok := special[x]
			if !ok {
				return nil, fmt.Errorf("element %d is %q; a number, true, false, \"nan\", \"inf\" or \"-inf\" is wanted", i, x)
			}
			wide[i] = f
		default:
			return nil, fmt.Errorf("element %d is %v; a flat list of numbers is wanted", i, v)
		}
	}
	mem := make([]byte, len(data)*t.Size())
	if err := imaging.Cast(mem, t, datum.BytesOf(wide), datum.Float64); err != nil {
		return nil, err
	}
	for i, v := range data {
		text, ok := v.(json.Number)
		if !ok {
			continue
		}
		switch t {
		case datum.Int64:
			if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
				datum.View[int64](mem)[i] = n
			}
		case datum.Uint64:
			if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
				datum.View[uint64](mem)[i] = n
			}
		}
	}
	return mem, nil
}
