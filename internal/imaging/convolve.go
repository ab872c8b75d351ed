package imaging

import (
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Border says what lies beyond an array that is filtered: abcd|efgh becomes …
type Border uint8

const (
	Reflect101   Border = iota // dcb|abcdefgh|gfe: the border is not repeated
	Reflect1001                // cba|abcdefgh|hgf: the border is repeated
	Wrap                       // fgh|abcdefgh|abc
	Clamp                      // aaa|abcdefgh|hhh
	BorderFilled               // a value
)

// at returns which of n samples stands at place i; -1 for the value that fills.
func (b Border) at(i, n int) int {
	if uint(i) < uint(n) {
		return i
	}
	switch b {
	case Reflect101:
		if n == 1 {
			return 0
		}
		i = modulo(i, 2*n-2)
		return min(i, 2*n-2-i)
	case Reflect1001:
		i = modulo(i, 2*n)
		return min(i, 2*n-1-i)
	case Wrap:
		return modulo(i, n)
	case Clamp:
		return max(0, min(i, n-1))
	}
	return -1
}

func modulo(i, n int) int {
	if i %= n; i < 0 {
		i += n
	}
	return i
}

// addScaled adds src·f to dst, which has as many elements.
func addScaled(dst, src []float32, f float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] += float32(src[i] * f)
	}
}

// addWindow adds to dst the parts of src that begin step elements one after the other, each times a weight of the
// window, in their order.
func addWindow(dst, src []float32, step int, window []float32) {
	n := len(dst)
	for ; len(window) >= 4; window = window[4:] {
		a, b, c, d := src[:n], src[step:][:n], src[2*step:][:n], src[3*step:][:n]
		wa, wb, wc, wd := window[0], window[1], window[2], window[3]
		for i, v := range dst {
			v += float32(a[i] * wa)
			v += float32(b[i] * wb)
			v += float32(c[i] * wc)
			dst[i] = v + float32(d[i]*wd)
		}
		src = src[4*step:]
	}
	for i, w := range window {
		addScaled(dst, src[i*step:], w)
	}
}

// store is convert from float32. Bytes, the common case, are rounded by adding a half and cutting the fraction off.
func store(dst []byte, to datum.DType, src []float32) {
	if to != datum.Uint8 {
		convert(dst, to, datum.BytesOf(src), datum.Float32)
		return
	}
	dst = dst[:len(src)]
	for i, v := range src {
		switch v += 0.5; {
		case !(v > 0): // NaN, too
			dst[i] = 0
		case v >= 255:
			dst[i] = 255
		default:
			dst[i] = byte(int32(v))
		}
	}
}

// A Convolver filters arrays in float32. It keeps memory from call to call.
type Convolver struct {
	src, a, b, sum []float32
	line           []float32 // with what lies beyond it
}

// Reserved returns the bytes that are kept.
func (k *Convolver) Reserved() int64 {
	return 4 * int64(cap(k.src)+cap(k.a)+cap(k.b)+cap(k.sum)+cap(k.line))
}

// Growth returns at most how many bytes a call would add for an array of n elements and windows whose samples beyond
// the array are extra elements.
func (k *Convolver) Growth(n, extra int) int64 {
	return growth(cap(k.src), n) + growth(cap(k.a), n) + growth(cap(k.b), n) + growth(cap(k.sum), n) + growth(cap(k.line), n+extra)
}

// Release gives the memory up.
func (k *Convolver) Release() { *k = Convolver{} }

// axisOf returns an array's elements outside of a dimension, its extent, and the elements inside of it.
func axisOf(shape []int, axis int) (outer, n, inner int) {
	return elements(shape[:axis]), shape[axis], elements(shape[axis+1:])
}

// convolve filters along one dimension: dst[i] = sum over j of window[j]·src[i+j−len(window)/2]. What lies beyond is
// Reflect101.
func (k *Convolver) convolve(dst, src []float32, shape []int, axis int, window []float32) {
	outer, n, inner := axisOf(shape, axis)
	r := len(window) / 2
	clear(dst)
	for o := range outer {
		from, to := src[o*n*inner:][:n*inner], dst[o*n*inner:][:n*inner]
		if inner >= 64 { // whole lines are long enough
			for i := range n {
				if i >= r && i-r+len(window) <= n {
					addWindow(to[i*inner:][:inner], from[(i-r)*inner:], inner, window)
					continue
				}
				for j, w := range window {
					addScaled(to[i*inner:][:inner], from[Reflect101.at(i+j-r, n)*inner:], w)
				}
			}
			continue
		}
		k.line = k.extended(from, n, inner, r, len(window)-1-r, Reflect101, 0)
		addWindow(to, k.line, inner, window)
	}
}

// extended returns a line of n samples with what lies before and after it.
func (k *Convolver) extended(src []float32, n, inner, before, after int, b Border, fill float32) []float32 {
	line := grow(k.line, (before+n+after)*inner)
	copy(line[before*inner:], src[:n*inner])
	for i := -before; i < n+after; i++ {
		if i == 0 {
			i = n // the samples themselves are there
			if after == 0 {
				break
			}
		}
		to := line[(before+i)*inner:][:inner]
		at := b.at(i, n)
		if at >= 0 {
			copy(to, src[at*inner:])
			continue
		}
		for c := range to {
			to[c] = fill
		}
	}
	return line
}

// load readies the buffers for an array, whose elements become float32.
func (k *Convolver) load(op string, dst []byte, to datum.DType, src []byte, from datum.DType, shape []int) error {
	n := elements(shape)
	if to.Size() == 0 || from.Size() == 0 || len(src) != n*from.Size() || len(dst) != n*to.Size() {
		return badArgument(op, "%d bytes of %v and %d of %v for shape %v", len(src), from, len(dst), to, slices.Clone(shape))
	}
	k.src, k.a, k.b = grow(k.src, n), grow(k.a, n), grow(k.b, n)
	convert(datum.BytesOf(k.src), datum.Float32, src, from)
	return nil
}

// Separable filters an array along some of its dimensions, one after the other from the last, each with a window of an
// odd number of weights. What lies beyond is Reflect101.
func (k *Convolver) Separable(dst []byte, to datum.DType, src []byte, from datum.DType, shape, axes []int, windows [][]float32) error {
	if err := k.load("convolution", dst, to, src, from, shape); err != nil {
		return err
	}
	store(dst, to, k.along(shape, axes, windows))
	return nil
}

// along filters what is loaded. The result is in a buffer of k.
func (k *Convolver) along(shape, axes []int, windows [][]float32) []float32 {
	from, to := k.src, k.a
	for i := len(axes) - 1; i >= 0; i-- {
		if len(windows[i]) == 1 && windows[i][0] == 1 {
			continue
		}
		k.convolve(to, from, shape, axes[i], windows[i])
		if from, to = to, k.a; &from[0] == &k.a[0] {
			to = k.b
		}
	}
	return from
}

// Derivative is a part of a Laplacian: a window along each axis, and a factor.
type Derivative struct {
	Windows [][]float32
	Scale   float32
}

// Laplacian stores the sum of some derivatives of an array.
func (k *Convolver) Laplacian(dst []byte, to datum.DType, src []byte, from datum.DType, shape, axes []int, parts []Derivative) error {
	if err := k.load("laplacian", dst, to, src, from, shape); err != nil {
		return err
	}
	k.sum = grow(k.sum, len(k.src))
	clear(k.sum)
	for _, p := range parts {
		addScaled(k.sum, k.along(shape, axes, p.Windows), p.Scale)
	}
	store(dst, to, k.sum)
	return nil
}

// A Kernel2 is a filter of two dimensions.
type Kernel2 struct {
	Weights          []float32
	H, W             int
	AnchorY, AnchorX int // the weight that lies on the pixel
	Border           Border
	Fill             float32
	Valid            bool // only where all of the filter lies on the picture
}

// Result returns the extents of the result for a picture of h×w pixels.
func (f *Kernel2) Result(h, w int) (int, int) {
	if f.Valid {
		return h - f.H + 1, w - f.W + 1
	}
	return h, w
}

// Filter correlates planes of h×w pixels, each of inner elements, with a filter: the pixel at y, x becomes the sum
// of Weights[i][j] · pixel at y+i−AnchorY, x+j−AnchorX.
func (k *Convolver) Filter(dst []byte, to datum.DType, src []byte, from datum.DType, planes, h, w, inner int, f *Kernel2) error {
	dh, dw := f.Result(h, w)
	n := planes * h * w * inner
	if dh < 1 || dw < 1 || len(f.Weights) != f.H*f.W || len(src) != n*from.Size() || len(dst) != planes*dh*dw*inner*to.Size() {
		return badArgument("filter", "%d bytes of %v and %d of %v for %d planes of %d×%d pixels and a filter of %d×%d", len(src), from, len(dst), to, planes, h, w, f.H, f.W)
	}
	k.src, k.sum = grow(k.src, n), grow(k.sum, dw*inner)
	convert(datum.BytesOf(k.src), datum.Float32, src, from)
	y0, before, after := f.AnchorY, f.AnchorX, f.W-1-f.AnchorX
	if f.Valid {
		y0, before, after = 0, 0, 0
	}
	size := dw * inner * to.Size()
	for p := range planes {
		plane := k.src[p*h*w*inner:][:h*w*inner]
		for y := range dh {
			clear(k.sum)
			for i := range f.H {
				row, at := plane, f.Border.at(y+i-y0, h)
				if at >= 0 {
					k.line = k.extended(row[at*w*inner:], w, inner, before, after, f.Border, f.Fill)
				} else {
					k.line = k.filled((before+w+after)*inner, f.Fill)
				}
				addWindow(k.sum, k.line, inner, f.Weights[i*f.W:][:f.W])
			}
			store(dst[(p*dh+y)*size:][:size], to, k.sum)
		}
	}
	return nil
}

func (k *Convolver) filled(n int, fill float32) []float32 {
	line := grow(k.line, n)
	for i := range line {
		line[i] = fill
	}
	return line
}

// GaussianWindow appends a window of n weights, an odd number, to dst. Its sum is 1.
func GaussianWindow(dst []float32, n int, sigma float64) []float32 {
	r, sum, first := n/2, 1., len(dst)
	for i := -r; i <= r; i++ {
		w := math.Exp(-float64(i*i) / (2 * sigma * sigma))
		if i < 0 {
			sum += 2 * w
		}
		dst = append(dst, float32(w))
	}
	for i := range dst[first:] {
		dst[first+i] /= float32(sum)
	}
	return dst
}

// BinomialWindow appends a window of n weights to dst, the coefficients of (1 + x)ⁿ⁻¹, which smooths; or those of
// (1 − x)²(1 + x)ⁿ⁻³, which takes the second derivative.
func BinomialWindow(dst []float32, n int, derivative bool) []float32 {
	first := len(dst)
	dst = append(dst, 1)
	for i := range n - 1 {
		sign := float32(1)
		if derivative && i < 2 {
			sign = -1
		}
		dst = append(dst, 0)
		for j := len(dst) - 1; j > first; j-- {
			dst[j] += sign * dst[j-1]
		}
	}
	return dst
}
