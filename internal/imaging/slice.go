package imaging

import "math"

// MaxDims is the largest number of dimensions of an array.
const MaxDims = 8

// Bounds says what becomes of a region that reaches beyond the array it is cut from.
type Bounds uint8

// The out-of-bounds policies of DALI.
const (
	BoundsError Bounds = iota // an error
	BoundsPad                 // what lies outside is filled
	BoundsTrim                // the region is cut to the array
)

// CropAnchor returns the first of n samples cut from an axis of in samples, for a relative position between 0 (the
// start) and 1 (the end). The anchor is rounded to the nearest, ties away from zero, or towards zero where truncate is
// set; it is negative where the region is larger than the axis.
func CropAnchor(pos float64, in, n int, truncate bool) int {
	a := float64(float32(pos)) * float64(in-n)
	if truncate {
		return int(a)
	}
	return int(math.Round(a))
}

// Bound applies b to the region of n samples from start on an axis of in samples.
func (b Bounds) Bound(start, n, in int) (int, int, error) {
	switch {
	case n < 0:
	case start >= 0 && start+n <= in || b == BoundsPad:
		return start, n, nil
	case b == BoundsTrim:
		end := min(max(start+n, 0), in)
		start = min(max(start, 0), in)
		return start, end - start, nil
	}
	return 0, 0, badArgument("slice", "samples %d to %d of an axis of %d: the region must lie inside, or an out-of-bounds policy must allow it",
		start, start+n, in)
}

// Slice copies the region that begins at start and has the given shape out of src, an array of srcShape with elements
// of size bytes, to dst. What lies outside src is filled with fill: one element, or one per index of the dimension
// fillDim, for channels of different values. An empty fill is zero.
func Slice(dst, src []byte, size int, srcShape, start, shape []int, fill []byte, fillDim int) error {
	d := len(shape)
	if d < 1 || d > MaxDims || len(srcShape) != d || len(start) != d {
		return badArgument("slice", "region %v from %v of an array of shape %v: the same number of dimensions, 1 to %d, is wanted",
			shape, start, srcShape, MaxDims)
	}
	if len(src) != elements(srcShape)*size || len(dst) != elements(shape)*size {
		return badArgument("slice", "%d and %d bytes for shapes %v and %v of %d-byte elements", len(src), len(dst), srcShape, shape, size)
	}
	if len(dst) == 0 {
		return nil
	}
	c := slicer{dst: dst, src: src, size: size, srcShape: srcShape, start: start, shape: shape, fill: fill}
	c.dstStep[d-1], c.srcStep[d-1] = 1, 1
	for i := d - 1; i > 0; i-- {
		c.dstStep[i-1], c.srcStep[i-1] = c.dstStep[i]*shape[i], c.srcStep[i]*srcShape[i]
		if c.tail == 0 && (start[i] != 0 || shape[i] != srcShape[i]) {
			c.tail = i
		}
	}
	if n := len(fill) / size; n > 1 {
		if fillDim < 0 || fillDim >= d || n < shape[fillDim] {
			return badArgument("slice", "%d fill values, one or one per channel are wanted", n)
		}
		c.fillStep, c.fillMod = c.dstStep[fillDim], shape[fillDim]
	} else {
		c.fillStep, c.fillMod = 1, 1
	}
	c.copy(0, 0, 0)
	return nil
}

// slicer is one call of Slice. Offsets and steps are in elements.
type slicer struct {
	dst, src               []byte
	size                   int
	srcShape, start, shape []int
	dstStep, srcStep       [MaxDims]int
	tail                   int // the dimensions inside this one are copied whole
	fill                   []byte
	fillStep, fillMod      int // the element at d takes fill value d/fillStep mod fillMod
}

// copy cuts dimension dim of the sub-arrays at the offsets d and s.
func (c *slicer) copy(dim, d, s int) {
	n, step := c.shape[dim], c.dstStep[dim]
	first := min(max(-c.start[dim], 0), n)
	last := max(min(c.srcShape[dim]-c.start[dim], n), first)
	c.pad(d, d+first*step)
	c.pad(d+last*step, d+n*step)
	if first == last {
		return
	}
	s += (c.start[dim] + first) * c.srcStep[dim]
	if dim == c.tail {
		copy(c.dst[(d+first*step)*c.size:(d+last*step)*c.size], c.src[s*c.size:])
		return
	}
	for i := first; i < last; i++ {
		c.copy(dim+1, d+i*step, s)
		s += c.srcStep[dim]
	}
}

// pad fills the elements from one offset up to another.
func (c *slicer) pad(from, to int) {
	if len(c.fill) == 0 {
		clear(c.dst[from*c.size : to*c.size])
		return
	}
	for d := from; d < to; d++ {
		v := d / c.fillStep % c.fillMod * c.size
		copy(c.dst[d*c.size:(d+1)*c.size], c.fill[v:v+c.size])
	}
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
