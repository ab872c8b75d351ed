package imaging

import (
	"github.com/planktonml/plankton/pipeline/datum"
)

// CMNSpec holds the arguments of [CropMirrorNormalizer.Apply]: what is cut out of a picture and how its values become
// (value - Mean)/Std · Scale + Shift.
type CMNSpec struct {
	Y, X, H, W int       // the region that is cut out; it may reach beyond the picture
	Fill       []float32 // value of what lies outside and of added channels, in the units of the output: one, or one per channel; empty is 0
	Mirror     bool      // reverse the columns
	Mean, Std  []float32 // one, or one per channel; empty is 0 and 1
	Scale      float32
	Shift      float32
	SrcCHW     bool // the planes of the source follow each other; otherwise pixel by pixel (HWC)
	DstCHW     bool

	// DstC is the number of channels of the output, at least those of the picture.
	DstC int
}

func (s *CMNSpec) check(dst []byte, to datum.DType, src *Image) error {
	const op = "crop_mirror_normalize"
	if err := src.check(op); err != nil {
		return err
	}
	if src.Stride != 0 && s.SrcCHW {
		return badArgument(op, "rows %d bytes apart, planes must be dense", src.Stride)
	}
	if to.Size() == 0 || s.H < 1 || s.W < 1 || s.DstC < src.C || len(dst) != s.H*s.W*s.DstC*to.Size() {
		return badArgument(op, "%d bytes of %v for an output of %d×%d×%d from %d channels", len(dst), to, s.H, s.W, s.DstC, src.C)
	}
	for _, v := range [][]float32{s.Mean, s.Std, s.Fill} {
		if len(v) > 1 && len(v) != src.C {
			return badArgument(op, "%d values for %d channels, one or one per channel are wanted", len(v), src.C)
		}
	}
	if len(s.Fill) > 1 && s.DstC > src.C {
		return badArgument(op, "%d values to fill with for %d channels of which %d are added, one is wanted", len(s.Fill), s.DstC, s.DstC-src.C)
	}
	return nil
}

// affine returns what turns values of channel c into value·scale + bias.
func (s *CMNSpec) affine(c int) (scale, bias float32) {
	scale = s.Scale / pick(s.Std, c, 1)
	return scale, s.Shift - float32(pick(s.Mean, c, 0)*scale)
}

// inOnePiece reports whether rows of grey bytes become rows of float32 as they
// follow each other.
func (s *CMNSpec) inOnePiece(to datum.DType, src *Image) bool {
	return to == datum.Float32 && src.Type == datum.Uint8 && src.C == 1 && s.DstC == 1 && !s.Mirror &&
		src.stride() == s.W && src.W == s.W && s.X == 0 && s.Y >= 0 && s.Y+s.H <= src.H
}

// pick returns the value for channel c of a list that holds one for all, one each, or none.
func pick(v []float32, c int, none float32) float32 {
	switch len(v) {
	case 0:
		return none
	case 1:
		return v[0]
	}
	return v[c]
}

// CropMirrorNormalizer crops, mirrors and normalises pictures in one pass. It holds rows between calls; each goroutine
// needs its own. The zero value is ready.
type CropMirrorNormalizer struct {
	// Color maps the colours first, for bytes of three channels, pixel by pixel; nil leaves them as they are.
	Color *ColorMatrix

	bytes  []byte // a source row of bytes, a plane per channel
	mapped []byte // a source row of bytes whose colours were mapped
	twist  byteTwist
	pixels []float32 // a row with its channels interleaved
	floats []float32 // a source row of other types, a plane per channel
	out    []float32 // an output row, a plane per channel
	norms  norms
}

// Apply writes the region of src that s describes to dst, a dense array of s.H×s.W×s.DstC elements of type to, in the
// order that s asks for; dst and src must not overlap. Values saturate where to is an integer type. With s.SrcCHW, the
// bytes of src are C dense planes of H×W elements.
func (n *CropMirrorNormalizer) Apply(dst []byte, to datum.DType, src *Image, s *CMNSpec) error {
	if err := s.check(dst, to, src); err != nil {
		return err
	}
	if n.Color != nil {
		if src.Type != datum.Uint8 || src.C != 3 || s.SrcCHW {
			return badArgument("crop_mirror_normalize", "a matrix of colours for %d channels of %v; pixels of 3 channels of uint8 are wanted", src.C, src.Type)
		}
		n.twist.set(n.Color)
	}
	if s.inOnePiece(to, src) {
		scale, bias := s.affine(0)
		affineBytes(datum.View[float32](dst), src.Pix[s.Y*s.W:][:s.H*s.W], scale, bias)
		return nil
	}
	if to == datum.Float32 && s.DstCHW && src.Type == datum.Uint8 && src.C == 3 && !s.SrcCHW {
		n.toPlanes(datum.View[float32](dst), src, s)
		return nil
	}
	left, right := covered(s.X, s.W, src.W)
	direct := to == datum.Float32 && s.DstCHW
	n.out = grow(n.out, s.DstC*s.W)
	for y := range s.H {
		sy := s.Y + y
		inside := sy >= 0 && sy < src.H && left < right
		if inside {
			n.load(src, s.SrcCHW, sy, s.X+left, right-left)
		}
		for c := range s.DstC {
			row := n.out[c*s.W:][:s.W]
			if direct {
				row = datum.View[float32](dst)[(c*s.H+y)*s.W:][:s.W]
			}
			switch {
			case c >= src.C || !inside:
				fill(row, pick(s.Fill, c, 0))
			default:
				fill(row[:left], pick(s.Fill, c, 0))
				fill(row[right:], pick(s.Fill, c, 0))
				n.normalize(row[left:right], src.Type, c, s)
			}
			if s.Mirror {
				reverse(row)
			}
		}
		if !direct {
			n.store(dst, to, s, y)
		}
	}
	return nil
}

// covered returns which of n columns or rows of the output, before it is mirrored, a picture of size covers. The output
// begins at column or row at of the picture.
func covered(at, n, size int) (first, end int) {
	first = min(max(-at, 0), n)
	return first, max(min(size-at, n), first)
}

// pixelsAtOnce bounds the pixels that a call of assembly takes, which the scheduler cannot interrupt.
const pixelsAtOnce = 1 << 18

// toPlanes is Apply for pixels of three bytes that become planes of float32, in one pass.
func (n *CropMirrorNormalizer) toPlanes(dst []float32, src *Image, s *CMNSpec) {
	left, right := covered(s.X, s.W, src.W)
	top, bottom := covered(s.Y, s.H, src.H)
	from, to := left, right
	if s.Mirror {
		from, to = s.W-right, s.W-left
	}
	size := s.H * s.W
	for c := range s.DstC {
		v := pick(s.Fill, c, 0)
		if c >= 3 {
			fill(dst[c*size:][:size], v)
			continue
		}
		fillAround(dst[c*size:][:size], s.W, top, bottom, from, to, v)
		scale, bias := s.affine(c)
		n.norms.setChannel(c, scale, bias)
	}
	if top == bottom || left == right {
		return
	}
	p := strip{w: right - left, stride: src.stride(), pitch: s.W, mirror: s.Mirror}
	rows := 1
	if n.Color == nil {
		rows = max(pixelsAtOnce/p.w, 1)
	}
	large := 4*len(dst) >= streamBytes
	for y := top; y < bottom; y += rows {
		p.h = min(rows, bottom-y)
		var rgb [3][]float32
		for c := range rgb {
			rgb[c] = dst[c*size+y*s.W+from:]
		}
		pixels := src.Pix[(s.Y+y)*p.stride+3*(s.X+left):][:(p.h-1)*p.stride+3*p.w]
		part := p.joined()
		part.stream = large && part.canStream(rgb)
		normalize3(rgb, n.colours(pixels), &part, &n.norms)
	}
	if large {
		fence()
	}
}

// fillAround writes v to what lies outside of a part of a plane with w columns.
func fillAround(plane []float32, w, top, bottom, from, to int, v float32) {
	fill(plane[:top*w], v)
	fill(plane[bottom*w:], v)
	if to-from == w {
		return
	}
	for y := top; y < bottom; y++ {
		fill(plane[y*w:][:from], v)
		fill(plane[y*w:][to:w], v)
	}
}

// load takes w pixels of row y of src, from column x on, apart into planes: of bytes where they are bytes,
// otherwise of float32.
func (n *CropMirrorNormalizer) load(src *Image, planar bool, y, x, w int) {
	size := src.Type.Size()
	if src.Type == datum.Uint8 {
		n.bytes = grow(n.bytes, src.C*w)
	} else {
		n.floats = grow(n.floats, src.C*w)
	}
	if planar {
		for c := range src.C {
			row := src.Pix[((c*src.H+y)*src.W+x)*size:][:w*size]
			if src.Type == datum.Uint8 {
				copy(n.bytes[c*w:], row)
			} else {
				convert(datum.BytesOf(n.floats[c*w:][:w]), datum.Float32, row, src.Type)
			}
		}
		return
	}
	row := src.row(y)[x*src.C*size:][:w*src.C*size]
	if src.Type == datum.Uint8 {
		splitBytes(n.bytes, w, n.colours(row), src.C)
		return
	}
	n.pixels = grow(n.pixels, w*src.C)
	convert(datum.BytesOf(n.pixels), datum.Float32, row, src.Type)
	for i, v := range n.pixels {
		n.floats[i%src.C*w+i/src.C] = v
	}
}

// colours returns pixels of a row as Color maps them.
func (n *CropMirrorNormalizer) colours(row []byte) []byte {
	if n.Color == nil {
		return row
	}
	n.mapped = grow(n.mapped, len(row))
	twistBytes(n.mapped, row, &n.twist)
	return n.mapped
}

// normalize writes channel c of the row at hand.
func (n *CropMirrorNormalizer) normalize(row []float32, from datum.DType, c int, s *CMNSpec) {
	scale, bias := s.affine(c)
	if from == datum.Uint8 {
		affineBytes(row, n.bytes[c*len(row):][:len(row)], scale, bias)
	} else {
		affine(row, n.floats[c*len(row):][:len(row)], scale, bias)
	}
}

// store converts the output row at hand and writes it as row y of dst.
func (n *CropMirrorNormalizer) store(dst []byte, to datum.DType, s *CMNSpec, y int) {
	size := to.Size()
	if s.DstCHW {
		for c := range s.DstC {
			castFrom(dst[(c*s.H+y)*s.W*size:][:s.W*size], to, n.out[c*s.W:][:s.W])
		}
		return
	}
	row := dst[y*s.W*s.DstC*size:][:s.W*s.DstC*size]
	if to == datum.Float32 {
		interleave(datum.View[float32](row), n.out, s.W, s.W, s.DstC)
		return
	}
	n.pixels = grow(n.pixels, s.W*s.DstC)
	interleave(n.pixels, n.out, s.W, s.W, s.DstC)
	castFrom(row, to, n.pixels)
}

// splitBytes takes pixels of c bytes apart into planes that begin pitch bytes apart.
func splitBytes(planes []byte, pitch int, pixels []byte, c int) {
	w := len(pixels) / c
	switch c {
	case 1:
		copy(planes, pixels)
	case 3:
		split3(planes[:w], planes[pitch:][:w], planes[2*pitch:][:w], pixels)
	default:
		for i, v := range pixels {
			planes[i%c*pitch+i/c] = v
		}
	}
}

func fill(row []float32, v float32) {
	for i := range row {
		row[i] = v
	}
}
