//go:build !noasm

package jpeg

// useAssembly is what tests turn off: every arm64 processor has NEON.
var useAssembly = true

// idctNEON is idctGeneric.
//
//go:noescape
func idctNEON(dst *uint8, stride int, b *block, q *quantTable)

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

func idct4x4(dst []uint8, stride int, b *block, q *quantTable) { idct4x4Generic(dst, stride, b, q) }

func idct2x2(dst []uint8, stride int, b *block, q *quantTable) { idct2x2Generic(dst, stride, b, q) }

func upsampleH2(dst, src []uint8) { upsampleH2Generic(dst, src) }

func upsampleH2V2(dst, near, far []uint8) { upsampleH2V2Generic(dst, near, far) }

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
