//go:build !noasm

package jpeg

// useAssembly is what tests turn off: every arm64 processor has NEON.
var useAssembly = true

// idctNEON is idctGeneric.
//
//go:noescape
func idctNEON(dst *uint8, stride int, b *block, q *quantTable)

// idct4x4NEON is idct4x4Generic.
//
//go:noescape
func idct4x4NEON(dst *uint8, stride int, b *block, q *quantTable)

// idct2x2NEON is idct2x2Generic.
//
//go:noescape
func idct2x2NEON(dst *uint8, stride int, b *block, q *quantTable)

// upsampleH2V2NEON doubles the samples near[1:n+1], which have neighbours on both sides, n
// being a positive multiple of lanes.
//
//go:noescape
func upsampleH2V2NEON(dst, near, far *uint8, n int)

// upsampleH2NEON doubles the samples src[1:n+1] likewise.
//
//go:noescape
func upsampleH2NEON(dst, src *uint8, n int)

// yccToRGBNEON converts n pixels, a positive multiple of lanes.
//
//go:noescape
func yccToRGBNEON(dst, y, cb, cr *uint8, n int)

// lanes is how many samples the row kernels take at a time.
const lanes = 16

// decodeBlock is decodeBlockGeneric.
func decodeBlock(r *bitReader, c *scanComponent, b *scratchBlock, dst []uint8) {
	if readBlock(r, c, b, dst) {
		idct8x8(dst, c.stride, (*block)(b[:blockSize]), c.quant)
	}
}

func skipMCU(r *bitReader, comps []*scanComponent) { skipMCUGeneric(r, comps) }

func idct8x8(dst []uint8, stride int, b *block, q *quantTable) {
	if !useAssembly {
		idctGeneric(dst, stride, b, q)
		return
	}
	_ = dst[7*stride+7]
	idctNEON(&dst[0], stride, b, q)
}

func idct4x4(dst []uint8, stride int, b *block, q *quantTable) {
	if !useAssembly {
		idct4x4Generic(dst, stride, b, q)
		return
	}
	_ = dst[3*stride+3]
	idct4x4NEON(&dst[0], stride, b, q)
}

func idct2x2(dst []uint8, stride int, b *block, q *quantTable) {
	if !useAssembly {
		idct2x2Generic(dst, stride, b, q)
		return
	}
	_ = dst[stride+1]
	idct2x2NEON(&dst[0], stride, b, q)
}

func upsampleH2(dst, src []uint8) {
	n := (len(src) - 2) &^ (lanes - 1)
	if !useAssembly || n <= 0 {
		upsampleH2Generic(dst, src)
		return
	}
	// The generic code does the samples on the edges, and ones beside them that are
	// done again. So are the last ones that do not fill a register.
	last, tail := len(src)-2, len(src)-2-lanes
	upsampleH2Generic(dst[:4], src[:2])
	upsampleH2Generic(dst[2*last:], src[last:])
	upsampleH2NEON(&dst[2], &src[0], n)
	upsampleH2NEON(&dst[2+2*tail], &src[tail], lanes)
}

func upsampleH2V2(dst, near, far []uint8) {
	n := (len(near) - 2) &^ (lanes - 1)
	far = far[:len(near)]
	if !useAssembly || n <= 0 {
		upsampleH2V2Generic(dst, near, far)
		return
	}
	last, tail := len(near)-2, len(near)-2-lanes
	upsampleH2V2Generic(dst[:4], near[:2], far[:2])
	upsampleH2V2Generic(dst[2*last:], near[last:], far[last:])
	upsampleH2V2NEON(&dst[2], &near[0], &far[0], n)
	upsampleH2V2NEON(&dst[2+2*tail], &near[tail], &far[tail], lanes)
}

func yccToRGB(dst, y, cb, cr []uint8) {
	n := len(y) &^ (lanes - 1)
	if !useAssembly || n == 0 {
		yccToRGBGeneric(dst, y, cb, cr)
		return
	}
	_, _, _ = dst[3*len(y)-1], cb[len(y)-1], cr[len(y)-1]
	yccToRGBNEON(&dst[0], &y[0], &cb[0], &cr[0], n)
	if tail := len(y) - lanes; n < len(y) {
		yccToRGBNEON(&dst[3*tail], &y[tail], &cb[tail], &cr[tail], lanes)
	}
}
