//go:build !noasm

package imaging

import "slices"

// useAssembly is what tests turn off: every arm64 processor has NEON.
var useAssembly = true

// toRGBNEON converts rows of Y, Cb, Cr to R, G, B in place; n is a positive multiple of 8.
//
//go:noescape
func toRGBNEON(y, cb, cr *float32, n int)

// toRGBAffineNEON converts rows of Y, Cb, Cr to R·scale + bias, G·scale + bias, B·scale + bias; n is a positive multiple
// of 8.
//
//go:noescape
func toRGBAffineNEON(red, green, blue, y, cb, cr *float32, n int, norm *norms)

func horizontal(dst []float32, src []byte, t *taps)        { horizontalGo(dst, src, t) }
func vertical(dst, rows []float32, pitch int, w []float32) { verticalGo(dst, rows, pitch, w) }
func verticalAffine(dst, rows []float32, pitch int, w []float32, scale, bias float32, _ bool) {
	verticalAffineGo(dst, rows, pitch, w, scale, bias)
}
func verticalRound(dst, rows []float32, pitch int, w []float32, scale, bias float32, _ bool) {
	verticalRoundGo(dst, rows, pitch, w, scale, bias)
}

func toRGB(y, cb, cr []float32) {
	n := whole(len(y), 8)
	if n > 0 {
		toRGBNEON(&y[0], &cb[:n][0], &cr[:n][0], n)
	}
	toRGBGo(y[n:], cb[n:], cr[n:])
}

func toRGBAffine(rgb [3][]float32, y, cb, cr []float32, norm *norms, _ bool) {
	n := whole(len(rgb[0]), 8)
	if n > 0 {
		toRGBAffineNEON(&rgb[0][0], &rgb[1][:n][0], &rgb[2][:n][0], &y[:n][0], &cb[:n][0], &cr[:n][0], n, norm)
	}
	for c := range rgb {
		rgb[c] = rgb[c][n:]
	}
	end := n + len(rgb[0])
	toRGBAffineGo(rgb, y[n:end], cb[n:end], cr[n:end], norm)
}

func twistBytes(dst, src []byte, t *byteTwist) { twistBytesGo(dst, src, t) }
func twistRows(dst, src [3][]float32, t *byteTwist, n *norms, _ bool) {
	twistRowsGo(dst, src, t, n)
}
func quantise(row []float32)                         { quantiseGo(row) }
func toBytes(dst []byte, src []float32)              { toBytesGo(dst, src) }
func affine(dst, src []float32, scale, bias float32) { affineGo(dst, src, scale, bias) }
func affineBytes(dst []float32, src []byte, scale, bias float32) {
	affineBytesGo(dst, src, scale, bias)
}
func normalize3(rgb [3][]float32, src []byte, norm *norms, mirror bool) {
	normalize3Go(rgb, src, norm, mirror)
}
func reverse(row []float32)             { slices.Reverse(row) }
func split3(a, b, c, src []byte)        { split3Go(a, b, c, src) }
func join3(dst, a, b, c []byte)         { join3Go(dst, a, b, c) }
func joinFloats(dst, a, b, c []float32) { joinFloatsGo(dst, a, b, c) }
func canStream([]float32, int) bool     { return false }
func fence()                            {}
func touch([]byte)                      {}

// whole returns how many of n elements the assembly takes, in steps of a power of two.
func whole(n, step int) int {
	if !useAssembly {
		return 0
	}
	return n &^ (step - 1)
}
