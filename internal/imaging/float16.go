package imaging

import "math"

// toFloat16 rounds f to the nearest binary16 value. Ties go away from zero, as in DALI on the CPU (the hardware
// instruction rounds ties to even). Values beyond the range become infinities; a NaN stays a NaN.
func toFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	sign, mag := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case mag > 0x7f800000:
		return sign | 0x7e00
	case mag >= 0x477ff000: // 65520, which rounds up to 65536
		return sign | 0x7c00
	case mag >= 0x38800000: // 2^-14, the smallest normal binary16
		return sign | uint16((mag-0x38000000+0x1000)>>13)
	case mag < 0x33000000: // below 2^-25, half of the smallest subnormal
		return sign
	}
	shift := 126 - mag>>23 // 14 for 2^-14 … 24 for 2^-25
	frac := mag&0x7fffff | 0x800000
	return sign | uint16((frac+1<<(shift-1))>>shift)
}

// fromFloat16 widens a binary16 value; the result is exact.
func fromFloat16(h uint16) float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10)&31, uint32(h&0x3ff)
	switch exp {
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0:
		f := float32(frac) * (1.0 / (1 << 24))
		if sign != 0 {
			f = -f
		}
		return f
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
