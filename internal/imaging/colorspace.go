package imaging

import "math"

// ColorSpace says what the channels of a pixel of bytes are.
type ColorSpace uint8

const (
	RGB ColorSpace = iota
	Gray
	BGR
	YCbCr601 // ITU-R BT.601 at studio range: luma 16 … 235, chroma 16 … 240
)

// Channels returns the channels of a pixel.
func (s ColorSpace) Channels() int {
	if s == Gray {
		return 1
	}
	return 3
}

// toRGB and fromRGB are the matrices of the colour spaces, of which grey is the first row of YCbCr601 at full range.
var (
	toYCbCr = ColorMatrix{
		M:      [3][3]float32{{0.25678824, 0.50412941, 0.09790588}, {-0.14822290, -0.29099279, 0.43921569}, {0.43921569, -0.36778831, -0.07142737}},
		Offset: [3]float32{16, 128, 128},
	}
	fromYCbCr = ColorMatrix{
		M: [3][3]float32{{1.1643835, 0, 1.5960267}, {1.1643835, -0.39176229, -0.81296764}, {1.1643835, 2.0172321, 0}},
		Offset: [3]float32{
			-16*1.1643835 - 128*1.5960267, -16*1.1643835 + 128*(0.39176229+0.81296764), -16*1.1643835 - 128*2.0172321,
		},
	}
	luma = [3]float32{0.299, 0.587, 0.114}
)

// rows returns the matrix with the rows of red and blue exchanged.
func (m ColorMatrix) rows() ColorMatrix {
	m.M[0], m.M[2] = m.M[2], m.M[0]
	m.Offset[0], m.Offset[2] = m.Offset[2], m.Offset[0]
	return m
}

// columns returns the matrix with the columns of red and blue exchanged.
func (m ColorMatrix) columns() ColorMatrix {
	for i := range m.M {
		m.M[i][0], m.M[i][2] = m.M[i][2], m.M[i][0]
	}
	return m
}

// ConvertColors converts pixels of bytes from one colour space to another.
func ConvertColors(dst []byte, to ColorSpace, src []byte, from ColorSpace) error {
	if to > YCbCr601 || from > YCbCr601 || len(src)%from.Channels() != 0 || len(dst) != len(src)/from.Channels()*to.Channels() {
		return badArgument("color_space_conversion", "%d bytes and %d bytes are not as many pixels of colour spaces %d and %d", len(src), len(dst), from, to)
	}
	switch {
	case to == from:
		copy(dst, src)
	case from == Gray:
		spreadGray(dst, to, src)
	case to == Gray:
		toGray(dst, src, from)
	case to == YCbCr601:
		m := toYCbCr
		if from == BGR {
			m = m.columns()
		}
		m.bytes(dst, src)
	case from == YCbCr601:
		m := fromYCbCr
		if to == BGR {
			m = m.rows()
		}
		m.bytes(dst, src)
	default: // between RGB and BGR
		for i := 0; i+3 <= len(src) && i+3 <= len(dst); i += 3 {
			dst[i], dst[i+1], dst[i+2] = src[i+2], src[i+1], src[i]
		}
	}
	return nil
}

func spreadGray(dst []byte, to ColorSpace, src []byte) {
	if to != YCbCr601 {
		for i, v := range src {
			d := dst[3*i:][:3]
			d[0], d[1], d[2] = v, v, v
		}
		return
	}
	const full = 219 << 16
	for i, v := range src {
		d := dst[3*i:][:3]
		d[0], d[1], d[2] = byte((full*uint64(v)/255+1<<15)>>16)+16, 128, 128
	}
}

func toGray(dst, src []byte, from ColorSpace) {
	if from == YCbCr601 {
		gain, offset := fixed(fromYCbCr.M[0][0]), fixed(-16*fromYCbCr.M[0][0])+1<<(colorBits-1)
		for i := range dst {
			dst[i] = level((gain*int64(src[3*i]) + offset) >> colorBits)
		}
		return
	}
	a, b, c := fixed(luma[0]), fixed(luma[1]), fixed(luma[2])
	if from == BGR {
		a, c = c, a
	}
	for i := range dst {
		p := src[3*i:][:3]
		dst[i] = level((a*int64(p[0]) + b*int64(p[1]) + c*int64(p[2]) + 1<<(colorBits-1)) >> colorBits)
	}
}

// Equalize spreads the levels of every channel so that as many pixels lie below a level as the level says: the level
// of a pixel becomes 255 times the share of those pixels that are above the lowest level and not above its own. The
// array has outer × channels × inner bytes; a channel of a single level stays.
func Equalize(dst, src []byte, outer, channels, inner int) error {
	if len(src) != outer*channels*inner || len(dst) != len(src) {
		return badArgument("equalize", "%d and %d bytes for %d×%d×%d elements", len(src), len(dst), outer, channels, inner)
	}
	if inner == 1 { // interleaved
		for c := range channels {
			var count [256]int
			for i := c; i < len(src); i += channels {
				count[src[i]]++
			}
			table := equalizing(&count, outer)
			for i := c; i < len(src); i += channels {
				dst[i] = table[src[i]]
			}
		}
		return nil
	}
	for c := range channels {
		var count [256]int
		for o := range outer {
			for _, v := range src[(o*channels+c)*inner:][:inner] {
				count[v]++
			}
		}
		table := equalizing(&count, outer*inner)
		for o := range outer {
			at := (o*channels + c) * inner
			LookUp(dst[at:at+inner], src[at:at+inner], &table)
		}
	}
	return nil
}

// equalizing returns the table for n pixels.
func equalizing(count *[256]int, n int) (table [256]byte) {
	lowest := 0
	for lowest < 255 && count[lowest] == 0 {
		lowest++
	}
	rest := n - count[lowest]
	if rest == 0 {
		table[lowest] = byte(lowest)
		return table
	}
	scale, sum := 255/float32(rest), 0
	for v := lowest + 1; v < 256; v++ {
		sum += count[v]
		table[v] = byte(math.RoundToEven(float64(float32(sum) * scale)))
	}
	return table
}
