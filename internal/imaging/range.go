package imaging

import "github.com/planktonml/plankton/pipeline/datum"

// FullRange returns the largest value of an integer type, 1 for other types.
func FullRange(t datum.DType) float64 {
	switch t {
	case datum.Uint8, datum.Uint16, datum.Uint32, datum.Uint64:
		return float64(uint64(1)<<(8*t.Size()-1)-1)*2 + 1
	case datum.Int8, datum.Int16, datum.Int32, datum.Int64:
		return float64(uint64(1)<<(8*t.Size()-1) - 1)
	}
	return 1
}

// HalfRange returns the middle of the positive values of an integer type, as 128 of uint8 and 64 of int8; 0.5 for
// other types.
func HalfRange(t datum.DType) float64 {
	switch t {
	case datum.Uint8, datum.Uint16, datum.Uint32, datum.Uint64:
		return float64(uint64(1) << (8*t.Size() - 1))
	case datum.Int8, datum.Int16, datum.Int32, datum.Int64:
		return float64(uint64(1) << (8*t.Size() - 2))
	}
	return 0.5
}
