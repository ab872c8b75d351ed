package arrays

import "fmt"

// gather writes an array of the given shape to dst, whose elements lie in src: the first one
// at the byte first, the next one along each dimension so many bytes further, or, where that
// is negative, before.
func gather(dst, src []byte, size, first int, steps, shape []int) {
	d, block := len(shape), size
	for d > 0 && steps[d-1] == block { // the innermost dimensions are one block
		d--
		block *= shape[d]
	}
	var at [MaxDims]int
	for s := first; len(dst) > 0; {
		copy(dst[:block], src[s:])
		if dst = dst[block:]; len(dst) == 0 {
			return
		}
		for i := d - 1; i >= 0; i-- {
			at[i]++
			s += steps[i]
			if at[i] < shape[i] {
				break
			}
			s -= at[i] * steps[i]
			at[i] = 0
		}
	}
}

// Stride writes every step-th element along each dimension of src, an array of shape from with
// elements of size bytes, to dst: as many as shape says, from first on. A step may be negative.
func Stride(dst, src []byte, size int, from, first, step, shape []int) error {
	var steps [MaxDims]int
	at := 0
	for i, n := len(from)-1, size; i >= 0; i-- {
		if last := first[i] + (shape[i]-1)*step[i]; shape[i] > 0 && (min(first[i], last) < 0 || max(first[i], last) >= from[i]) {
			return fmt.Errorf("elements %d to %d of a dimension of %d", first[i], last, from[i])
		}
		steps[i] = step[i] * n
		at += first[i] * n
		n *= from[i]
	}
	gather(dst, src, size, at, steps[:len(from)], shape)
	return nil
}

// Border says what an array shows beyond its ends.
type Border uint8

const (
	Edge       Border = iota + 1 // its last element: aaa|abc|ccc
	Reflect                      // its elements backwards: cba|abc|cba
	Reflect101                   // its elements backwards without the last one: cb|abc|ba
	Wrap                         // its elements again: abc|abc|abc
)

// At returns where element i of a dimension of n elements lies.
func (b Border) At(i, n int) int {
	if uint(i) < uint(n) {
		return i
	}
	switch b {
	case Edge:
		return min(max(i, 0), n-1)
	case Wrap:
		return ((i % n) + n) % n
	case Reflect101:
		if n == 1 {
			return 0
		}
		i = max(i, -i) % (2*n - 2)
		return min(i, 2*n-2-i)
	}
	i = ((i % (2 * n)) + 2*n) % (2 * n)
	return min(i, 2*n-1-i)
}

// SliceBorder writes the region of the given shape that begins at start in src, an array of
// shape from with elements of size bytes, to dst. Beyond its ends src shows what the border says.
func SliceBorder(dst, src []byte, size int, from, start, shape []int, border Border) error {
	if len(dst) == 0 {
		return nil
	}
	if len(src) == 0 {
		return fmt.Errorf("a region of shape %v of an empty array of shape %v has no elements to repeat", append([]int{}, shape...), append([]int{}, from...))
	}
	c := bordered{from, start, shape, border, len(shape)}
	for c.whole > 0 && start[c.whole-1] == 0 && shape[c.whole-1] == from[c.whole-1] {
		c.whole--
		size *= shape[c.whole]
	}
	c.copy(dst, src, size, 0)
	return nil
}

// bordered is a call of SliceBorder. The dimensions from whole on are copied as one block.
type bordered struct {
	from, start, shape []int
	border             Border
	whole              int
}

func (c *bordered) copy(dst, src []byte, size, dim int) {
	if dim == c.whole {
		copy(dst, src[:size])
		return
	}
	n, m := len(dst)/c.shape[dim], len(src)/c.from[dim]
	for i := range c.shape[dim] {
		at := c.border.At(c.start[dim]+i, c.from[dim])
		c.copy(dst[i*n:(i+1)*n], src[at*m:(at+1)*m], size, dim+1)
	}
}
