package imaging

import (
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// WarpSpec says where the pixels of a warped picture come from.
type WarpSpec struct {
	// M maps a point x, y of the result to a point of the source: x·M[0] + y·M[1] + M[2], x·M[3] + y·M[4] + M[5].
	// The first pixel reaches from 0, 0 to 1, 1.
	M [6]float64

	Nearest  bool // take the pixel that the point lies in, instead of the mean of the four around it
	Constant bool // beyond the source lies Fill, instead of the border's pixels
	Fill     float32
}

// Inverse returns the inverse of a transform; false where there is none.
func Inverse(m [6]float64) ([6]float64, bool) {
	det := float64(m[0]*m[4]) - float64(m[1]*m[3])
	a, b, c, d := m[4]/det, -m[1]/det, -m[3]/det, m[0]/det
	inv := [6]float64{a, b, -(float64(a*m[2]) + float64(b*m[5])), c, d, -(float64(c*m[2]) + float64(d*m[5]))}
	for _, x := range inv {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return inv, false
		}
	}
	return inv, true
}

// Places in the source are fixed-point numbers with placeBits after the point: integers add up without rounding
// errors, alike on every processor. Weights have weightBits.
const (
	placeBits  = 32
	weightBits = 15
	maxPlace   = 1 << 30
)

// A path goes over the source: the places of the pixel in the corner, and the steps to the next column and row.
type path struct{ x, y, dx, dy, ex, ey int64 }

// path returns the places of a result of h×w pixels, whose centres are mapped.
func (s *WarpSpec) path(h, w int) (path, error) {
	at := func(x, y float64) (float64, float64) {
		return float64(x*s.M[0]) + float64(y*s.M[1]) + s.M[2], float64(x*s.M[3]) + float64(y*s.M[4]) + s.M[5]
	}
	for i := range 4 {
		x, y := at(float64(i&1*w), float64(i>>1*h))
		if !(math.Abs(x) < maxPlace && math.Abs(y) < maxPlace) {
			return path{}, badArgument("warp", "the transform maps the result's corner to %g, %g, too far from the source", x, y)
		}
	}
	fixed := func(v float64) int64 { return int64(math.RoundToEven(v * (1 << placeBits))) }
	x, y := at(0.5, 0.5)
	return path{fixed(x), fixed(y), fixed(s.M[0]), fixed(s.M[3]), fixed(s.M[1]), fixed(s.M[4])}, nil
}

// A Warper warps pictures. It keeps memory from call to call.
type Warper struct {
	floats []float32 // the source
	row    []float32 // of the result
	fill   []byte    // a pixel
	one    [1]float32
	few    [8]byte

	picture Image // the source as float32
}

// Apply writes a picture of h×w pixels, elements of type to, of the source's pixels and channels.
func (k *Warper) Apply(dst []byte, to datum.DType, h, w int, src *Image, s *WarpSpec) error {
	if err := src.check("warp"); err != nil {
		return err
	}
	if h < 1 || w < 1 || len(dst) != h*w*src.C*to.Size() || src.Type == datum.Float16 || src.Stride != 0 {
		return badArgument("warp", "%d bytes for %d×%d×%d elements of %v from %v", len(dst), h, w, src.C, to, src.Type)
	}
	at, err := s.path(h, w)
	if err != nil {
		return err
	}
	k.one[0] = s.Fill // first as the result holds it, then as the source does
	convert(k.few[:to.Size()], to, datum.BytesOf(k.one[:]), datum.Float32)
	convert(datum.BytesOf(k.one[:]), datum.Float32, k.few[:to.Size()], to)
	fill := k.one[0]
	k.fillWith(fill, src)
	switch {
	case s.Nearest && to == src.Type:
		for y := range h {
			k.nearest(dst[y*w*src.C*to.Size():][:w*src.C*to.Size()], src, s, y)
		}
	case !s.Nearest && to == datum.Uint8 && src.Type == datum.Uint8:
		for y := range h {
			k.linearBytes(dst[y*w*src.C:][:w*src.C], src, at.row(y), s.Constant)
		}
	default:
		k.wide(dst, to, h, w, src, s, at, fill)
	}
	return nil
}

// Reserved returns the bytes that are kept.
func (k *Warper) Reserved() int64 { return 4 * int64(cap(k.floats)+cap(k.row)) }

// Growth returns the bytes that Apply would add for a picture.
func (k *Warper) Growth(to datum.DType, w int, src *Image, nearest bool) int64 {
	if to == src.Type && (nearest || to == datum.Uint8) {
		return 0
	}
	if src.Type == datum.Float32 {
		return growth(cap(k.row), w*src.C)
	}
	return growth(cap(k.floats), src.H*src.W*src.C) + growth(cap(k.row), w*src.C)
}

// growth returns the bytes of float32 that grow adds to a buffer of so many that is to hold n.
func growth(have, n int) int64 {
	if have >= n {
		return 0
	}
	return 4 * int64(n+n/4)
}

// Release gives the memory up.
func (k *Warper) Release() { k.floats, k.row, k.picture = nil, nil, Image{} }

func (k path) row(y int) path {
	k.x += k.ex * int64(y)
	k.y += k.ey * int64(y)
	return k
}

// run is how many pixels of a row are stepped over before their place is computed anew.
const run = 256

// nearest writes row y of a result, of pixels as they are in the source. Places are float32, and step by step, as in
// DALI: where they fall on the line between two pixels, its rounding decides.
func (k *Warper) nearest(dst []byte, src *Image, s *WarpSpec, y int) {
	var m [6]float32
	for i, v := range s.M {
		m[i] = float32(v)
	}
	var px, py float32
	n, cy := src.C*src.Type.Size(), float32(y)+0.5
	for x := 0; len(dst) >= n; x, dst = x+1, dst[n:] {
		if x%run == 0 {
			cx := float32(x) + 0.5
			px = float32(m[0]*cx) + m[2] + float32(m[1]*cy)
			py = float32(m[3]*cx) + m[5] + float32(m[4]*cy)
		}
		k.pick(dst[:n], src, px, py, s.Constant)
		px, py = px+m[0], py+m[3]
	}
}

// pick copies the pixel at a place.
func (k *Warper) pick(dst []byte, src *Image, px, py float32, constant bool) {
	x, y := floor(px), floor(py)
	if uint(x) >= uint(src.W) || uint(y) >= uint(src.H) {
		if constant {
			copy(dst, k.fill)
			return
		}
		x, y = max(0, min(x, src.W-1)), max(0, min(y, src.H-1))
	}
	copy(dst, src.Pix[(y*src.W+x)*len(dst):])
}

// floor returns the largest integer that is not above x.
func floor(x float32) int {
	n := int(x)
	if float32(n) > x {
		n--
	}
	return n
}

// corners returns the four pixels around a place whose first is x, y.
func (k *Warper) corners(src *Image, x, y, n int, constant bool) (p [4][]byte) {
	for i := range p {
		px, py := x+i&1, y+i>>1
		if uint(px) >= uint(src.W) || uint(py) >= uint(src.H) {
			if constant {
				p[i] = k.fill
				continue
			}
			px, py = max(0, min(px, src.W-1)), max(0, min(py, src.H-1))
		}
		p[i] = src.Pix[(py*src.W+px)*n:][:n]
	}
	return p
}

// linearBytes writes a row of means of four pixels, in integers.
func (k *Warper) linearBytes(dst []byte, src *Image, at path, constant bool) {
	const half, one = int64(1) << (placeBits - 1), 1 << weightBits
	c, stride := src.C, src.W*src.C
	for ; len(dst) >= c; dst = dst[c:] {
		fx, fy := at.x-half, at.y-half
		at.x, at.y = at.x+at.dx, at.y+at.dy
		x, y := int(fx>>placeBits), int(fy>>placeBits)
		qx, qy := fx>>(placeBits-weightBits)&(one-1), fy>>(placeBits-weightBits)&(one-1)
		px, py := one-qx, one-qy
		w := [4]int64{px * py, qx * py, px * qy, qx * qy}
		if uint(x) < uint(src.W-1) && uint(y) < uint(src.H-1) {
			i := y*stride + x*c
			near, far := src.Pix[i:][:2*c], src.Pix[i+stride:][:2*c]
			if c == 3 {
				near, far, dst := near[:6], far[:6], dst[:3]
				dst[0] = mean4(near[0], near[3], far[0], far[3], &w)
				dst[1] = mean4(near[1], near[4], far[1], far[4], &w)
				dst[2] = mean4(near[2], near[5], far[2], far[5], &w)
				continue
			}
			for j := range c {
				dst[j] = mean4(near[j], near[c+j], far[j], far[c+j], &w)
			}
			continue
		}
		p := k.corners(src, x, y, c, constant)
		for j := range c {
			dst[j] = mean4(p[0][j], p[1][j], p[2][j], p[3][j], &w)
		}
	}
}

// mean4 returns the mean of four levels with weights whose sum is 1.
func mean4(a, b, c, d byte, w *[4]int64) byte {
	return byte((int64(a)*w[0] + int64(b)*w[1] + int64(c)*w[2] + int64(d)*w[3] + 1<<(2*weightBits-1)) >> (2 * weightBits))
}

// fillWith makes fill a pixel of x.
func (k *Warper) fillWith(x float32, src *Image) {
	n := src.Type.Size()
	k.fill = grow(k.fill, src.C*n)
	k.one[0] = x
	for c := range src.C {
		convert(k.fill[c*n:][:n], src.Type, datum.BytesOf(k.one[:]), datum.Float32)
	}
}

// widened returns the source, and the fill, as float32.
func (k *Warper) widened(src *Image) *Image {
	k.picture = Image{Pix: src.Pix, Type: datum.Float32, H: src.H, W: src.W, C: src.C}
	if src.Type == datum.Float32 {
		return &k.picture
	}
	k.floats = grow(k.floats, src.H*src.W*src.C)
	convert(datum.BytesOf(k.floats), datum.Float32, src.Pix[:len(k.floats)*src.Type.Size()], src.Type)
	k.picture.Pix = datum.BytesOf(k.floats)
	convert(datum.BytesOf(k.one[:]), datum.Float32, k.fill[:src.Type.Size()], src.Type)
	k.fillWith(k.one[0], &k.picture)
	return &k.picture
}

// wide works on float32.
func (k *Warper) wide(dst []byte, to datum.DType, h, w int, src *Image, s *WarpSpec, at path, fill float32) {
	src = k.widened(src)
	if s.Nearest {
		k.fillWith(fill, src) // it is mixed with nothing
	}
	k.row = grow(k.row, w*src.C)
	n := len(k.row) * to.Size()
	for y := range h {
		if s.Nearest {
			k.nearest(datum.BytesOf(k.row), src, s, y)
		} else {
			k.linearFloats(k.row, src, at.row(y), s.Constant)
		}
		convert(dst[y*n:][:n], to, datum.BytesOf(k.row), datum.Float32)
	}
}

func (k *Warper) linearFloats(dst []float32, src *Image, at path, constant bool) {
	const half, unit = int64(1) << (placeBits - 1), 1. / (1 << placeBits)
	c := src.C
	for ; len(dst) >= c; dst = dst[c:] {
		fx, fy := at.x-half, at.y-half
		at.x, at.y = at.x+at.dx, at.y+at.dy
		qx, qy := float32(float64(fx&(1<<placeBits-1))*unit), float32(float64(fy&(1<<placeBits-1))*unit)
		px, py := 1-qx, 1-qy
		p := k.corners(src, int(fx>>placeBits), int(fy>>placeBits), 4*c, constant)
		a, b, d, e := datum.View[float32](p[0]), datum.View[float32](p[1]), datum.View[float32](p[2]), datum.View[float32](p[3])
		for j := range c {
			top := float32(a[j]*px) + float32(b[j]*qx)
			low := float32(d[j]*px) + float32(e[j]*qx)
			dst[j] = float32(top*py) + float32(low*qy)
		}
	}
}

// RotatedSize returns the size of a picture that holds one of h×w pixels rotated by an angle. Where the picture's axes
// stay nearer to themselves than to each other, odd extents stay odd and even ones even, so that middles fall on the
// same place of a pixel.
func RotatedSize(h, w int, sin, cos float64) (dh, dw int) {
	const eps = 1e-2 // of a pixel, that need not be seen
	sin, cos = math.Abs(sin), math.Abs(cos)
	dw = int(math.Ceil(float64(cos*float64(w)) + float64(sin*float64(h)) - eps))
	dh = int(math.Ceil(float64(cos*float64(h)) + float64(sin*float64(w)) - eps))
	if sin > cos {
		h, w = w, h
	}
	return dh + (dh^h)&1, dw + (dw^w)&1
}

// Rotation returns the transform for WarpSpec that rotates a picture of h×w pixels around its middle, which becomes
// that of a result of dh×dw pixels; counter-clockwise for positive angles.
func Rotation(h, w, dh, dw int, sin, cos float64) [6]float64 {
	s, c := float32(sin), float32(cos) // float32, as for the places
	cx, cy := -float32(dw)/2, -float32(dh)/2
	x := float32(c*cx) + float32(-s*cy) + float32(w)/2
	y := float32(s*cx) + float32(c*cy) + float32(h)/2
	return [6]float64{float64(c), -float64(s), float64(x), float64(s), float64(c), float64(y)}
}
