package audio

import (
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Samples change their type by the range that they fill: what is −1 … 1 in floating point is
// −max … max in a signed type and 0 … max in an unsigned one, whose middle is silence.

// isSample reports whether signals may have a type.
func isSample(t datum.DType) bool {
	return t != 0 && t != datum.Float16 && t != datum.Float64 && t != datum.Bool
}

// span returns how samples of an integer type become floating point: x/half − shift.
func span(t datum.DType) (half, shift float64) {
	switch t {
	case datum.Uint8, datum.Uint16, datum.Uint32, datum.Uint64:
		return (math.Exp2(float64(8*t.Size())) - 1) / 2, 1
	case datum.Int8, datum.Int16, datum.Int32, datum.Int64:
		return math.Exp2(float64(8*t.Size()-1)) - 1, 0
	}
	return 1, 0
}

// toFloat writes samples of a type to dst.
func toFloat(dst []float32, src []byte, t datum.DType) error {
	if !isSample(t) {
		return fmt.Errorf("a signal of %v; integers or float32 are wanted", t)
	}
	if err := imaging.Cast(datum.BytesOf(dst), datum.Float32, src, datum.DType(t)); err != nil || t == datum.Float32 {
		return err
	}
	half, shift := span(t)
	for i, x := range dst {
		dst[i] = float32(float64(x)/half - shift)
	}
	return nil
}

// fromFloat writes src, which it spoils, to dst as samples of a type. Values beyond the range
// saturate.
func fromFloat(dst []byte, t datum.DType, src []float32) error {
	half, shift := span(t)
	if t != datum.Float32 {
		for i, x := range src {
			src[i] = float32(float64(min(max(x, -1), 1)+float32(shift)) * half)
		}
	}
	return imaging.Cast(dst, datum.DType(t), datum.BytesOf(src), datum.Float32)
}
