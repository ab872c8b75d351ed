package imaging

import "github.com/planktonml/plankton/pipeline/datum"

// Resampler resizes pictures. It holds tables and rows between calls, so that a call allocates nothing once the
// sizes have been seen; each goroutine needs its own. The zero value is ready.
//
// Every source row is resampled horizontally once, into a ring that holds as many rows as the vertical filter spans;
// every output row is a weighted sum of the ring. Intermediate values are float32.
type Resampler struct {
	y, x     taps // all channels of interleaved pictures; luma of planar ones
	cy, cx   taps // chroma
	bands    []band
	out      []float32 // the output row at hand, band by band
	norms    norms
	twist    byteTwist
	levels   []float32 // the output row at hand behind the twist, a plane per channel
	twisting bool      // colours are mapped on the way
	stream   bool      // the output at hand is written past the caches
	planes   []byte    // one source row, a plane per channel
	floats   []float32 // one source row of other types than bytes
	line     []byte    // one output row in bytes, a plane per channel
}

// band is one channel on its way through the resampler.
type band struct {
	y, x    *taps
	pitch   int       // values from one row of the ring to the next, a multiple of 8
	ring    []float32 // y.n resampled rows: source row r is in slot r mod y.n
	weights []float32 // of the output row at hand, in the order of the slots
	next    int       // the source row after those in the ring
	out     []float32 // the output row at hand, pitch values
}

// start prepares the band for the first row of a picture.
func (b *band) start(y, x *taps, out []float32) {
	b.y, b.x, b.out = y, x, out
	b.pitch = len(out)
	b.ring = grow(b.ring, y.n*b.pitch)
	b.weights = grow(b.weights, y.n)
	b.next = 0
}

// missing returns the source rows, from one up to another, that output row i needs and the ring does not hold yet.
func (b *band) missing(i int) (from, to int) {
	first := int(b.y.first[i])
	return max(first, b.next), first + b.y.n
}

// slot returns the place in the ring for source row r, which is then the last one that the ring holds.
func (b *band) slot(r int) []float32 {
	b.next = r + 1
	return b.ring[r%b.y.n*b.pitch:][:b.pitch]
}

// weigh brings the weights of output row i into the order of the slots.
func (b *band) weigh(i int) {
	n := b.y.n
	slot := int(b.y.first[i]) % n
	for _, w := range b.y.weight[i*n : (i+1)*n] {
		b.weights[slot] = w
		if slot++; slot == n {
			slot = 0
		}
	}
}

// combine makes the output row at hand of the rows in the ring.
func (b *band) combine() { vertical(b.out, b.ring, b.pitch, b.weights) }

// prepare makes room for a picture of c channels, all with the same axes, and builds their weights.
func (r *Resampler) prepare(p Plan, c int) {
	r.y.buildVertical(p.Y)
	r.x.buildHorizontal(p.X)
	r.useBands(c)
	pitch := (p.X.Out + 7) &^ 7
	r.out = grow(r.out, c*pitch)
	for i := range r.bands {
		r.bands[i].start(&r.y, &r.x, r.out[i*pitch:(i+1)*pitch])
	}
}

// useBands sets the number of bands and keeps the memory of those there were.
func (r *Resampler) useBands(n int) {
	for cap(r.bands) < n {
		r.bands = append(r.bands[:cap(r.bands)], band{})
	}
	r.bands = r.bands[:n]
}

// inSourceOrder returns the i-th output of an axis in the order in which the source is read: backwards where the axis
// is mirrored.
func inSourceOrder(a *Axis, i int) int {
	if a.Lo > a.Hi {
		return a.Out - 1 - i
	}
	return i
}

// Resize resamples src as p says into dst, a dense array of p.Y.Out × p.X.Out × src.C elements of type to, which
// must hold exactly that many and not overlap src. Values outside the range of an integer type saturate.
func (r *Resampler) Resize(dst []byte, to datum.DType, src *Image, p Plan) error {
	if err := checkResize(src, &p); err != nil {
		return err
	}
	rowBytes := p.X.Out * src.C * to.Size()
	if to.Size() == 0 || len(dst) != p.Y.Out*rowBytes {
		return badArgument("resize", "%d bytes for the output, %d×%d×%d elements of %v are wanted", len(dst), p.Y.Out, p.X.Out, src.C, to)
	}
	r.prepare(p, src.C)
	r.twisting = false
	r.floats = grow(r.floats, max(src.W, p.X.Out)*src.C)
	for i := range p.Y.Out {
		y := inSourceOrder(&p.Y, i)
		r.load(src, y)
		for c := range r.bands {
			r.bands[c].combine()
		}
		row := dst[y*rowBytes:][:rowBytes]
		switch to {
		case datum.Uint8:
			r.storeBytes(row, p.X.Out, src.C)
		case datum.Float32:
			interleave(datum.View[float32](row), r.out, p.X.Out, r.bands[0].pitch, src.C)
		default:
			line := r.floats[:p.X.Out*src.C]
			interleave(line, r.out, p.X.Out, r.bands[0].pitch, src.C)
			castFrom(row, to, line)
		}
	}
	return nil
}

func checkResize(src *Image, p *Plan) error {
	if err := src.check("resize"); err != nil {
		return err
	}
	if err := p.Y.check(src.H); err != nil {
		return err
	}
	return p.X.check(src.W)
}

// load brings the rings and weights of all bands to what output row i needs.
func (r *Resampler) load(src *Image, i int) {
	from, to := r.bands[0].missing(i)
	for y := from; y < to; y++ {
		if src.Type == datum.Uint8 {
			r.loadBytes(src, y)
		} else {
			r.loadOther(src, y)
		}
	}
	for c := range r.bands {
		r.bands[c].weigh(i)
	}
}

// loadBytes resamples row y of a picture of bytes horizontally.
func (r *Resampler) loadBytes(src *Image, y int) {
	row := src.row(y)
	if src.C == 1 {
		horizontal(r.bands[0].slot(y), row, &r.x)
		return
	}
	w, a := src.W, &r.x.axis
	r.planes = grow(r.planes, w*src.C)
	splitBytes(r.planes[a.Start:], w, row[a.Start*src.C:a.End*src.C], src.C)
	for c := range r.bands {
		horizontal(r.bands[c].slot(y), r.planes[c*w:][:w], &r.x)
	}
}

// loadOther resamples row y of a picture of any type horizontally.
func (r *Resampler) loadOther(src *Image, y int) {
	n, c := r.x.n, src.C
	row := r.floats[:src.W*c]
	convert(datum.BytesOf(row), datum.Float32, src.row(y), src.Type)
	for ch := range r.bands {
		slot := r.bands[ch].slot(y)
		for i, first := range r.x.first {
			sum := float32(0)
			at := int(first)*c + ch
			for _, w := range r.x.weight[i*n : (i+1)*n] {
				sum += float32(w * row[at])
				at += c
			}
			slot[i] = sum
		}
	}
}

// channel returns the output row at hand of channel c; a single band serves all channels.
func (r *Resampler) channel(c int) []float32 {
	if r.twisting {
		n := len(r.levels) / 3
		return r.levels[c*n:][:n]
	}
	return r.bands[min(c, len(r.bands)-1)].out
}

// storeBytes writes the output row at hand as w pixels of c interleaved bytes.
func (r *Resampler) storeBytes(dst []byte, w, c int) {
	if c == 1 {
		toBytes(dst, r.bands[0].out)
		return
	}
	r.line = grow(r.line, c*w)
	for i := range c {
		toBytes(r.line[i*w:][:w], r.channel(i))
	}
	if c == 3 {
		join3(dst, r.line[:w], r.line[w:2*w], r.line[2*w:])
		return
	}
	for i := range c {
		for x, v := range r.line[i*w:][:w] {
			dst[x*c+i] = v
		}
	}
}

// interleave writes n rows of w values, pitch values apart, pixel by pixel.
func interleave(dst, rows []float32, w, pitch, n int) {
	if n == 3 {
		joinFloats(dst, rows[:w], rows[pitch:][:w], rows[2*pitch:][:w])
		return
	}
	for c := range n {
		for x, v := range rows[c*pitch:][:w] {
			dst[x*n+c] = v
		}
	}
}
