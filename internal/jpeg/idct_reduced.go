package jpeg

// The inverse DCTs to 4×4 and 2×2 samples are those of libjpeg's jidctred: the
// rotations of the full one pruned and averaged over the samples that fall together.

const (
	fix0_211164243 = 1730
	fix0_509795579 = 4176
	fix0_601344887 = 4926
	fix0_720959822 = 5906
	fix0_850430095 = 6967
	fix1_061594337 = 8697
	fix1_272758580 = 10426
	fix1_451774981 = 11893
	fix2_172734803 = 17799
	fix3_624509785 = 29692
)

// idct4 is one pass of the 4×4 transform, the sums not yet shifted. The fourth
// coefficient does not count.
func idct4(x0, x1, x2, x3, x5, x6, x7, round int32) (y0, y1, y2, y3 int32) {
	t0 := x0<<(constBits+1) + round
	t2 := x2*fix1_847759065 - x6*fix0_765366865
	o0 := x1*fix2_562915447 + x3*fix0_899976223 - x5*fix0_601344887 - x7*fix0_509795579
	o1 := x1*fix1_061594337 - x3*fix2_172734803 + x5*fix1_451774981 - x7*fix0_211164243
	return t0 + t2 + o0, t0 - t2 + o1, t0 - t2 - o1, t0 + t2 - o0
}

func idct4x4Generic(dst []uint8, stride int, b *block, q *quantTable) {
	const shift1, shift2 = pass1Shift + 1, pass2Shift + 1
	const round1, round2 = 1 << (shift1 - 1), 1<<(shift2-1) + 128<<shift2
	var w [4][8]int16
	for c := range 8 {
		if c == 4 {
			continue
		}
		p := 2 * int(pairSlot[c])
		x := func(i int) int32 { return int32(b[p+i] * q[p+i]) }
		y0, y1, y2, y3 := idct4(x(0), x(32), x(16), x(48), x(49), x(17), x(33), round1)
		w[0][c], w[1][c] = saturate16(y0>>shift1), saturate16(y1>>shift1)
		w[2][c], w[3][c] = saturate16(y2>>shift1), saturate16(y3>>shift1)
	}
	for r := range w {
		x := &w[r]
		y0, y1, y2, y3 := idct4(int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3]),
			int32(x[5]), int32(x[6]), int32(x[7]), round2)
		out := dst[r*stride:][:4]
		out[0], out[1] = saturate8(y0>>shift2), saturate8(y1>>shift2)
		out[2], out[3] = saturate8(y2>>shift2), saturate8(y3>>shift2)
	}
	*b = block{}
}

// idct2 is one pass of the 2×2 transform, the sums not yet shifted. Of the even
// coefficients only the first counts.
func idct2(x0, x1, x3, x5, x7, round int32) (y0, y1 int32) {
	t := x0<<(constBits+2) + round
	o := x1*fix3_624509785 - x3*fix1_272758580 + x5*fix0_850430095 - x7*fix0_720959822
	return t + o, t - o
}

func idct2x2Generic(dst []uint8, stride int, b *block, q *quantTable) {
	const shift1, shift2 = pass1Shift + 2, pass2Shift + 2
	const round1, round2 = 1 << (shift1 - 1), 1<<(shift2-1) + 128<<shift2
	var w [2][8]int16
	for _, c := range [...]int{0, 1, 3, 5, 7} {
		p := 2 * int(pairSlot[c])
		x := func(i int) int32 { return int32(b[p+i] * q[p+i]) }
		y0, y1 := idct2(x(0), x(32), x(48), x(49), x(33), round1)
		w[0][c], w[1][c] = saturate16(y0>>shift1), saturate16(y1>>shift1)
	}
	for r := range w {
		x := &w[r]
		y0, y1 := idct2(int32(x[0]), int32(x[1]), int32(x[3]), int32(x[5]), int32(x[7]), round2)
		out := dst[r*stride:][:2]
		out[0], out[1] = saturate8(y0>>shift2), saturate8(y1>>shift2)
	}
	*b = block{}
}
