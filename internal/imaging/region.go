package imaging

import (
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// FillRegion sets the elements of an array of the given shape, of size bytes each, from start up to end in every
// dimension to fill: one element, or one per index of the dimension fillDim.
func FillRegion(dst []byte, size int, shape, start, end []int, fill []byte, fillDim int) error {
	d := len(shape)
	if d < 1 || d > MaxDims || len(start) != d || len(end) != d || len(dst) != elements(shape)*size || len(fill) == 0 {
		return badArgument("erase", "%d bytes, region %v to %v of shape %v", len(dst), start, end, shape)
	}
	if n := len(fill) / size; n > 1 && (fillDim < 0 || fillDim >= d || n != shape[fillDim]) {
		return badArgument("erase", "%d fill values, one or one per channel are wanted", n)
	}
	f := filler{dst: dst, size: size, shape: shape, start: start, end: end, fill: fill, fillDim: fillDim}
	f.dim(0, 0, 0)
	return nil
}

type filler struct {
	dst               []byte
	size              int
	shape, start, end []int
	fill              []byte
	fillDim           int
}

// dim fills dimension i of the part at an offset, in elements; value is the place of its fill value.
func (f *filler) dim(i, offset, value int) {
	if i == len(f.shape) {
		copy(f.dst[offset*f.size:][:f.size], f.fill[value*f.size:])
		return
	}
	first, last := max(0, f.start[i]), min(f.end[i], f.shape[i])
	offset *= f.shape[i]
	differ := i == f.fillDim && len(f.fill) > f.size
	dense := !differ
	for j := i + 1; j < len(f.shape); j++ {
		dense = dense && f.start[j] <= 0 && f.end[j] >= f.shape[j]
	}
	if dense && first < last { // one element of this dimension, again and again
		f.dim(i+1, offset+first, value)
		n := elements(f.shape[i+1:]) * f.size
		repeat(f.dst[(offset+first)*n:][:(last-first)*n], n)
		return
	}
	for x := first; x < last; x++ {
		if differ {
			value = x
		}
		f.dim(i+1, offset+x, value)
	}
}

// Repeat fills dst with copies of an element.
func Repeat(dst, element []byte) {
	copy(dst, element)
	repeat(dst, len(element))
}

// repeat fills b with its first n bytes.
func repeat(b []byte, n int) {
	for ; n < len(b) && n > 0; n *= 2 {
		copy(b[n:], b[:n])
	}
}

// Paste copies a region of h×w pixels at sy, sx of a source to dy, dx of a picture of type to with rows of dw pixels.
func Paste(dst []byte, to datum.DType, dw, dy, dx int, src *Image, sy, sx, h, w int) error {
	if err := src.check("paste"); err != nil {
		return err
	}
	n, m := w*src.C*to.Size(), w*src.C*src.Type.Size()
	stride := dw * src.C * to.Size()
	if min(h, w, dy, dx, sy, sx) < 0 || sy+h > src.H || sx+w > src.W || dx+w > dw || stride == 0 || dy+h > len(dst)/stride {
		return badArgument("paste", "a region of %d×%d pixels at %d, %d of %d×%d to %d, %d of %d×%d", h, w, sy, sx, src.H, src.W, dy, dx, len(dst)/max(1, stride), dw)
	}
	for y := range h {
		convert(dst[(dy+y)*stride+dx*src.C*to.Size():][:n], to, src.row(sy + y)[sx*src.C*src.Type.Size():][:m], src.Type)
	}
	return nil
}

// Grid is a grid of squares, that reach over Ratio of tiles of so many pixels. It is rotated by Angle, in radians, and
// then shifted.
type Grid struct {
	Tile                         int
	Ratio, Angle, ShiftX, ShiftY float32
}

// GridMask copies a picture of h×w pixels, n bytes each, and clears the pixels whose corner lies in a square.
func GridMask(dst, src []byte, h, w, n int, g *Grid) error {
	if len(src) != h*w*n || len(dst) != len(src) || g.Tile < 1 {
		return badArgument("grid_mask", "%d and %d bytes for %d×%d pixels of %d bytes and tiles of %d", len(src), len(dst), h, w, n, g.Tile)
	}
	copy(dst, src)
	sin, cos := math.Sincos(float64(g.Angle))
	tile := float32(g.Tile)
	ca, sa := float32(cos)/tile, float32(sin)/tile
	sx, sy := g.ShiftX/tile, g.ShiftY/tile
	for y := range h {
		rx, ry := -float32(float32(y)*sa)-sx, float32(float32(y)*ca)-sy
		for x := range w {
			if inSquare(rx+float32(float32(x)*ca), g.Ratio) && inSquare(ry+float32(float32(x)*sa), g.Ratio) {
				clear(dst[(y*w+x)*n:][:n])
			}
		}
	}
	return nil
}

// inSquare reports whether the fraction of v is below ratio.
func inSquare(v, ratio float32) bool { return v-float32(math.Floor(float64(v))) < ratio }
