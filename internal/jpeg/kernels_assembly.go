//go:build (amd64 || arm64) && !noasm

package jpeg

// Kernels that both architectures have.

// lanes is how many samples the row kernels take at a time.
const lanes = 16

// idctAssembly is idctGeneric.
//
//go:noescape
func idctAssembly(dst *uint8, stride int, b *block, q *quantTable)

// idct4x4Assembly is idct4x4Generic.
//
//go:noescape
func idct4x4Assembly(dst *uint8, stride int, b *block, q *quantTable)

// idct2x2Assembly is idct2x2Generic.
//
//go:noescape
func idct2x2Assembly(dst *uint8, stride int, b *block, q *quantTable)

// upsampleH2Assembly doubles the samples src[1:n+1], which have neighbours on both sides, n being a positive multiple
// of lanes.
//
//go:noescape
func upsampleH2Assembly(dst, src *uint8, n int)

// yccToRGBAssembly converts n pixels, a positive multiple of lanes.
//
//go:noescape
func yccToRGBAssembly(dst, y, cb, cr *uint8, n int)

func idct8x8(dst []uint8, stride int, b *block, q *quantTable) {
	if !useAssembly {
		idctGeneric(dst, stride, b, q)
		return
	}
	_ = dst[7*stride+7]
	idctAssembly(&dst[0], stride, b, q)
}

func idct4x4(dst []uint8, stride int, b *block, q *quantTable) {
	if !useAssembly {
		idct4x4Generic(dst, stride, b, q)
		return
	}
	_ = dst[3*stride+3]
	idct4x4Assembly(&dst[0], stride, b, q)
}

func idct2x2(dst []uint8, stride int, b *block, q *quantTable) {
	if !useAssembly {
		idct2x2Generic(dst, stride, b, q)
		return
	}
	_ = dst[stride+1]
	idct2x2Assembly(&dst[0], stride, b, q)
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
	upsampleH2Assembly(&dst[2], &src[0], n)
	upsampleH2Assembly(&dst[2+2*tail], &src[tail], lanes)
}

func yccToRGB(dst, y, cb, cr []uint8) {
	n := len(y) &^ (lanes - 1)
	if !useAssembly || n == 0 {
		yccToRGBGeneric(dst, y, cb, cr)
		return
	}
	_, _, _ = dst[3*len(y)-1], cb[len(y)-1], cr[len(y)-1]
	yccToRGBAssembly(&dst[0], &y[0], &cb[0], &cr[0], n)
	if tail := len(y) - lanes; n < len(y) {
		yccToRGBAssembly(&dst[3*tail], &y[tail], &cb[tail], &cr[tail], lanes)
	}
}
