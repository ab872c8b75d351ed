package solvers

// layout says where the numbers of an array lie in memory.
type layout[T float] struct {
	data    []T
	strides []int // how far neighbours along each dimension lie apart
	packed  []T   // holds the numbers in the order of rows, if they do not lie so
}

// covers reports whether all numbers of the shape are in memory, each at a place of its own.
func (l *layout[T]) covers(shape []int) bool {
	if len(l.strides) != len(shape) {
		return false
	}
	last := 0
	for i, n := range shape {
		if n > 1 && l.strides[i] < 1 {
			return false
		}
		last += (n - 1) * l.strides[i]
	}
	return last < len(l.data)
}

// inRows reports whether the numbers lie one behind the other in the order of rows.
func (l *layout[T]) inRows(shape []int) bool {
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && l.strides[i] != step {
			return false
		}
		step *= shape[i]
	}
	return true
}

// gather returns the size numbers in the order of rows: those of the array, or a copy.
func (l *layout[T]) gather(shape []int, size int) []T {
	if l.inRows(shape) {
		return l.data[:size]
	}
	if len(l.packed) != size {
		l.packed = make([]T, size)
	}
	pack(l.packed, l.data, shape, l.strides)
	return l.packed
}

// scatter puts what gather has returned back to where it came from.
func (l *layout[T]) scatter(shape []int) {
	if !l.inRows(shape) {
		unpack(l.data, l.packed, shape, l.strides)
	}
}

// pack copies the numbers of an array to a slice in the order of rows, and returns what is
// left of the slice.
func pack[T float](to, from []T, shape, strides []int) []T {
	if len(shape) == 0 {
		to[0] = from[0]
		return to[1:]
	}
	for i := range shape[0] {
		to = pack(to, from[i*strides[0]:], shape[1:], strides[1:])
	}
	return to
}

// unpack is the way back.
func unpack[T float](to, from []T, shape, strides []int) []T {
	if len(shape) == 0 {
		to[0] = from[0]
		return from[1:]
	}
	for i := range shape[0] {
		from = unpack(to[i*strides[0]:], from, shape[1:], strides[1:])
	}
	return from
}
