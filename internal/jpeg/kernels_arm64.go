//go:build !noasm

package jpeg

// useAssembly is what tests turn off: every arm64 processor has NEON.
var useAssembly = true

// upsampleH2V2NEON doubles the samples near[1:n+1], which have neighbours on both sides, n
// being a positive multiple of lanes.
//
//go:noescape
func upsampleH2V2NEON(dst, near, far *uint8, n int)

// decodeBlock is decodeBlockGeneric.
func decodeBlock(r *bitReader, c *scanComponent, b *scratchBlock, dst []uint8) {
	if readBlock(r, c, b, dst) {
		idct8x8(dst, c.stride, (*block)(b[:blockSize]), c.quant)
	}
}

func skipMCU(r *bitReader, comps []*scanComponent) { skipMCUGeneric(r, comps) }

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
