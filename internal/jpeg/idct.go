package jpeg

// The inverse DCT is the accurate integer method of libjpeg ("islow"): Loeffler,
// Ligtenberg and Moschytz, "Practical Fast 1-D DCT Algorithms with 11
// Multiplications", ICASSP 1989, in fixed point with 13 fractional bits, columns
// first. The rotations are written out as products, which is the same in integer
// arithmetic and suits the multiply-add of pairs that vector units have. Products
// with the quantisation factors wrap at 16 bits and what goes from the first pass
// to the second saturates, which damaged files alone can tell from libjpeg's plain
// C and is what its vector code does.

// Fixed-point constants, cᵢ = √2·cos(iπ/16) in the reference, times 2^13.
const (
	fix0_298631336 = 2446
	fix0_390180644 = 3196
	fix0_541196100 = 4433
	fix0_765366865 = 6270
	fix0_899976223 = 7373
	fix1_175875602 = 9633
	fix1_501321110 = 12299
	fix1_847759065 = 15137
	fix1_961570560 = 16069
	fix2_053119869 = 16819
	fix2_562915447 = 20995
	fix3_072711026 = 25172
)

const (
	constBits  = 13
	pass1Bits  = 2
	pass1Shift = constBits - pass1Bits
	pass2Shift = constBits + pass1Bits + 3
	pass1Round = 1 << (pass1Shift - 1)
	// pass2Round also moves the samples from around 0 to around 128.
	pass2Round = 1<<(pass2Shift-1) + 128<<pass2Shift
)

// idct8 is one pass over eight values in natural order, the sums not yet shifted.
func idct8(x0, x1, x2, x3, x4, x5, x6, x7, round int32) (y0, y1, y2, y3, y4, y5, y6, y7 int32) {
	t0 := (x0+x4)<<constBits + round
	t1 := (x0-x4)<<constBits + round
	t2 := x2*fix0_541196100 + x6*(fix0_541196100-fix1_847759065)
	t3 := x2*(fix0_541196100+fix0_765366865) + x6*fix0_541196100
	e0, e1, e2, e3 := t0+t3, t1+t2, t1-t2, t0-t3

	const z3, z4, z5 = -fix1_961570560, -fix0_390180644, fix1_175875602
	o0 := x1*(fix1_501321110-fix0_899976223+z4+z5) + x7*(-fix0_899976223+z5) + x3*z5 + x5*(z4+z5)
	o1 := x1*z5 + x7*(z3+z5) + x3*(fix3_072711026-fix2_562915447+z3+z5) + x5*(-fix2_562915447+z5)
	o2 := x1*(z4+z5) + x7*z5 + x3*(-fix2_562915447+z5) + x5*(fix2_053119869-fix2_562915447+z4+z5)
	o3 := x1*(-fix0_899976223+z5) + x7*(fix0_298631336-fix0_899976223+z3+z5) + x3*(z3+z5) + x5*z5
	return e0 + o0, e1 + o1, e2 + o2, e3 + o3, e3 - o3, e2 - o2, e1 - o1, e0 - o0
}

func saturate16(v int32) int16 { return int16(max(-1<<15, min(v, 1<<15-1))) }

func saturate8(v int32) uint8 { return uint8(max(0, min(v, 255))) }

// idctGeneric writes the 8×8 samples of b to dst and clears b.
func idctGeneric(dst []uint8, stride int, b *block, q *quantTable) {
	var w [8][8]int16
	for i := range b {
		b[i] *= q[i]
	}
	for c := range 8 {
		p := 2 * int(pairSlot[c])
		y0, y1, y2, y3, y4, y5, y6, y7 := idct8(
			int32(b[p]), int32(b[p+32]), int32(b[p+16]), int32(b[p+48]),
			int32(b[p+1]), int32(b[p+49]), int32(b[p+17]), int32(b[p+33]), pass1Round)
		w[0][c], w[1][c] = saturate16(y0>>pass1Shift), saturate16(y1>>pass1Shift)
		w[2][c], w[3][c] = saturate16(y2>>pass1Shift), saturate16(y3>>pass1Shift)
		w[4][c], w[5][c] = saturate16(y4>>pass1Shift), saturate16(y5>>pass1Shift)
		w[6][c], w[7][c] = saturate16(y6>>pass1Shift), saturate16(y7>>pass1Shift)
	}
	for r := range w {
		x := &w[r]
		y0, y1, y2, y3, y4, y5, y6, y7 := idct8(
			int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3]),
			int32(x[4]), int32(x[5]), int32(x[6]), int32(x[7]), pass2Round)
		out := dst[r*stride:][:8]
		out[0], out[1] = saturate8(y0>>pass2Shift), saturate8(y1>>pass2Shift)
		out[2], out[3] = saturate8(y2>>pass2Shift), saturate8(y3>>pass2Shift)
		out[4], out[5] = saturate8(y4>>pass2Shift), saturate8(y5>>pass2Shift)
		out[6], out[7] = saturate8(y6>>pass2Shift), saturate8(y7>>pass2Shift)
	}
	*b = block{}
}
