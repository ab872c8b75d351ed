//go:build !noasm

package png

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd _asm && go run . -out ../kernels_amd64.s -pkg png"

// useAVX2 also stands for the bit manipulation of the processors that have AVX2.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// The kernels for filters make n pixels of step bytes, n being positive, and read and
// write up to 8 bytes from the beginning of each.

//go:noescape
func addLeftAVX2(row, raw *byte, step, n int)

//go:noescape
func addAverageAVX2(row, above, raw *byte, step, n int)

//go:noescape
func addPaethAVX2(row, above, raw *byte, step, n int)

// addBytesAVX2 adds n times 32 bytes.
//
//go:noescape
func addBytesAVX2(dst, a, b *byte, n int)

// adlerAVX2 sums up n times 32 bytes, at most adlerBytes. Four lanes each have a part of
// the sum of bytes, of the sum of what was before each 32 of them, and of the sum of bytes
// by their distance from the end of the 32.
//
//go:noescape
func adlerAVX2(sums *uint64, p *byte, n int)

// narrowAVX2 makes n times 16 values.
//
//go:noescape
func narrowAVX2(dst, src *byte, n int)

// shuffleAVX2 reads and writes n times 16 bytes, each time so many further.
//
//go:noescape
func shuffleAVX2(dst, src, order *byte, to, from, n int)

// lead returns how many pixels of a row of n bytes have 8 bytes from their beginning on.
func lead(n, step int) int {
	if !useAVX2 || n < 8 {
		return 0
	}
	return (n-8)/step + 1
}

func addLeft(row, raw []byte, step int) {
	n := lead(len(raw), step)
	if n > 0 {
		_ = row[step+len(raw)-1]
		addLeftAVX2(&row[0], &raw[0], step, n)
	}
	addLeftGeneric(row[n*step:], raw[n*step:], step)
}

func addAverage(row, above, raw []byte, step int) {
	n := lead(len(raw), step)
	if n > 0 {
		_, _ = row[step+len(raw)-1], above[step+len(raw)-1]
		addAverageAVX2(&row[0], &above[0], &raw[0], step, n)
	}
	addAverageGeneric(row[n*step:], above[n*step:], raw[n*step:], step)
}

func addPaeth(row, above, raw []byte, step int) {
	n := lead(len(raw), step)
	if n > 0 {
		_, _ = row[step+len(raw)-1], above[step+len(raw)-1]
		addPaethAVX2(&row[0], &above[0], &raw[0], step, n)
	}
	addPaethGeneric(row[n*step:], above[n*step:], raw[n*step:], step)
}

func addBytes(dst, a, b []byte) {
	n := len(dst) / 32
	if useAVX2 && n > 0 {
		_, _ = a[len(dst)-1], b[len(dst)-1]
		addBytesAVX2(&dst[0], &a[0], &b[0], n)
		dst, a, b = dst[32*n:], a[32*n:], b[32*n:]
	}
	addBytesGeneric(dst, a, b)
}

// adlerBytes is how many bytes adlerAVX2 can sum up.
const adlerBytes = 5536

func adler32(sum uint32, p []byte) uint32 {
	if !useAVX2 {
		return adler32Generic(sum, p)
	}
	a, b := uint64(sum&0xffff), uint64(sum>>16)
	var sums [12]uint64
	for len(p) >= 32 {
		n := min(len(p), adlerBytes) / 32
		adlerAVX2(&sums[0], &p[0], n)
		b += uint64(32*n) * a
		for i := range 4 {
			a += sums[i]
			b += 32*sums[4+i] + sums[8+i]
		}
		a, b, p = a%adlerMod, b%adlerMod, p[32*n:]
	}
	return adler32Generic(uint32(b<<16|a), p)
}

func narrow(dst, src []byte) {
	n := len(dst) / 16
	if useAVX2 && n > 0 {
		_ = src[2*len(dst)-1]
		narrowAVX2(&dst[0], &src[0], n)
		dst, src = dst[16*n:], src[32*n:]
	}
	narrowGeneric(dst, src)
}

// shuffle makes pixels whose bytes are some of the file's.
func (c *colors) shuffle(dst, px []byte) {
	to, from := 3*c.group, c.step*c.group
	if useAVX2 && len(dst) >= 16 && len(px) >= 16 {
		n := min((len(dst)-16)/to, (len(px)-16)/from) + 1
		shuffleAVX2(&dst[0], &px[0], &c.order[0], to, from, n)
		dst, px = dst[n*to:], px[n*from:]
	}
	c.shuffleGeneric(dst, px)
}

// expandAVX2 is kernelGeneric, with tables as the first elements of which are given, from
// place to of the window up to a limit. It returns the place behind what it made.
//
//go:noescape
func expandAVX2(r *reader, lit, dist *uint32, window *byte, to, limit int) (end, why int)

func (f *inflater) kernel() (why int) {
	if !useAVX2 {
		return f.kernelGeneric()
	}
	f.to, why = expandAVX2(&f.reader, &f.codes.lit[0], &f.codes.dist[0], &f.window[0], f.to, windowBytes-slackBytes)
	return why
}
