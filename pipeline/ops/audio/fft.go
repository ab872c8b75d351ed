package audio

import "math"

// fft transforms complex sequences of one length: x[k] = Σ x[n]·e^(−2πi·kn/N). Lengths that are
// powers of two are halved again and again (Cooley and Tukey, 1965); others become a
// convolution of such a length (Bluestein, 1970). It computes in float64 and fuses nothing, so
// that results are the same on every machine. It holds scratch memory.
type fft struct {
	n        int
	cos, sin []float64 // of 2πk/n for k < n/2, for powers of two
	swap     []int     // the bits of k backwards

	// For other lengths:
	chirpRe, chirpIm []float64 // e^(−πi·k²/n)
	inner            *fft      // of a power of two
	kernRe, kernIm   []float64 // the transform of the conjugate chirp
	re, im           []float64
}

func newFFT(n int) *fft {
	f := &fft{n: n}
	if n&(n-1) != 0 {
		f.bluestein()
		return f
	}
	f.cos, f.sin, f.swap = make([]float64, n/2), make([]float64, n/2), make([]int, n)
	for k := range n / 2 {
		f.sin[k], f.cos[k] = math.Sincos(2 * math.Pi * float64(k) / float64(n))
	}
	for k := 1; k < n; k++ {
		f.swap[k] = f.swap[k/2]/2 + k%2*n/2
	}
	return f
}

func (f *fft) bluestein() {
	n, m := f.n, 1
	for m < 2*n {
		m *= 2
	}
	f.inner = newFFT(m)
	f.chirpRe, f.chirpIm = make([]float64, n), make([]float64, n)
	f.kernRe, f.kernIm = make([]float64, m), make([]float64, m)
	f.re, f.im = make([]float64, m), make([]float64, m)
	for k := range n {
		s, c := math.Sincos(math.Pi * float64(k*k%(2*n)) / float64(n))
		f.chirpRe[k], f.chirpIm[k] = c, -s
		f.kernRe[k], f.kernIm[k] = c, s
		if k > 0 {
			f.kernRe[m-k], f.kernIm[m-k] = c, s
		}
	}
	f.inner.transform(f.kernRe, f.kernIm)
}

// transform replaces n numbers, given by their real and imaginary parts.
func (f *fft) transform(re, im []float64) {
	if f.inner != nil {
		f.convolve(re, im)
		return
	}
	re, im = re[:f.n], im[:f.n]
	for i, j := range f.swap {
		if i < j {
			re[i], re[j], im[i], im[j] = re[j], re[i], im[j], im[i]
		}
	}
	for half := 1; half < f.n; half *= 2 {
		step := f.n / (2 * half)
		for first := 0; first < f.n; first += 2 * half {
			for k := range half {
				c, s := f.cos[k*step], f.sin[k*step]
				i, j := first+k, first+k+half
				x := float64(re[j]*c) + float64(im[j]*s)
				y := float64(im[j]*c) - float64(re[j]*s)
				re[i], re[j] = re[i]+x, re[i]-x
				im[i], im[j] = im[i]+y, im[i]-y
			}
		}
	}
}

// times returns the product of two complex numbers.
func times(a, b, c, d float64) (re, im float64) {
	return float64(a*c) - float64(b*d), float64(a*d) + float64(b*c)
}

// convolve is transform for lengths that are no power of two.
func (f *fft) convolve(re, im []float64) {
	clear(f.re)
	clear(f.im)
	for k := range f.n {
		f.re[k], f.im[k] = times(re[k], im[k], f.chirpRe[k], f.chirpIm[k])
	}
	f.inner.transform(f.re, f.im)
	for k := range f.re {
		f.re[k], f.im[k] = times(f.re[k], f.im[k], f.kernRe[k], f.kernIm[k])
		f.im[k] = -f.im[k] // the inverse transform, by its conjugate
	}
	f.inner.transform(f.re, f.im)
	scale := 1 / float64(len(f.re))
	for k := range f.n {
		re[k], im[k] = times(f.re[k]*scale, -f.im[k]*scale, f.chirpRe[k], f.chirpIm[k])
	}
}

// realFFT transforms sequences of n real numbers to n/2+1 complex ones. Even lengths take a
// complex transform of half the length.
type realFFT struct {
	n        int
	plan     *fft
	re, im   []float64 // of the result
	cos, sin []float64 // of 2πk/n
}

func newRealFFT(n int) *realFFT {
	f := &realFFT{n: n}
	if n%2 != 0 {
		f.plan = newFFT(n)
		f.re, f.im = make([]float64, n), make([]float64, n)
		return f
	}
	f.plan = newFFT(n / 2)
	f.re, f.im = make([]float64, n/2+1), make([]float64, n/2+1)
	f.cos, f.sin = make([]float64, n/2+1), make([]float64, n/2+1)
	for k := range f.cos {
		f.sin[k], f.cos[k] = math.Sincos(2 * math.Pi * float64(k) / float64(n))
	}
	return f
}

// transform returns the real and imaginary parts of n/2+1 numbers, which are valid until the
// next call. It has x of n numbers.
func (f *realFFT) transform(x []float64) (re, im []float64) {
	bins := f.n/2 + 1
	if f.cos == nil {
		copy(f.re, x)
		clear(f.im)
		f.plan.transform(f.re, f.im)
		return f.re[:bins], f.im[:bins]
	}
	h := f.n / 2
	for k := range h { // even numbers as real parts, odd ones as imaginary parts
		f.re[k], f.im[k] = x[2*k], x[2*k+1]
	}
	f.plan.transform(f.re, f.im)
	f.re[h], f.im[h] = f.re[0], f.im[0]
	for k := 0; k <= h/2; k++ { // both parts are told apart by their symmetry
		j := h - k
		ar, ai, br, bi := f.re[k], f.im[k], f.re[j], f.im[j]
		er, ei := (ar+br)/2, (ai-bi)/2
		or, oi := (ai+bi)/2, (br-ar)/2
		tr, ti := times(or, oi, f.cos[k], -f.sin[k])
		f.re[k], f.im[k] = er+tr, ei+ti
		f.re[j], f.im[j] = er-tr, ti-ei
	}
	return f.re, f.im
}
