package imaging

import "math"

// The functions on tones take pixels of three bytes, red, green and blue, and change them as torchvision v2 does:
// levels are computed as float32, clamped, and lose their fraction.

// grey returns the grey level of a pixel, without its fraction.
func grey(r, g, b byte) float32 {
	l := float32(float32(r)*0.2989) + float32(float32(g)*0.587) + float32(float32(b)*0.114)
	return float32(int(l))
}

// cut cuts x off to a byte.
func cut(x float32) byte { return byte(max(0, min(x, 255))) }

// ScaleTones multiplies levels by a factor.
func ScaleTones(dst, src []byte, factor float64) {
	var table [256]byte
	for i := range table {
		table[i] = cut(float32(i) * float32(factor))
	}
	LookUp(dst, src, &table)
}

// SaturateTones multiplies the distance of each pixel from its grey level by a factor.
func SaturateTones(dst, src []byte, factor float64) {
	f, rest := float32(factor), float32(1-factor)
	for len(src) >= 3 && len(dst) >= 3 {
		base := grey(src[0], src[1], src[2]) * rest
		for i := range 3 {
			dst[i] = cut(float32(float32(src[i])*f) + base)
		}
		src, dst = src[3:], dst[3:]
	}
}

// ContrastTones multiplies the distance of all levels from the mean grey level of the picture by a factor.
func ContrastTones(dst, src []byte, factor float64) {
	sum := 0
	for i := 0; i+2 < len(src); i += 3 {
		sum += int(grey(src[i], src[i+1], src[i+2]))
	}
	mean := float32(float64(sum) / float64(max(1, len(src)/3)))
	var table [256]byte
	f, base := float32(factor), mean*float32(1-factor)
	for i := range table {
		table[i] = cut(float32(float32(i)*f) + base)
	}
	LookUp(dst, src, &table)
}

// SharpenTones multiplies the distance from a smoothed picture of h×w pixels by a factor. The border stays as it is.
func SharpenTones(dst, src []byte, h, w int, factor float64) {
	copy(dst, src)
	if h <= 2 || w <= 2 {
		return
	}
	stride, rest := 3*w, float32(1-factor)
	for y := 1; y < h-1; y++ {
		up, row, down := src[(y-1)*stride:][:stride], src[y*stride:][:stride], src[(y+1)*stride:][:stride]
		out := dst[y*stride:][:stride]
		for i := 3; i < stride-3; i++ {
			sum := int(up[i-3]) + int(up[i]) + int(up[i+3]) + int(row[i-3]) + 5*int(row[i]) + int(row[i+3]) + int(down[i-3]) + int(down[i]) + int(down[i+3])
			smooth := (2*sum + 13) / 26 // rounded; 13 is odd
			v := float32(row[i])
			out[i] = cut(v + float32((float32(smooth)-v)*rest))
		}
	}
}

// PosterizeTones keeps the upper bits of levels.
func PosterizeTones(dst, src []byte, bits int) {
	mask := byte(0xff << max(0, min(8-bits, 8)))
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = v & mask
	}
}

// SolarizeTones inverts levels from a threshold on; 0 inverts all.
func SolarizeTones(dst, src []byte, threshold float64) {
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
		if float64(i) >= threshold {
			table[i] = byte(255 - i)
		}
	}
	LookUp(dst, src, &table)
}

// StretchTones maps the levels of each channel from their range to all of 0 … 255.
func StretchTones(dst, src []byte) {
	var tables [3][256]byte
	for c := range tables {
		lo, hi := byte(255), byte(0)
		for i := c; i < len(src); i += 3 {
			lo, hi = min(lo, src[i]), max(hi, src[i])
		}
		scale := float32(float32(int(hi)-int(lo)) * float32(1./255))
		if lo >= hi {
			lo, scale = 0, 1
		}
		for i := range tables[c] {
			tables[c][i] = cut(float32(i-int(lo)) / scale)
		}
	}
	lookUp3(dst, src, &tables)
}

// EqualizeTones equalizes the histogram of each channel as Pillow does, which is not what DALI does (Equalize).
func EqualizeTones(dst, src []byte) {
	var tables [3][256]byte
	for c := range tables {
		var count [256]int
		for i := c; i < len(src); i += 3 {
			count[src[i]]++
		}
		last := 255
		for last > 0 && count[last] == 0 {
			last--
		}
		step, below := (len(src)/3-count[last])/255, 0
		for i := range count {
			tables[c][i] = byte(i)
			if step > 0 {
				tables[c][i] = byte(min((below+step/2)/step, 255))
			}
			below += count[i]
		}
	}
	lookUp3(dst, src, &tables)
}

// lookUp3 maps the bytes of three channels, each by its own table.
func lookUp3(dst, src []byte, tables *[3][256]byte) {
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = tables[0][src[0]], tables[1][src[1]], tables[2][src[2]]
		src, dst = src[3:], dst[3:]
	}
}

// TurnTones turns the hue of pixels by a share of the circle, -0.5 … 0.5, in the HSV space.
func TurnTones(dst, src []byte, share float64) {
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = turnTone(src[0], src[1], src[2], float32(share))
		src, dst = src[3:], dst[3:]
	}
}

func turnTone(r8, g8, b8 byte, share float32) (byte, byte, byte) {
	hi, lo := max(r8, g8, b8), min(r8, g8, b8)
	if hi == lo {
		return r8, g8, b8
	}
	r, g, b := float32(r8)/255, float32(g8)/255, float32(b8)/255
	v, span := float32(hi)/255, float32(hi)/255-float32(lo)/255
	rc, gc, bc := (v-r)/span, (v-g)/span, (v-b)/span
	var h float32
	switch hi {
	case r8:
		h = bc - gc
	case g8:
		h = 2 + rc - bc
	default:
		h = 4 + gc - rc
	}
	h = float32(h*float32(1./6)) + 1 + share
	h = (h - float32(math.Floor(float64(h)))) * 6
	i := int(h)
	f, s := h-float32(i), span/v
	p, q, t := (1-s)*v, (1-float32(s*f))*v, (float32(s*f)+(1-s))*v
	as := func(x float32) byte { return cut(float32(max(0, min(x, 1)) * (256 - 1e-3))) }
	x, y, z, n := as(p), as(q), as(t), as(v)
	switch i % 6 {
	case 0:
		return n, z, x
	case 1:
		return y, n, x
	case 2:
		return x, n, z
	case 3:
		return x, y, n
	case 4:
		return z, x, n
	}
	return n, x, y
}
