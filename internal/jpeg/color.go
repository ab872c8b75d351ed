package jpeg

// The conversion from YCbCr is the one of JFIF (ITU-R BT.601 at full range) in fixed
// point with 16 fractional bits, rounded as libjpeg's tables are.
const (
	fixRCr = 91881  // 1.40200
	fixGCb = -22554 // −0.34414
	fixGCr = -46802 // −0.71414
	fixBCb = 116130 // 1.77200
	half16 = 1 << 15
)

// yccToRGBGeneric converts a row to packed pixels.
func yccToRGBGeneric(dst, y, cb, cr []uint8) {
	dst, cb, cr = dst[:3*len(y)], cb[:len(y)], cr[:len(y)]
	for i, l := range y {
		l, u, v := int32(l), int32(cb[i])-128, int32(cr[i])-128
		dst[3*i] = saturate8(l + (fixRCr*v+half16)>>16)
		dst[3*i+1] = saturate8(l + (fixGCb*u+fixGCr*v+half16)>>16)
		dst[3*i+2] = saturate8(l + (fixBCb*u+half16)>>16)
	}
}

func interleave(dst, a, b, c []uint8) {
	dst, b, c = dst[:3*len(a)], b[:len(a)], c[:len(a)]
	for i, v := range a {
		dst[3*i], dst[3*i+1], dst[3*i+2] = v, b[i], c[i]
	}
}

func swapRedBlue(p []uint8) {
	for ; len(p) >= 3; p = p[3:] {
		p[0], p[2] = p[2], p[0]
	}
}

func complement(p []uint8) {
	for i, v := range p {
		p[i] = ^v
	}
}

// ink turns pixels of cyan, magenta and yellow into red, green and blue, given
// black. Inverted says that 255 is no ink.
func ink(p, k []uint8, inverted bool) {
	if !inverted {
		complement(p)
	}
	for i, v := range k {
		v := uint32(v)
		if !inverted {
			v = 255 - v
		}
		for j := 3 * i; j < 3*i+3; j++ {
			p[j] = uint8(uint32(p[j]) * v / 255)
		}
	}
}

// rgbToGray computes luma with libjpeg's rounding (weights 0.299, 0.587, 0.114).
func rgbToGray(dst, rgb []uint8) {
	for i := range dst {
		p := rgb[3*i:][:3]
		dst[i] = uint8((19595*uint32(p[0]) + 38470*uint32(p[1]) + 7471*uint32(p[2]) + half16) >> 16)
	}
}

// rgbToStudio converts pixels in place to YCbCr as ITU-R BT.601 has it for 8 bits: luma
// from 16 to 235, chroma from 16 to 240 around 128.
func rgbToStudio(p []uint8) {
	const (
		yr, yg, yb = 0.299 * 219 / 255, 0.587 * 219 / 255, 0.114 * 219 / 255
		u, v       = 0.5 * 224 / 255 / (1 - 0.114), 0.5 * 224 / 255 / (1 - 0.299)
	)
	for ; len(p) >= 3; p = p[3:] {
		r, g, b := float32(p[0]), float32(p[1]), float32(p[2])
		p[0] = uint8(yr*r + yg*g + yb*b + 16.5)
		p[1] = uint8(-0.299*u*r - 0.587*u*g + (1-0.114)*u*b + 128.5)
		p[2] = uint8((1-0.299)*v*r - 0.587*v*g - 0.114*v*b + 128.5)
	}
}
