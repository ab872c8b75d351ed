package imaging

import "math"

// byteTwist is a ColorMatrix for levels, in fixed-point numbers: what it makes does not depend on the processor.
type byteTwist struct {
	f [3][4]int64 // by channel of the result: the factors of red, green and blue, and the offset with what rounds

	// What the assembly takes, where narrow says that its sums fit 32 bits: see twistBytesAVX2.
	table  [12][8]int32
	narrow bool
}

// colorBits is the precision of the products of bytes; a factor beyond maxFactor cannot change what is saturated.
const (
	colorBits = 20
	maxFactor = 1 << 30
)

// The assembly takes factors apart: upper·2^splitBits + lower, where upper fits 16 bits.
const (
	splitBits = 14
	maxSplit  = 1 << (15 + splitBits)
)

// set takes over a matrix.
func (t *byteTwist) set(m *ColorMatrix) {
	t.narrow = true
	for i := range m.M {
		f := &t.f[i]
		for j, x := range m.M[i] {
			f[j] = fixed(x)
		}
		f[3] = fixed(m.Offset[i]) + 1<<(colorBits-1)
		lo, hi := f[3], f[3]
		for _, x := range f[:3] {
			lo += min(x, 0) * byteMax
			hi += max(x, 0) * byteMax
		}
		for _, x := range f {
			t.narrow = t.narrow && -maxSplit <= x && x < maxSplit
		}
		t.narrow = t.narrow && lo >= math.MinInt32 && hi <= math.MaxInt32
	}
	if !t.narrow {
		return
	}
	for i, f := range t.f {
		for part, shift := range [2]int{splitBits, 0} {
			for pair := range 2 {
				row := &t.table[4*i+2*part+pair]
				first, second := half(f[2*pair], shift), half(f[2*pair+1], shift)
				for k := range row {
					row[k] = int32(first | second<<16)
				}
			}
		}
	}
}

// half returns the upper part of a factor, where shift is splitBits, or the lower one, where it is 0, as 16 bits.
func half(x int64, shift int) uint32 {
	if shift == 0 {
		return uint32(x & (1<<splitBits - 1))
	}
	return uint32(uint16(x >> shift))
}

// fixed returns x as a fixed-point number.
func fixed(x float32) int64 {
	return int64(math.Round(float64(max(-maxFactor, min(x, maxFactor))) * (1 << colorBits)))
}

// bytes is Apply for bytes.
func (m *ColorMatrix) bytes(dst, src []byte) {
	var t byteTwist
	t.set(m)
	twistBytes(dst, src, &t)
}

// twistBytesGo maps pixels of three bytes.
func twistBytesGo(dst, src []byte, t *byteTwist) {
	m0, m1, m2 := t.f[0], t.f[1], t.f[2]
	for len(src) >= 3 && len(dst) >= 3 {
		r, g, b := int64(src[0]), int64(src[1]), int64(src[2])
		dst[0] = level((m0[0]*r + m0[1]*g + m0[2]*b + m0[3]) >> colorBits)
		dst[1] = level((m1[0]*r + m1[1]*g + m1[2]*b + m1[3]) >> colorBits)
		dst[2] = level((m2[0]*r + m2[1]*g + m2[2]*b + m2[3]) >> colorBits)
		src, dst = src[3:], dst[3:]
	}
}

// twistRowsGo rounds pixels whose channels are apart to levels, maps them as twistBytesGo does, and stores
// level·scale + bias.
func twistRowsGo(dst, src [3][]float32, t *byteTwist, n *norms) {
	for x := range dst[0] {
		var p [3]int64
		for c := range p {
			p[c] = int64(clampByte(src[c][x]) + 0.5)
		}
		for c := range p {
			f := &t.f[c]
			v := level((f[0]*p[0] + f[1]*p[1] + f[2]*p[2] + f[3]) >> colorBits)
			dst[c][x] = float32(float32(v)*n[c][0][0]) + n[c][1][0]
		}
	}
}

// level cuts a number to 0 … 255.
func level(v int64) byte {
	if uint64(v) > 255 {
		return byte(^v >> 63) // 0 for negative numbers, 255 for others
	}
	return byte(v)
}
