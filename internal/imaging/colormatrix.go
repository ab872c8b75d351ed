package imaging

import (
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// A ColorMatrix maps the three channels of a pixel: out[i] = sum over j of M[i][j]·in[j], plus Offset[i].
type ColorMatrix struct {
	M      [3][3]float32
	Offset [3]float32
}

// yiq is the transform from RGB to the YIQ space of NTSC, rounded as in DALI, and back.
var (
	yiq     = [3][3]float64{{.299, .587, .114}, {.596, -.274, -.321}, {.211, -.523, .311}}
	fromYIQ = inverse3(yiq)
)

// TwistColor returns the matrix that turns colours by hue degrees around the grey axis, multiplies their distance
// from it by saturation, their distance from the grey level centre by contrast, and all by brightness.
func TwistColor(hue, saturation, brightness, contrast, centre float32) (m ColorMatrix) {
	sin, cos := math.Sincos(float64(hue) * math.Pi / 180)
	s := float64(saturation)
	turn := [3][3]float64{{1, 0, 0}, {0, s * cos, s * sin}, {0, -s * sin, s * cos}}
	all := product3(product3(fromYIQ, turn), yiq)
	gain := float64(brightness) * float64(contrast)
	for i := range m.M {
		for j := range m.M[i] {
			m.M[i][j] = float32(gain * all[i][j])
		}
		m.Offset[i] = float32(float64(brightness) * (float64(centre) - float64(contrast)*float64(centre)))
	}
	return m
}

func product3(a, b [3][3]float64) (c [3][3]float64) {
	for i := range c {
		for j := range c[i] {
			c[i][j] = float64(a[i][0]*b[0][j]) + float64(a[i][1]*b[1][j]) + float64(a[i][2]*b[2][j])
		}
	}
	return c
}

func inverse3(a [3][3]float64) (b [3][3]float64) {
	minor := func(i, j int) float64 { // of the matrix with its rows and columns repeated, so that no sign is needed
		r, s, c, d := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
		return float64(a[r][c]*a[s][d]) - float64(a[r][d]*a[s][c])
	}
	det := float64(a[0][0]*minor(0, 0)) + float64(a[0][1]*minor(0, 1)) + float64(a[0][2]*minor(0, 2))
	for i := range b {
		for j := range b[i] {
			b[i][j] = minor(j, i) / det
		}
	}
	return b
}

// Apply maps pixels of three interleaved channels, elements of type from, to as many of type to.
func (m *ColorMatrix) Apply(dst []byte, to datum.DType, src []byte, from datum.DType) error {
	if to.Size() == 0 || from.Size() == 0 || len(src)/from.Size() != len(dst)/to.Size() || len(src)/from.Size()%3 != 0 {
		return badArgument("color_twist", "%d bytes of %v and %d of %v are not as many pixels of three channels", len(src), from, len(dst), to)
	}
	if from == datum.Uint8 && to == datum.Uint8 {
		m.bytes(dst, src)
		return nil
	}
	var in, out [192]float32
	for n := len(in); len(src) > 0; src, dst = src[n*from.Size():], dst[n*to.Size():] {
		n = min(n, len(src)/from.Size())
		convert(datum.BytesOf(in[:n]), datum.Float32, src[:n*from.Size()], from)
		for i := 0; i < n; i += 3 {
			a, b, c := in[i], in[i+1], in[i+2]
			for j := range m.M {
				r := &m.M[j]
				out[i+j] = float32(r[0]*a) + float32(r[1]*b) + float32(r[2]*c) + m.Offset[j]
			}
		}
		convert(dst[:n*to.Size()], to, datum.BytesOf(out[:n]), datum.Float32)
	}
	return nil
}

// MultiplyAdd stores src·factor + addend.
func MultiplyAdd(dst []byte, to datum.DType, src []byte, from datum.DType, factor, addend float32) error {
	if to.Size() == 0 || from.Size() == 0 || len(src)/from.Size() != len(dst)/to.Size() {
		return badArgument("brightness_contrast", "%d bytes of %v and %d of %v are not as many elements", len(src), from, len(dst), to)
	}
	if from == datum.Uint8 && to == datum.Uint8 {
		var table [256]byte
		for i := range table {
			table[i] = roundTo[byte](float64(float32(float32(i)*factor)+addend), 0, 255, 0)
		}
		LookUp(dst, src, &table)
		return nil
	}
	var buf [256]float32
	for n := len(buf); len(src) > 0; src, dst = src[n*from.Size():], dst[n*to.Size():] {
		n = min(n, len(src)/from.Size())
		convert(datum.BytesOf(buf[:n]), datum.Float32, src[:n*from.Size()], from)
		for i, x := range buf[:n] {
			buf[i] = float32(x*factor) + addend
		}
		convert(dst[:n*to.Size()], to, datum.BytesOf(buf[:n]), datum.Float32)
	}
	return nil
}

// LookUp stores table[src[i]], of which dst must hold as many.
func LookUp(dst, src []byte, table *[256]byte) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = table[x]
	}
}
