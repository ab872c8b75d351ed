package arrays

import "fmt"

// Broadcast returns, in the memory of dst, the shape of what is computed from arrays of two
// shapes, under NumPy's rules: dimensions are compared from the last one on, and an extent of
// 1, or a missing one, is repeated. A negative extent is one that is not known yet.
func Broadcast(dst, a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	dst = append(dst[:0], a...)
	for i, d := range b {
		at := &dst[len(a)-len(b)+i]
		switch {
		case *at == d || d == 1:
		case *at == 1:
			*at = d
		case *at < 0: // not 1, or the other one is wrong
			*at = d
		case d < 0:
		default:
			return nil, fmt.Errorf("the shapes %v and %v do not fit: extents must be equal, or one of them 1", append([]int{}, a...), append([]int{}, b...))
		}
	}
	return dst, nil
}

// repeat writes an array of shape from, with elements of size bytes, to dst as one of shape
// to, its extents of 1 repeated.
func repeat(dst, src []byte, size int, from, to []int) {
	var steps [MaxDims]int
	for i, n := len(from)-1, size; i >= 0; i-- {
		if from[i] != 1 {
			steps[i+len(to)-len(from)] = n
		}
		n *= from[i]
	}
	gather(dst, src, size, 0, steps[:len(to)], to)
}
