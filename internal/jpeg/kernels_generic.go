//go:build (!amd64 && !arm64) || noasm

package jpeg

func decodeBlock(r *bitReader, c *scanComponent, b *scratchBlock, dst []uint8) {
	decodeBlockGeneric(r, c, b, dst)
}

func skipMCU(r *bitReader, comps []*scanComponent) { skipMCUGeneric(r, comps) }

func idct8x8(dst []uint8, stride int, b *block, q *quantTable) { idctGeneric(dst, stride, b, q) }

func idct4x4(dst []uint8, stride int, b *block, q *quantTable) { idct4x4Generic(dst, stride, b, q) }

func idct2x2(dst []uint8, stride int, b *block, q *quantTable) { idct2x2Generic(dst, stride, b, q) }

func upsampleH2(dst, src []uint8) { upsampleH2Generic(dst, src) }

func upsampleH2V2(dst, near, far []uint8) { upsampleH2V2Generic(dst, near, far) }

func yccToRGB(dst, y, cb, cr []uint8) { yccToRGBGeneric(dst, y, cb, cr) }
