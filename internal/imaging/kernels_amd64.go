//go:build amd64 && !noasm

package imaging

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C _asm . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg imaging

// useAssembly is what tests turn off.
var useAssembly = cpu.X86.HasAVX2

const cacheLine = 64

func horizontal(dst []float32, src []byte, t *taps) {
	n := len(t.first)
	switch {
	case useAssembly && t.lanes:
		groups := len(t.shuffle.base) / 2
		horizontalAVX2(&dst[:groups*group][0], &src[:t.axis.End][0], &t.shuffle.base[0], &t.shuffle.tab[0], groups, t.n)
	case useAssembly && t.wide:
		horizontalWideAVX2(&dst[:n][0], &src[:t.axis.End][0], &t.first[0], &t.weight[0], n, t.n)
	default:
		horizontalGo(dst, src, t)
	}
}

func vertical(dst, rows []float32, pitch int, w []float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		verticalAVX2(&dst[0], &rows[:(len(w)-1)*pitch+n][0], 4*pitch, &w[0], len(w), n)
	}
	verticalGo(dst[n:], rows[n:], pitch, w)
}

func verticalAffine(dst, rows []float32, pitch int, w []float32, scale, bias float32, stream bool) {
	n := whole(len(dst), 8)
	if n > 0 {
		kernel := verticalAffineAVX2
		if stream {
			kernel = verticalAffineStreamAVX2
		}
		kernel(&dst[0], &rows[:(len(w)-1)*pitch+n][0], 4*pitch, &w[0], len(w), n, scale, bias)
	}
	verticalAffineGo(dst[n:], rows[n:], pitch, w, scale, bias)
}

func verticalRound(dst, rows []float32, pitch int, w []float32, scale, bias float32, stream bool) {
	n := whole(len(dst), 8)
	if n > 0 {
		kernel := verticalRoundAVX2
		if stream {
			kernel = verticalRoundStreamAVX2
		}
		kernel(&dst[0], &rows[:(len(w)-1)*pitch+n][0], 4*pitch, &w[0], len(w), n, scale, bias)
	}
	verticalRoundGo(dst[n:], rows[n:], pitch, w, scale, bias)
}

func toRGBAffine(rgb [3][]float32, y, cb, cr []float32, norm *norms, stream bool) {
	n := whole(len(rgb[0]), 8)
	if n > 0 {
		kernel := toRGBAffineAVX2
		if stream {
			kernel = toRGBAffineStreamAVX2
		}
		kernel(&rgb[0][0], &rgb[1][:n][0], &rgb[2][:n][0], &y[:n][0], &cb[:n][0], &cr[:n][0], n, &norm[0][0][0])
	}
	for c := range rgb {
		rgb[c] = rgb[c][n:]
	}
	end := n + len(rgb[0])
	toRGBAffineGo(rgb, y[n:end], cb[n:end], cr[n:end], norm)
}

func twistBytes(dst, src []byte, t *byteTwist) {
	n := 0
	if t.narrow { // the kernel reads and writes two pixels more
		n = whole(max(0, len(src)/3-2), 8)
	}
	if n > 0 {
		twistBytesAVX2(&dst[:3*n+6][0], &src[:3*n+6][0], n, &t.table[0][0])
	}
	twistBytesGo(dst[3*n:], src[3*n:], t)
}

func twistRows(dst, src [3][]float32, t *byteTwist, norm *norms, stream bool) {
	n := 0
	if t.narrow {
		n = whole(len(dst[0]), 8)
	}
	if n > 0 {
		kernel := twistRowsAVX2
		if stream {
			kernel = twistRowsStreamAVX2
		}
		kernel(&dst[0][0], &dst[1][:n][0], &dst[2][:n][0], &src[0][:n][0], &src[1][:n][0], &src[2][:n][0], n, &t.table[0][0], &norm[0][0][0])
	}
	end := len(dst[0])
	for c := range dst {
		dst[c], src[c] = dst[c][n:end], src[c][n:end]
	}
	twistRowsGo(dst, src, t, norm)
}

// canStream reports whether rows of w values, the first of them at dst, can be written past the caches.
func canStream(dst []float32, w int) bool {
	return useAssembly && w%8 == 0 && uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%32 == 0
}

// fence orders what was written past the caches before what follows: the processor may delay such writes beyond
// the ordinary ones by which the memory is handed over.
func fence() { fenceSSE() }

// touch takes a whole number of lines, and a piece of one more.
func touch(mem []byte) { touchSSE(unsafe.SliceData(mem), len(mem)+cacheLine-1) }

func toRGB(y, cb, cr []float32) {
	n := whole(len(y), 8)
	if n > 0 {
		toRGBAVX2(&y[0], &cb[:n][0], &cr[:n][0], n)
	}
	toRGBGo(y[n:], cb[n:], cr[n:])
}

func quantise(row []float32) {
	n := whole(len(row), 8)
	if n > 0 {
		quantiseAVX2(&row[0], n)
	}
	quantiseGo(row[n:])
}

func toBytes(dst []byte, src []float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		toBytesAVX2(&dst[0], &src[:n][0], n)
	}
	toBytesGo(dst[n:], src[n:])
}

func affine(dst, src []float32, scale, bias float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		affineAVX2(&dst[0], &src[:n][0], n, scale, bias)
	}
	affineGo(dst[n:], src[n:], scale, bias)
}

func affineBytes(dst []float32, src []byte, scale, bias float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		affineBytesAVX2(&dst[0], &src[:n][0], n, scale, bias)
	}
	affineBytesGo(dst[n:], src[n:], scale, bias)
}

func normalize3(rgb [3][]float32, src []byte, s *strip, norm *norms) {
	n := whole(s.w, 16)
	if n > 0 {
		kernel, first, step := normalize3AVX2, 0, s.pitch-n
		switch {
		case s.mirror && s.stream:
			kernel = normalize3MirrorStreamAVX2
		case s.mirror:
			kernel = normalize3MirrorAVX2
		case s.stream:
			kernel = normalize3StreamAVX2
		}
		if s.mirror {
			first, step = s.w-16, s.pitch+n
		}
		end := s.pitch*(s.h-1) + s.w
		kernel(&rgb[0][:end][first], &rgb[1][:end][first], &rgb[2][:end][first], 4*step,
			&src[:s.stride*(s.h-1)+3*s.w][0], s.stride-3*n, n, s.h, &norm[0][0][0])
	}
	normalize3Rest(rgb, src, s, n, norm)
}

func reverse(row []float32) {
	n := whole(len(row)/2, 8)
	if n > 0 {
		reverseAVX2(&row[0], &row[len(row)-8], n)
	}
	slices.Reverse(row[n : len(row)-n])
}

func split3(a, b, c, src []byte) {
	n := whole(len(a), 16)
	if n > 0 {
		split3AVX2(&a[0], &b[:n][0], &c[:n][0], &src[:3*n][0], n)
	}
	split3Go(a[n:], b[n:], c[n:], src[3*n:])
}

func join3(dst, a, b, c []byte) {
	n := whole(len(a), 16)
	if n > 0 {
		join3AVX2(&dst[:3*n][0], &a[0], &b[:n][0], &c[:n][0], n)
	}
	join3Go(dst[3*n:], a[n:], b[n:], c[n:])
}

func joinFloats(dst, a, b, c []float32) {
	n := whole(len(a), 8)
	if n > 0 {
		joinFloatsAVX2(&dst[:3*n][0], &a[0], &b[:n][0], &c[:n][0], n)
	}
	joinFloatsGo(dst[3*n:], a[n:], b[n:], c[n:])
}

// whole returns how many of n elements the assembly takes, in steps of a power of two.
func whole(n, step int) int {
	if !useAssembly {
		return 0
	}
	return n &^ (step - 1)
}
