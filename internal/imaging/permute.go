package imaging

// Flip mirrors an array of outer × n × inner elements of size bytes along its middle dimension. A picture in HWC order
// is flipped horizontally with outer = H, n = W, inner = C and vertically with outer = 1, n = H, inner = W·C. The
// memory of dst and src must not overlap.
func Flip(dst, src []byte, size, outer, n, inner int) error {
	block := inner * size
	if len(src) != outer*n*block || len(dst) != len(src) {
		return badArgument("flip", "%d and %d bytes for %d×%d×%d elements of %d bytes", len(src), len(dst), outer, n, inner, size)
	}
	for o := range outer {
		s, d := src[o*n*block:][:n*block], dst[o*n*block:][:n*block]
		if block == 3 { // pixels of three bytes, which a call of copy would dominate
			for i, j := 0, len(s)-3; j >= 0; i, j = i+3, j-3 {
				d[i], d[i+1], d[i+2] = s[j], s[j+1], s[j+2]
			}
			continue
		}
		for i := range n {
			copy(d[i*block:(i+1)*block], s[(n-1-i)*block:])
		}
	}
	return nil
}

// Transpose reorders the dimensions of src, an array of the given shape with elements of size bytes: dimension i of
// dst is dimension perm[i] of src.
func Transpose(dst, src []byte, size int, shape, perm []int) error {
	d := len(shape)
	if len(perm) != d || d > MaxDims {
		return badArgument("transpose", "permutation %v of %d dimensions, as many entries and at most %d are wanted", perm, d, MaxDims)
	}
	if len(src) != elements(shape)*size || len(dst) != len(src) {
		return badArgument("transpose", "%d and %d bytes for shape %v of %d-byte elements", len(src), len(dst), shape, size)
	}
	var srcStep, step, extent [MaxDims]int
	for i, n := d-1, size; i >= 0; i-- {
		srcStep[i] = n
		n *= shape[i]
	}
	seen := 0
	for i, p := range perm {
		if p < 0 || p >= d || seen&(1<<p) != 0 {
			return badArgument("transpose", "%v is no permutation of %d dimensions", perm, d)
		}
		seen |= 1 << p
		step[i], extent[i] = srcStep[p], shape[p]
	}
	if len(src) == 0 {
		return nil
	}
	// Trailing dimensions that stay in place are moved as one block.
	block := size
	for d > 0 && step[d-1] == block {
		d--
		block *= extent[d]
	}
	var at [MaxDims]int
	for s := 0; len(dst) > 0; dst = dst[block:] {
		copy(dst[:block], src[s:])
		for i := d - 1; i >= 0; i-- {
			at[i]++
			s += step[i]
			if at[i] < extent[i] {
				break
			}
			s -= at[i] * step[i]
			at[i] = 0
		}
	}
	return nil
}
