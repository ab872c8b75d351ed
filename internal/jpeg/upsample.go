package jpeg

// Chroma is upsampled by libjpeg's triangle filter: a sample counts 3/4 for each of
// the pixels that it covers and 1/4 for the neighbouring ones. The rounding terms
// alternate so that the result has no bias. Samples past an edge are taken to be
// those on it.

// upsampleH2V2Generic doubles a row in both directions: near is the row of samples
// that covers the row of pixels, far its neighbour on the other side of the pixels.
func upsampleH2V2Generic(dst, near, far []uint8) {
	last := len(near) - 1
	sum := func(i int) int { return 3*int(near[i]) + int(far[i]) }
	before, here := sum(0), sum(0)
	for i := range near {
		after := sum(min(i+1, last))
		dst[2*i] = uint8((3*here + before + 8) >> 4)
		dst[2*i+1] = uint8((3*here + after + 7) >> 4)
		before, here = here, after
	}
}

// upsampleH2Generic doubles a row in width.
func upsampleH2Generic(dst, src []uint8) {
	last := len(src) - 1
	before := int(src[0])
	for i, v := range src {
		here := int(v)
		dst[2*i] = uint8((3*here + before + 1) >> 2)
		dst[2*i+1] = uint8((3*here + int(src[min(i+1, last)]) + 2) >> 2)
		before = here
	}
}

// upsampleV2 doubles a column in height: bias is 1 for the upper of the two
// rows of pixels that near covers, 2 for the lower.
func upsampleV2(dst, near, far []uint8, bias int) {
	for i, v := range near {
		dst[i] = uint8((3*int(v) + int(far[i]) + bias) >> 2)
	}
}

// replicate repeats each sample n times.
func replicate(dst, src []uint8, n int) {
	for i, v := range src {
		for j := range n {
			dst[i*n+j] = v
		}
	}
}
