package arrays

import (
	"github.com/planktonml/plankton/pipeline/datum"
)

// kind is what counts in a promotion.
type kind uint8

const (
	none kind = iota
	isBool
	isUnsigned
	isSigned
	isFloat
)

func kindOf(t DType) kind {
	switch t {
	case datum.Bool:
		return isBool
	case datum.Uint8, datum.Uint16, datum.Uint32, datum.Uint64:
		return isUnsigned
	case datum.Int8, datum.Int16, datum.Int32, datum.Int64:
		return isSigned
	case datum.Float16, datum.Float32, datum.Float64:
		return isFloat
	}
	return none
}

// IsInteger and IsSigned tell element types apart. Bool is neither.
func IsInteger(t DType) bool { return kindOf(t) == isUnsigned || kindOf(t) == isSigned }
func IsSigned(t DType) bool  { return kindOf(t) == isSigned }

// signedOf returns the signed type of so many bytes, int64 for more.
func signedOf(bytes int) DType {
	switch bytes {
	case 1:
		return datum.Int8
	case 2:
		return datum.Int16
	case 4:
		return datum.Int32
	}
	return datum.Int64
}

// Promote returns the type in which NVIDIA DALI computes with elements of types a and b:
// the larger one of two that are both signed, both unsigned or both floating-point; the
// floating-point one beside an integer, whatever its size; and for a signed and an unsigned
// type a signed one, of twice the size of the unsigned one where the signed one is not larger,
// int64 at most. Bool is the smallest unsigned type.
func Promote(a, b DType) DType {
	ka, kb := kindOf(a), kindOf(b)
	switch {
	case ka == none || kb == none:
		return 0
	case ka == kb && a.Size() >= b.Size():
		return a
	case ka == kb:
		return b
	case ka > kb: // the rest is symmetric
		a, b, ka, kb = b, a, kb, ka
	}
	if kb == isFloat || ka == isBool {
		return b
	}
	if b.Size() > a.Size() {
		return b
	}
	return signedOf(2 * a.Size())
}
