package ops

import (
	"bytes"
	"errors"
	"image"

	"github.com/planktonml/plankton/internal/entropyindex"
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/internal/png"
	"github.com/planktonml/plankton/pipeline/datum"
)

// picturefile is one encoded picture in the orientation in which it is shown, decoded
// region by region.
type picturefile struct {
	ample bool // there is no memory budget

	damaged DamagedPolicy

	index *entropyindex.Store // of the pictures that are opened, nil without one

	h, w int // upright

	data   []byte // of a JPEG file, nil for others
	header jpeg.Header
	jpeg   jpegEngine
	planes jpeg.Planes
	raw    []byte // a region before it is turned upright
	region []byte // a region for the operator that the decoder is fused with

	png       png.Decoder
	pngHeader png.Header
	other     otherFile   // a file that is neither JPEG nor PNG
	size      image.Point // of the stored picture
	turn      int         // its Exif orientation, 1 if it is left as it is
}

// jpegFormats are the decoder's names of the colour types.
var jpegFormats = [...]jpeg.Format{
	RGB: jpeg.FormatRGB, Gray: jpeg.FormatGray, BGR: jpeg.FormatBGR, YCbCr: jpeg.FormatYCbCr, Any: jpeg.FormatRGB,
}

// open reads the size of a picture. The data must stay as they are until the
// next call.
func (p *picturefile) open(s *datum.Sample, data []byte, o *DecodeOptions) error {
	p.data, p.turn, p.other.file = nil, 1, nil
	if err := s.Reserve(p.reserved()); err != nil {
		return err
	}
	switch {
	case len(data) == 0:
		return errors.New("the file is empty")
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		if o.Type == Indexed {
			return errors.New("a JPEG file has no palette, which Type Indexed wants: store masks as PNG")
		}
		p.jpeg.Limits.MaxPixels, p.jpeg.Context, p.damaged = o.MaxPixels, s.Context(), o.Damaged
		h, err := p.jpeg.Header(data)
		if err != nil {
			return err
		}
		p.data, p.header, p.size = data, h, image.Pt(h.Width, h.Height)
		if !o.IgnoreOrientation {
			p.turn = h.Orientation
		}
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		if err := p.openPNG(s, data, o); err != nil {
			return err
		}
	default:
		size, err := p.other.open(data, o)
		if err != nil {
			return err
		}
		p.size = size
	}
	p.h, p.w = p.size.Y, p.size.X
	if p.turn >= 5 {
		p.h, p.w = p.w, p.h
	}
	return nil
}

// grey reports whether the file has one channel.
func (p *picturefile) grey() bool {
	if p.data != nil {
		return p.header.Space == jpeg.Gray
	}
	if p.other.file != nil {
		return p.other.grey
	}
	return p.pngHeader.Color == png.Gray && !p.pngHeader.Transparent
}

// stored returns where the upright pixel x, y is in the stored picture.
func (p *picturefile) stored(x, y int) image.Point {
	right, bottom := p.size.X-1, p.size.Y-1
	switch p.turn {
	case 2:
		return image.Pt(right-x, y)
	case 3:
		return image.Pt(right-x, bottom-y)
	case 4:
		return image.Pt(x, bottom-y)
	case 5:
		return image.Pt(y, x)
	case 6:
		return image.Pt(y, bottom-x)
	case 7:
		return image.Pt(right-y, bottom-x)
	case 8:
		return image.Pt(right-y, x)
	}
	return image.Pt(x, y)
}

// channels returns the channels of a pixel of type t.
func (p *picturefile) channels(t ColorType) int {
	if t == Gray || t == Indexed || t == Any && p.grey() {
		return 1
	}
	return 3
}

// pixels writes a region, dense and upright.
func (p *picturefile) pixels(s *datum.Sample, dst []byte, r image.Rectangle, t ColorType) error {
	c := p.channels(t)
	if t == Any && c == 1 {
		t = Gray
	}
	if p.turn == 1 {
		return p.decode(s, dst, r.Dx()*c, r, t)
	}
	a, from := p.stored(r.Min.X, r.Min.Y), p.from(r)
	stride := from.Dx() * c
	raw, err := p.room(s, &p.raw, stride*from.Dy(), c)
	if err != nil {
		return err
	}
	if err := p.decode(s, raw, stride, from, t); err != nil {
		return err
	}
	at := func(q image.Point) int { return (q.Y-from.Min.Y)*stride + (q.X-from.Min.X)*c }
	origin := at(a)
	right, down := at(p.stored(r.Min.X+1, r.Min.Y))-origin, at(p.stored(r.Min.X, r.Min.Y+1))-origin
	imaging.Turn(dst, r.Dy(), r.Dx(), c, raw, origin, right, down)
	return nil
}

// decode writes a region as it is stored; Any stands for RGB.
func (p *picturefile) decode(s *datum.Sample, dst []byte, stride int, r image.Rectangle, t ColorType) error {
	if p.other.file != nil {
		if err := p.reserve(s, p.other.growth(p.size)); err != nil {
			return err
		}
		return p.other.pixels(dst, stride, r, t)
	}
	if p.data == nil {
		return p.decodePNG(s, dst, stride, r, t)
	}
	if err := p.reserve(s, p.jpeg.PixelsGrowth(&p.header, r)); err != nil {
		return err
	}
	p.skip(s, r)
	damage := p.jpeg.Pixels(dst, stride, p.data, r, jpegFormats[t])
	if !p.again(damage) {
		return refused(damage)
	}
	return p.kept(s, damage, p.jpeg.Pixels(dst, stride, p.data, r, jpegFormats[t]))
}

// admit returns an error if the buffers for a region are beyond the decoder's limits,
// before there are any for its pixels.
func (p *picturefile) admit(r image.Rectangle) error {
	if p.data == nil {
		return nil
	}
	return p.jpeg.Admit(&p.header, p.from(r), 1)
}

// from returns where an upright region is in the stored picture.
func (p *picturefile) from(r image.Rectangle) image.Rectangle {
	a, b := p.stored(r.Min.X, r.Min.Y), p.stored(r.Max.X-1, r.Max.Y-1)
	return image.Rectangle{image.Pt(min(a.X, b.X), min(a.Y, b.Y)), image.Pt(max(a.X, b.X)+1, max(a.Y, b.Y)+1)}
}

// room returns n bytes of a buffer for a region with so many channels. Random crops are
// of all sizes, and a buffer for the largest so far would be replaced by a slightly larger
// one time and again: without a memory budget it grows by half more than it has to, within
// what the whole picture takes.
func (p *picturefile) room(s *datum.Sample, buf *[]byte, n, channels int) ([]byte, error) {
	if cap(*buf) < n {
		grown := n
		if p.ample {
			grown = min(n+n/2, p.size.X*p.size.Y*channels)
		}
		if err := p.reserve(s, int64(grown)); err != nil {
			return nil, err
		}
		*buf = make([]byte, grown)
	}
	return (*buf)[:n], nil
}

// reserve announces that the file's buffers are about to grow. Those that are
// replaced count until the next file is opened.
func (p *picturefile) reserve(s *datum.Sample, growth int64) error {
	if growth == 0 {
		return nil
	}
	return s.Reserve(p.reserved() + growth)
}

// reserved returns how many bytes the file's buffers hold.
func (p *picturefile) reserved() int64 {
	return p.jpeg.Reserved() + p.planes.Reserved() + int64(cap(p.raw)) + int64(cap(p.region)) + p.png.Reserved() + p.other.reserved()
}

// release gives the buffers up.
func (p *picturefile) release() {
	p.jpeg.Release()
	p.planes.Release()
	p.png.Release()
	p.raw, p.region, p.other = nil, nil, otherFile{}
}

// planar reports whether the planes of the file can be resized as they are.
func (p *picturefile) planar() bool {
	if !enginePlanes || p.data == nil {
		return false
	}
	s := p.header.Sampling
	switch p.header.Space {
	case jpeg.Gray:
		return true
	case jpeg.YCbCr:
		return s[1] == s[2] && s[0].H%s[1].H == 0 && s[0].V%s[1].V == 0
	}
	return false
}

// decodePlanes decodes the planes that cover a region.
func (p *picturefile) decodePlanes(s *datum.Sample, region image.Rectangle, reduce int) error {
	p.skip(s, region)
	damage := p.jpeg.Planes(&p.planes, p.data, region, reduce)
	if !p.again(damage) {
		return refused(damage)
	}
	return p.kept(s, damage, p.jpeg.Planes(&p.planes, p.data, region, reduce))
}

// skip readies the decoder to leap over what is known of the file.
func (p *picturefile) skip(s *datum.Sample, region image.Rectangle) {
	p.jpeg.Skips = jpeg.Skips{}
	if p.index != nil && enginePlanes {
		p.jpeg.Skips = p.index.Skips(s.Index(), p.data, &p.header, region)
	}
}

// sideways reports whether rows of the shown picture are columns of the stored one.
func (p *picturefile) sideways() bool { return p.turn >= 5 }

// onStored returns a resize of the shown picture as one of the stored picture, but that
// rows and columns stay what they are in the picture that is shown.
func (p *picturefile) onStored(plan imaging.Plan) imaging.Plan {
	a, z := p.stored(0, 0), p.stored(p.w-1, p.h-1)
	a, z = p.swapped(a), p.swapped(z)
	if a.X > z.X {
		plan.X = flipped(plan.X, p.w)
	}
	if a.Y > z.Y {
		plan.Y = flipped(plan.Y, p.h)
	}
	return plan
}

// swapped exchanges rows and columns where the picture is sideways.
func (p *picturefile) swapped(a image.Point) image.Point {
	if p.sideways() {
		return image.Pt(a.Y, a.X)
	}
	return a
}

// upright is ycbcr for a region of the shown picture whose rows and columns run as in the
// stored one, or, where the picture is sideways, as its columns and rows: then the planes
// are transposed.
func (p *picturefile) upright(s *datum.Sample, region image.Rectangle, reduce int) (imaging.YCbCr, image.Point, error) {
	m, at, err := p.ycbcr(s, image.Rectangle{p.swapped(region.Min), p.swapped(region.Max)}, reduce)
	if err != nil || !p.sideways() {
		return m, at, err
	}
	t := imaging.YCbCr{YStride: m.H, H: m.W, W: m.H, SubH: m.SubV, SubV: m.SubH}
	n, ch, cw := m.H*m.W, 0, 0
	if len(m.Cb) > 0 {
		ch, cw = (m.H+m.SubV-1)/m.SubV, (m.W+m.SubH-1)/m.SubH
	}
	mem, err := p.room(s, &p.raw, n+2*ch*cw, 3)
	if err != nil {
		return m, at, err
	}
	t.Y = mem[:n]
	imaging.TransposePlane(t.Y, m.H, m.Y, m.YStride, m.H, m.W)
	if ch > 0 {
		t.Cb, t.Cr, t.CStride = mem[n:n+ch*cw], mem[n+ch*cw:], ch
		imaging.TransposePlane(t.Cb, ch, m.Cb, m.CStride, ch, cw)
		imaging.TransposePlane(t.Cr, ch, m.Cr, m.CStride, ch, cw)
	}
	return t, p.swapped(at), nil
}

// ycbcr decodes the planes that cover a region of the stored picture, at 1/reduce of the
// size, and returns them with the place of their first sample in the reduced picture.
func (p *picturefile) ycbcr(s *datum.Sample, region image.Rectangle, reduce int) (imaging.YCbCr, image.Point, error) {
	if err := p.reserve(s, p.jpeg.Growth(&p.planes, &p.header, region, reduce)); err != nil {
		return imaging.YCbCr{}, image.Point{}, err
	}
	if err := p.decodePlanes(s, region, reduce); err != nil {
		return imaging.YCbCr{}, image.Point{}, err
	}
	y := &p.planes.Plane[0]
	m := imaging.YCbCr{Y: y.Pix, YStride: y.Stride, H: y.Rect.Dy(), W: y.Rect.Dx()}
	if p.header.Space == jpeg.YCbCr {
		cb, cr := &p.planes.Plane[1], &p.planes.Plane[2]
		m.Cb, m.Cr, m.CStride = cb.Pix, cr.Pix, cb.Stride
		m.SubH, m.SubV = cb.StepX/y.StepX, cb.StepY/y.StepY
	}
	return m, y.Rect.Min, nil
}
