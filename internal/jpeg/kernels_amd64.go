//go:build !noasm

package jpeg

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd _asm && go run . -out ../kernels_amd64.s -pkg jpeg"

// useAssembly also stands for the bit manipulation of the processors that have AVX2.
var useAssembly = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// decodeBlockAVX2 reads a block into b and, if dst is not nil, writes its 8×8 samples
// there and clears b. It returns the counter at the end of the block. If the tables
// do not hold a code it returns with everything before it read: 0 for a DC code,
// advanceEscape plus the counter for an AC code.
//
//go:noescape
func decodeBlockAVX2(r *bitReader, c *scanComponent, b *scratchBlock, dst *uint8) (k int)

// decodeACAVX2 is decodeBlockAVX2 from counter start on.
//
//go:noescape
func decodeACAVX2(r *bitReader, c *scanComponent, b *scratchBlock, dst *uint8, start int) (k int)

// skipMCUAVX2 reads past n blocks, given their components, from counter start of the
// given block on. If the tables do not hold a code, or there are too many
// coefficients, it returns the block and the counter as decodeBlockAVX2 does, else n.
//
//go:noescape
func skipMCUAVX2(r *bitReader, comps **scanComponent, block, n, start int) (at, k int)

// upsampleH2V2AVX2 doubles the samples near[1:n+1], which have neighbours on both
// sides, n being a positive multiple of lanes.
//
//go:noescape
func upsampleH2V2AVX2(dst, near, far *uint8, n int)

// upsampleH2V2ShortAVX2 doubles a row of as many samples as lanes.
//
//go:noescape
func upsampleH2V2ShortAVX2(dst, near, far *uint8)

// decodeBlock is decodeBlockGeneric.
func decodeBlock(r *bitReader, c *scanComponent, b *scratchBlock, dst []uint8) {
	if !useAssembly {
		decodeBlockGeneric(r, c, b, dst)
		return
	}
	var out *uint8
	if dst != nil {
		_ = dst[7*c.stride+7]
		out = &dst[0]
	}
	if k := decodeBlockAVX2(r, c, b, out); k != blockSize && (k <= advanceEnd || k >= advanceEscape) {
		r.finishBlock(c, b, out, k)
	}
}

// finishBlock goes on where the assembly stopped at counter k: at a rare code or for
// good.
func (r *bitReader) finishBlock(c *scanComponent, b *scratchBlock, dst *uint8, k int) {
	if k == 0 {
		c.pred += r.decodeDC(c.dc)
		b[0] = int16(c.pred)
		k = decodeACAVX2(r, c, b, dst, 1)
	}
	for k >= advanceEscape {
		next, value := r.decodeLong(c.ac, uint8(k-advanceEscape))
		b[zigzag[next]&127] = value
		k = decodeACAVX2(r, c, b, dst, int(next))
	}
	r.bad = r.bad || k > blockSize && k < advanceEnd
}

// skipMCU is skipMCUGeneric.
func skipMCU(r *bitReader, comps []*scanComponent) {
	if !useAssembly {
		skipMCUGeneric(r, comps)
		return
	}
	at, k := skipMCUAVX2(r, &comps[0], 0, len(comps), 0)
	for at < len(comps) {
		switch c := comps[at]; {
		case k == 0:
			c.pred += r.decodeDC(c.dc)
			k = 1
		case k >= advanceEscape:
			next, _ := r.decodeLong(c.ac, uint8(k-advanceEscape))
			k = int(next)
		default:
			r.bad = true
			k = blockSize
		}
		at, k = skipMCUAVX2(r, &comps[0], at, len(comps), k)
	}
}

func upsampleH2V2(dst, near, far []uint8) {
	n := (len(near) - 2) &^ (lanes - 1)
	far = far[:len(near)]
	if useAssembly && len(near) == lanes {
		upsampleH2V2ShortAVX2(&dst[:2*lanes][0], &near[0], &far[0])
		return
	}
	if !useAssembly || n <= 0 {
		upsampleH2V2Generic(dst, near, far)
		return
	}
	last, tail := len(near)-2, len(near)-2-lanes
	upsampleH2V2Generic(dst[:4], near[:2], far[:2])
	upsampleH2V2Generic(dst[2*last:], near[last:], far[last:])
	upsampleH2V2AVX2(&dst[2], &near[0], &far[0], n)
	upsampleH2V2AVX2(&dst[2+2*tail], &near[tail], &far[tail], lanes)
}
