package jpeg

// idctWrapping is idctGeneric as libjpeg-turbo's vector code computes it where sums leave
// 16 bits, which those of damaged files alone do: it adds pairs of coefficients in 16
// bits, and shifts the columns of a block that has its first row alone.
func idctWrapping(dst []uint8, stride int, b *block, q *quantTable) {
	var w [8][8]int16
	firstRow := true
	for i := range b {
		firstRow = firstRow && (b[i] == 0 || i < 16 && i%2 == 0)
		b[i] *= q[i]
	}
	for c := range 8 {
		p := 2 * int(pairSlot[c])
		if firstRow {
			for r := range w {
				w[r][c] = b[p] << pass1Bits
			}
			continue
		}
		y := idct8Wrapping([8]int16{b[p], b[p+32], b[p+16], b[p+48], b[p+1], b[p+49], b[p+17], b[p+33]}, pass1Round)
		for r := range w {
			w[r][c] = saturate16(y[r] >> pass1Shift)
		}
	}
	for r := range w {
		out := dst[r*stride:][:8]
		for c, y := range idct8Wrapping(w[r], pass2Round) {
			out[c] = saturate8(y >> pass2Shift)
		}
	}
	*b = block{}
}

// idct8Wrapping is idct8 with the sums of coefficients in 16 bits.
func idct8Wrapping(x [8]int16, round int32) (y [8]int32) {
	wide := func(i int) int32 { return int32(x[i]) }
	t0 := int32(x[0]+x[4])<<constBits + round
	t1 := int32(x[0]-x[4])<<constBits + round
	t2 := wide(2)*fix0_541196100 + wide(6)*(fix0_541196100-fix1_847759065)
	t3 := wide(2)*(fix0_541196100+fix0_765366865) + wide(6)*fix0_541196100
	e := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}

	z3, z4 := int32(x[7]+x[3]), int32(x[5]+x[1])
	z3, z4 = z3*(fix1_175875602-fix1_961570560)+z4*fix1_175875602, z3*fix1_175875602+z4*(fix1_175875602-fix0_390180644)
	o := [4]int32{
		wide(7)*-fix0_899976223 + wide(1)*(fix1_501321110-fix0_899976223) + z4,
		wide(5)*-fix2_562915447 + wide(3)*(fix3_072711026-fix2_562915447) + z3,
		wide(5)*(fix2_053119869-fix2_562915447) + wide(3)*-fix2_562915447 + z4,
		wide(7)*(fix0_298631336-fix0_899976223) + wide(1)*-fix0_899976223 + z3,
	}
	for i := range e {
		y[i], y[7-i] = e[i]+o[i], e[i]-o[i]
	}
	return y
}
