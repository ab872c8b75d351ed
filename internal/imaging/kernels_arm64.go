//go:build !noasm

package imaging

import "slices"

// useAssembly is what tests turn off: every arm64 processor has NEON.
var useAssembly = true

// horizontalNEON resamples a row of bytes, eight outputs per group. A group reads 16 bytes from base[0] on for its
// first four outputs and from base[1] on for the others; for each tap, tab holds a shuffle that brings the samples
// to the outputs, and eight weights.
//
//go:noescape
func horizontalNEON(dst *float32, src *byte, base *int32, tab *uint32, groups, taps int)

// horizontalWideNEON resamples a row of bytes to n outputs; taps is a multiple of 8. Eight partial sums, of every
// eighth tap, are added at the end: halves, quarters, neighbours.
//
//go:noescape
func horizontalWideNEON(dst *float32, src *byte, first *int32, w *float32, n, taps int)

// verticalNEON writes the weighted sum of taps rows, pitch bytes apart; n is a positive multiple of 8.
//
//go:noescape
func verticalNEON(dst, rows *float32, pitch int, w *float32, taps, n int)

// verticalAffineNEON is verticalNEON and then value·scale + bias.
//
//go:noescape
func verticalAffineNEON(dst, rows *float32, pitch int, w *float32, taps, n int, scale, bias float32)

// verticalRoundNEON is verticalNEON, then rounds to the integers 0 … 255, then makes value·scale + bias.
//
//go:noescape
func verticalRoundNEON(dst, rows *float32, pitch int, w *float32, taps, n int, scale, bias float32)

// toRGBNEON converts rows of Y, Cb, Cr to R, G, B in place; n is a positive multiple of 8.
//
//go:noescape
func toRGBNEON(y, cb, cr *float32, n int)

// toRGBAffineNEON converts rows of Y, Cb, Cr to R·scale + bias, G·scale + bias, B·scale + bias; n is a positive multiple
// of 8.
//
//go:noescape
func toRGBAffineNEON(red, green, blue, y, cb, cr *float32, n int, norm *norms)

// twistBytesNEON maps n pixels of three bytes, a positive multiple of 16, as twistBytesGo does. The sums fit 32 bits.
//
//go:noescape
func twistBytesNEON(dst, src *byte, n int, factors *[3][4]int64)

// twistRowsNEON rounds n pixels, a positive multiple of 8, whose channels are apart, to levels, maps them as twistBytesNEON
// does, and stores level·scale + bias.
//
//go:noescape
func twistRowsNEON(red, green, blue, a, b, c *float32, n int, factors *[3][4]int64, norm *norms)

// quantiseNEON rounds n values, a positive multiple of 8, to the integers 0 … 255.
//
//go:noescape
func quantiseNEON(row *float32, n int)

// toBytesNEON rounds n values, a positive multiple of 8, to bytes.
//
//go:noescape
func toBytesNEON(dst *byte, src *float32, n int)

// affineNEON stores src·scale + bias; n is a positive multiple of 8.
//
//go:noescape
func affineNEON(dst, src *float32, n int, scale, bias float32)

// affineBytesNEON stores src·scale + bias; n is a positive multiple of 16.
//
//go:noescape
func affineBytesNEON(dst *float32, src *byte, n int, scale, bias float32)

// normalize3NEON takes n pixels of three bytes, a positive multiple of 16, apart and stores value·scale + bias of each
// channel. From each 16 pixels it goes on by step bytes; where it mirrors, it stores the last of them first.
//
//go:noescape
func normalize3NEON(a, b, c *float32, src *byte, step, n int, norm *norms, mirror bool)

// split3NEON takes n pixels of three bytes, a positive multiple of 16, apart.
//
//go:noescape
func split3NEON(a, b, c, src *byte, n int)

// join3NEON puts n pixels of three bytes, a positive multiple of 16, together.
//
//go:noescape
func join3NEON(dst, a, b, c *byte, n int)

// joinFloatsNEON puts n pixels of three values, a positive multiple of 4, together.
//
//go:noescape
func joinFloatsNEON(dst, a, b, c *float32, n int)

// reverseNEON exchanges n values, a positive multiple of 4, from first on with as many that end with the four at last,
// and reverses both.
//
//go:noescape
func reverseNEON(first, last *float32, n int)

// touchNEON asks for n bytes, at least one, to be brought into the caches.
//
//go:noescape
func touchNEON(mem *byte, n int)

func horizontal(dst []float32, src []byte, t *taps) {
	n := len(t.first)
	switch {
	case useAssembly && t.lanes:
		groups := len(t.shuffle.base) / 2
		horizontalNEON(&dst[:groups*group][0], &src[:t.axis.End][0], &t.shuffle.base[0], &t.shuffle.tab[0], groups, t.n)
	case useAssembly && t.wide:
		horizontalWideNEON(&dst[:n][0], &src[:t.axis.End][0], &t.first[0], &t.weight[0], n, t.n)
	default:
		horizontalGo(dst, src, t)
	}
}

func vertical(dst, rows []float32, pitch int, w []float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		verticalNEON(&dst[0], &rows[:(len(w)-1)*pitch+n][0], 4*pitch, &w[0], len(w), n)
	}
	verticalGo(dst[n:], rows[n:], pitch, w)
}

func verticalAffine(dst, rows []float32, pitch int, w []float32, scale, bias float32, _ bool) {
	n := whole(len(dst), 8)
	if n > 0 {
		verticalAffineNEON(&dst[0], &rows[:(len(w)-1)*pitch+n][0], 4*pitch, &w[0], len(w), n, scale, bias)
	}
	verticalAffineGo(dst[n:], rows[n:], pitch, w, scale, bias)
}

func verticalRound(dst, rows []float32, pitch int, w []float32, scale, bias float32, _ bool) {
	n := whole(len(dst), 8)
	if n > 0 {
		verticalRoundNEON(&dst[0], &rows[:(len(w)-1)*pitch+n][0], 4*pitch, &w[0], len(w), n, scale, bias)
	}
	verticalRoundGo(dst[n:], rows[n:], pitch, w, scale, bias)
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

func twistBytes(dst, src []byte, t *byteTwist) {
	n := 0
	if t.narrow {
		n = whole(len(src)/3, 16)
	}
	if n > 0 {
		twistBytesNEON(&dst[:3*n][0], &src[0], n, &t.f)
	}
	twistBytesGo(dst[3*n:], src[3*n:], t)
}

func twistRows(dst, src [3][]float32, t *byteTwist, norm *norms, _ bool) {
	n := 0
	if t.narrow {
		n = whole(len(dst[0]), 8)
	}
	if n > 0 {
		twistRowsNEON(&dst[0][0], &dst[1][:n][0], &dst[2][:n][0], &src[0][:n][0], &src[1][:n][0], &src[2][:n][0], n, &t.f, norm)
	}
	end := len(dst[0])
	for c := range dst {
		dst[c], src[c] = dst[c][n:end], src[c][n:end]
	}
	twistRowsGo(dst, src, t, norm)
}

func quantise(row []float32) {
	n := whole(len(row), 8)
	if n > 0 {
		quantiseNEON(&row[0], n)
	}
	quantiseGo(row[n:])
}

func toBytes(dst []byte, src []float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		toBytesNEON(&dst[0], &src[:n][0], n)
	}
	toBytesGo(dst[n:], src[n:])
}

func affine(dst, src []float32, scale, bias float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		affineNEON(&dst[0], &src[:n][0], n, scale, bias)
	}
	affineGo(dst[n:], src[n:], scale, bias)
}

func affineBytes(dst []float32, src []byte, scale, bias float32) {
	n := whole(len(dst), 16)
	if n > 0 {
		affineBytesNEON(&dst[0], &src[:n][0], n, scale, bias)
	}
	affineBytesGo(dst[n:], src[n:], scale, bias)
}

func normalize3(rgb [3][]float32, src []byte, s *strip, norm *norms) {
	n := whole(s.w, 16)
	if n > 0 {
		step, first, at := 48, 0, 0
		if s.mirror {
			step, first, at = -48, 3*(n-16), s.w-n
		}
		for y := range s.h {
			dst := y*s.pitch + at
			normalize3NEON(&rgb[0][dst:][:n][0], &rgb[1][dst:][:n][0], &rgb[2][dst:][:n][0],
				&src[y*s.stride:][:3*n][first], step, n, norm, s.mirror)
		}
	}
	normalize3Rest(rgb, src, s, n, norm)
}

func reverse(row []float32) {
	n := whole(len(row)/2, 4)
	if n > 0 {
		reverseNEON(&row[0], &row[len(row)-4], n)
	}
	slices.Reverse(row[n : len(row)-n])
}

func split3(a, b, c, src []byte) {
	n := whole(len(a), 16)
	if n > 0 {
		split3NEON(&a[0], &b[:n][0], &c[:n][0], &src[:3*n][0], n)
	}
	split3Go(a[n:], b[n:], c[n:], src[3*n:])
}

func join3(dst, a, b, c []byte) {
	n := whole(len(a), 16)
	if n > 0 {
		join3NEON(&dst[:3*n][0], &a[0], &b[:n][0], &c[:n][0], n)
	}
	join3Go(dst[3*n:], a[n:], b[n:], c[n:])
}

func joinFloats(dst, a, b, c []float32) {
	n := whole(len(a), 4)
	if n > 0 {
		joinFloatsNEON(&dst[:3*n][0], &a[0], &b[:n][0], &c[:n][0], n)
	}
	joinFloatsGo(dst[3*n:], a[n:], b[n:], c[n:])
}

func canStream([]float32, int) bool { return false }
func fence()                        {}

func touch(mem []byte) {
	if len(mem) > 0 {
		touchNEON(&mem[0], len(mem))
	}
}

// whole returns how many of n elements the assembly takes, in steps of a power of two.
func whole(n, step int) int {
	if !useAssembly {
		return 0
	}
	return n &^ (step - 1)
}
