package imaging

// A StudioRow converts rows of planes at studio range (luma 16 … 235), as WebP files hold them, to RGB the way
// Google's libwebp does: chroma is interpolated from the four nearest samples.
type StudioRow struct{ cb, cr []byte }

// Reserved returns the bytes that are kept.
func (k *StudioRow) Reserved() int64 { return int64(cap(k.cb) + cap(k.cr)) }

// RGB writes the pixels from x on of row y of planes whose chroma is halved in both directions, len(dst)/3 of them.
func (k *StudioRow) RGB(dst []byte, p *YCbCr, x, y int) {
	h, _ := p.chromaSize()
	near := y / 2
	far := max(0, min(near-1+2*(y%2), h-1))
	k.cb = interpolated(k.cb, p.Cb[near*p.CStride:], p.Cb[far*p.CStride:], p.W)
	k.cr = interpolated(k.cr, p.Cr[near*p.CStride:], p.Cr[far*p.CStride:], p.W)
	luma := p.Y[y*p.YStride+x:]
	for i := range len(dst) / 3 {
		l, u, v := int(luma[i])*19077>>8, int(k.cb[x+i]), int(k.cr[x+i])
		dst[3*i] = clip6(l + v*26149>>8 - 14234)
		dst[3*i+1] = clip6(l - u*6419>>8 - v*13320>>8 + 8708)
		dst[3*i+2] = clip6(l + u*33050>>8 - 17685)
	}
}

// clip6 rounds a number with 6 bits after the point down to a level.
func clip6(v int) byte { return byte(max(0, min(v>>6, 255))) }

// interpolated returns w samples of chroma between two rows of half as many, near to the first.
func interpolated(buf, near, far []byte, w int) []byte {
	buf = grow(buf, w)
	n := (w + 1) / 2
	buf[0] = byte((3*int(near[0]) + int(far[0]) + 2) >> 2)
	for i := 1; i < n; i++ {
		a, b, c, d := int(near[i-1]), int(near[i]), int(far[i-1]), int(far[i])
		sum := a + b + c + d + 8
		buf[2*i-1] = byte(((sum+2*(b+c))>>3 + a) >> 1)
		if 2*i < w {
			buf[2*i] = byte(((sum+2*(a+d))>>3 + b) >> 1)
		}
	}
	if w%2 == 0 && w > 0 {
		buf[w-1] = byte((3*int(near[n-1]) + int(far[n-1]) + 2) >> 2)
	}
	return buf
}
