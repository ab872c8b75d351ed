package imaging

// The functions of this file are the plain Go twins of the assembly kernels. The explicit conversions to float32
// keep compilers from fusing a multiplication with an addition, which would change the last bit.

// horizontalGo resamples one row of bytes to t.axis.Out values.
func horizontalGo(dst []float32, src []byte, t *taps) {
	if t.wide {
		horizontalWideGo(dst, src, t)
		return
	}
	n := t.n
	for i, first := range t.first {
		w := t.weight[i*n : (i+1)*n]
		s := src[first:][:n]
		sum := float32(float32(s[0]) * w[0])
		for k := 1; k < n; k++ {
			sum += float32(float32(s[k]) * w[k])
		}
		dst[i] = sum
	}
}

// horizontalWideGo is horizontalGo for windows of a multiple of 8 samples. Eight partial sums, of every eighth sample,
// are added at the end: halves, quarters, neighbours.
func horizontalWideGo(dst []float32, src []byte, t *taps) {
	n := t.n
	for i, first := range t.first {
		w := t.weight[i*n : (i+1)*n]
		s := src[first:][:n]
		var sum [8]float32
		for len(w) >= 8 {
			for k := range sum {
				sum[k] += float32(float32(s[k]) * w[k])
			}
			s, w = s[8:], w[8:]
		}
		for half := 4; half > 0; half /= 2 {
			for k := range half {
				sum[k] += sum[k+half]
			}
		}
		dst[i] = sum[0]
	}
}

// verticalGo sums len(w) rows, pitch values apart, into dst: the row in slot k has the weight w[k].
func verticalGo(dst, rows []float32, pitch int, w []float32) {
	if len(dst) == 0 {
		return
	}
	for i := range dst {
		dst[i] = float32(rows[i] * w[0])
	}
	for k := 1; k < len(w); k++ {
		row := rows[k*pitch:][:len(dst)]
		wk := w[k]
		for i := range dst {
			dst[i] += float32(row[i] * wk)
		}
	}
}

// verticalAffineGo is verticalGo and then affineGo.
func verticalAffineGo(dst, rows []float32, pitch int, w []float32, scale, bias float32) {
	verticalGo(dst, rows, pitch, w)
	affineGo(dst, dst, scale, bias)
}

// verticalRoundGo is verticalGo, quantiseGo and then affineGo.
func verticalRoundGo(dst, rows []float32, pitch int, w []float32, scale, bias float32) {
	verticalGo(dst, rows, pitch, w)
	quantiseGo(dst)
	affineGo(dst, dst, scale, bias)
}

// Coefficients of the JFIF colour conversion (ITU-R BT.601, full range).
const (
	redCr    = 1.402
	greenCb  = -0.344136286
	greenCr  = -0.714136286
	blueCb   = 1.772
	byteMax  = 255
	byteHalf = 128
)

// toRGBGo converts rows of Y, Cb and Cr in place to R, G and B within 0 … 255.
func toRGBGo(y, cb, cr []float32) {
	cb, cr = cb[:len(y)], cr[:len(y)]
	for i, v := range y {
		b, r := cb[i]-byteHalf, cr[i]-byteHalf
		y[i] = clampByte(v + float32(redCr*r))
		cb[i] = clampByte(v + float32(greenCb*b) + float32(greenCr*r))
		cr[i] = clampByte(v + float32(blueCb*b))
	}
}

// norms are the scale and the bias of three channels, in eight copies each.
type norms [3][2][8]float32

func (n *norms) set(scale, bias [3]float32) {
	for c := range n {
		n.setChannel(c, scale[c], bias[c])
	}
}

func (n *norms) setChannel(c int, scale, bias float32) {
	for i := range n[c][0] {
		n[c][0][i], n[c][1][i] = scale, bias
	}
}

// toRGBAffineGo is toRGBGo and then affineGo for each channel.
func toRGBAffineGo(rgb [3][]float32, y, cb, cr []float32, n *norms) {
	toRGBGo(y, cb, cr)
	for c, row := range [3][]float32{y, cb, cr} {
		affineGo(rgb[c], row, n[c][0][0], n[c][1][0])
	}
}

func clampByte(v float32) float32 { return min(max(v, 0), byteMax) }

// quantiseGo rounds the values of a row to the integers 0 … 255, ties up.
func quantiseGo(row []float32) {
	for i, v := range row {
		row[i] = float32(int32(clampByte(v) + 0.5))
	}
}

// toBytesGo rounds the values of src to bytes, ties up.
func toBytesGo(dst []byte, src []float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = byte(int32(clampByte(src[i]) + 0.5))
	}
}

// affineGo stores src·scale + bias.
func affineGo(dst, src []float32, scale, bias float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = float32(src[i]*scale) + bias
	}
}

// affineBytesGo stores src·scale + bias.
func affineBytesGo(dst []float32, src []byte, scale, bias float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = float32(float32(src[i])*scale) + bias
	}
}

// strip says how rows of pixels of three bytes lie, and the rows of three planes that they become.
type strip struct {
	w, h   int
	stride int  // bytes from one row of pixels to the next
	pitch  int  // values from one row of a plane to the next
	mirror bool // rows of planes begin with the last pixel
	stream bool // planes are written past the caches: rows are aligned to 32 bytes, w is a multiple of 16
}

// joined returns rows that follow each other as one long row.
func (s strip) joined() strip {
	if !s.mirror && s.stride == 3*s.w && s.pitch == s.w {
		n := s.w * s.h
		s.w, s.h, s.stride, s.pitch = n, 1, 3*n, n
	}
	return s
}

// canStream reports whether the planes can be written past the caches.
func (s *strip) canStream(rgb [3][]float32) bool {
	return s.w%16 == 0 && canStream(rgb[0], s.pitch) && canStream(rgb[1], s.pitch) && canStream(rgb[2], s.pitch)
}

// normalize3Go takes pixels of three bytes apart and stores value·scale + bias of each channel.
func normalize3Go(rgb [3][]float32, src []byte, s *strip, norm *norms) {
	for y := range s.h {
		pixels := src[y*s.stride:][:3*s.w]
		for c, plane := range rgb {
			scale, bias := norm[c][0][0], norm[c][1][0]
			at, step := c, 3
			if s.mirror {
				at, step = 3*(s.w-1)+c, -3
			}
			row := plane[y*s.pitch:][:s.w]
			for i := range row {
				row[i] = float32(float32(pixels[at])*scale) + bias
				at += step
			}
		}
	}
}

// normalize3Rest is normalize3Go for all but the first n columns of pixels.
func normalize3Rest(rgb [3][]float32, src []byte, s *strip, n int, norm *norms) {
	if n == s.w {
		return
	}
	rest := *s
	rest.w -= n
	if !s.mirror {
		for c := range rgb {
			rgb[c] = rgb[c][n:]
		}
	}
	normalize3Go(rgb, src[3*n:], &rest, norm)
}

// split3Go takes pixels of three bytes apart.
func split3Go(a, b, c, src []byte) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		p := src[3*i : 3*i+3]
		a[i], b[i], c[i] = p[0], p[1], p[2]
	}
}

// join3Go puts pixels of three bytes together.
func join3Go(dst, a, b, c []byte) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		p := dst[3*i : 3*i+3]
		p[0], p[1], p[2] = a[i], b[i], c[i]
	}
}

// joinFloatsGo puts pixels of three values together.
func joinFloatsGo(dst, a, b, c []float32) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		p := dst[3*i : 3*i+3]
		p[0], p[1], p[2] = a[i], b[i], c[i]
	}
}
