package ops

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/internal/magic"
)

// A Format is a kind of picture files that a program can decode, with functions as those of
// the standard library's image packages and of packages for AVIF, HEIC or JPEG XL. They are
// called by several workers at once. What Decode makes of a file must depend on its bytes
// alone.
type Format struct {
	Name         string // in errors, as "AVIF"
	Magic        string // what files begin with; a question mark stands for any byte, as in "????ftypavif"
	Decode       func(io.Reader) (image.Image, error)
	DecodeConfig func(io.Reader) (image.Config, error) // the size, before memory is taken for the pixels
}

// formatsKnown are those that need no DecodeOptions.Formats.
var formatsKnown = []Format{
	{"GIF", "GIF8?a", gif.Decode, gif.DecodeConfig},
	{"BMP", "BM????\x00\x00\x00\x00", bmp.Decode, bmp.DecodeConfig},
	{"TIFF", "II*\x00", tiff.Decode, tiff.DecodeConfig},
	{"TIFF", "MM\x00*", tiff.Decode, tiff.DecodeConfig},
	{webP, "RIFF????WEBPVP8", webp.Decode, webp.DecodeConfig},
}

const webP = "WebP"

// otherFile is a file of a Format.
type otherFile struct {
	file   []byte // nil for none
	format *Format
	size   image.Point
	grey   bool

	row    []byte // RGB or grey
	chroma imaging.StudioRow
}

// open reads the size of a picture.
func (f *otherFile) open(data []byte, o *DecodeOptions) (image.Point, error) {
	f.format = formatOf(data, o.Formats)
	switch {
	case f.format == nil:
		return image.Point{}, notAPicture(data)
	case o.Type == Indexed:
		return image.Point{}, fmt.Errorf("Type Indexed is not for %s files: store masks as PNG", f.format.Name)
	}
	c, err := f.config(data)
	if err != nil {
		return image.Point{}, f.named(err)
	}
	if n := int64(c.Width) * int64(c.Height); c.Width < 1 || c.Height < 1 || int64(c.Width) > n || n > o.MaxPixels {
		return image.Point{}, f.named(fmt.Errorf("%d×%d pixels; 1 to %d are possible (MaxPixels)", c.Width, c.Height, o.MaxPixels))
	}
	f.file, f.size = data, image.Pt(c.Width, c.Height)
	f.grey = c.ColorModel == color.GrayModel || c.ColorModel == color.Gray16Model
	return f.size, nil
}

func formatOf(data []byte, more []Format) *Format {
	for _, list := range [2][]Format{more, formatsKnown} {
		for i := range list {
			if magic.Begins(data, list[i].Magic) {
				return &list[i]
			}
		}
	}
	return nil
}

// named says in an error what file it is about.
func (f *otherFile) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s file: %w", f.format.Name, err)
}

// panicked makes the panic of a decoder, which damaged files may cause, its error.
func panicked(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the decoder panicked, so the file is damaged or of a kind that the decoder does not know: %v", p)
	}
}

func (f *otherFile) config(data []byte) (c image.Config, err error) {
	defer panicked(&err)
	return f.format.DecodeConfig(bytes.NewReader(data))
}

func (f *otherFile) decode() (m image.Image, err error) {
	defer panicked(&err)
	if m, err = f.format.Decode(bytes.NewReader(f.file)); err == nil && m == nil {
		err = errors.New("the decoder gave no picture")
	}
	return m, err
}

// growth returns about how many bytes pixels takes.
func (f *otherFile) growth(size image.Point) int64 { return 8 * int64(size.X) * int64(size.Y) }

func (f *otherFile) reserved() int64 { return int64(cap(f.row)) + f.chroma.Reserved() }

// pixels writes a region in rows of stride bytes. All of the picture is decoded for it.
func (f *otherFile) pixels(dst []byte, stride int, r image.Rectangle, t ColorType) error {
	m, err := f.decode()
	if err != nil {
		return f.named(err)
	}
	if b := m.Bounds(); f.format.Name != "GIF" && b.Size() != f.size { // a GIF's first frame may be smaller than the picture
		return f.named(fmt.Errorf("the picture has %d×%d pixels, its header says %d×%d", b.Dx(), b.Dy(), f.size.X, f.size.Y))
	}
	if f.format.Name != "GIF" {
		r = r.Add(m.Bounds().Min)
	}
	space := imaging.RGB
	if f.grey {
		space = imaging.Gray
	}
	want := space
	if t != Any {
		want = spaces[t]
	}
	c := space.Channels()
	f.row = growBytes(f.row, r.Dx()*c)
	for y := range r.Dy() {
		f.line(m, r.Min.X, r.Min.Y+y, c)
		if err := imaging.ConvertColors(dst[y*stride:][:r.Dx()*want.Channels()], want, f.row, space); err != nil {
			return plain(err)
		}
	}
	return nil
}

func growBytes(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// line fills row with the pixels from x on of a row of the picture, of one or three
// channels each. What lies outside of the picture is black.
func (f *otherFile) line(m image.Image, x, y, channels int) {
	n := len(f.row) / channels
	whole := image.Rect(x, y, x+n, y+1).In(m.Bounds())
	switch m := m.(type) {
	case *image.Gray:
		if whole && channels == 1 {
			copy(f.row, m.Pix[m.PixOffset(x, y):])
			return
		}
	case *image.NRGBA:
		if whole && channels == 3 {
			drop(f.row, m.Pix[m.PixOffset(x, y):])
			return
		}
	case *image.RGBA:
		if whole && channels == 3 && opaque(m.Pix[m.PixOffset(x, y):][:4*n]) {
			drop(f.row, m.Pix[m.PixOffset(x, y):])
			return
		}
	case *image.Paletted:
		if whole && channels == 3 {
			paletted(f.row, m.Pix[m.PixOffset(x, y):][:n], m.Palette)
			return
		}
	case *image.YCbCr:
		if f.studio(m, x, y, channels) {
			return
		}
	case *image.NYCbCrA:
		if f.studio(&m.YCbCr, x, y, channels) {
			return
		}
	}
	for i := range n {
		c := pixelAt(m, x+i, y)
		if channels == 1 {
			f.row[i] = c[0]
			continue
		}
		copy(f.row[3*i:][:3], c[:])
	}
}

// studio fills row where the picture is of the kind that WebP files have: YCbCr at studio
// range, whose chroma is interpolated as by Google's library.
func (f *otherFile) studio(m *image.YCbCr, x, y, channels int) bool {
	if f.format.Name != webP || m.SubsampleRatio != image.YCbCrSubsampleRatio420 || channels != 3 {
		return false
	}
	planes := imaging.YCbCr{
		Y: m.Y, Cb: m.Cb, Cr: m.Cr, YStride: m.YStride, CStride: m.CStride, H: m.Rect.Dy(), W: m.Rect.Dx(), SubH: 2, SubV: 2,
	}
	f.chroma.RGB(f.row, &planes, x-m.Rect.Min.X, y-m.Rect.Min.Y)
	return true
}

// drop copies pixels without alpha.
func drop(dst, rgba []byte) {
	for i := 0; 3*i < len(dst); i++ {
		copy(dst[3*i:][:3], rgba[4*i:])
	}
}

func opaque(rgba []byte) bool {
	for i := 3; i < len(rgba); i += 4 {
		if rgba[i] != 255 {
			return false
		}
	}
	return true
}

func paletted(dst, indices []byte, p color.Palette) {
	var rgb [256][3]byte
	for i, c := range p[:min(len(p), 256)] {
		rgb[i] = levels(c)
	}
	for i, v := range indices {
		copy(dst[3*i:][:3], rgb[v][:])
	}
}

// pixelAt returns a pixel as the file stores its colour, black outside of the picture.
func pixelAt(m image.Image, x, y int) [3]byte {
	if !image.Pt(x, y).In(m.Bounds()) {
		return [3]byte{}
	}
	return levels(m.At(x, y))
}

// levels returns a colour without its alpha, rounded to 8 bits.
func levels(c color.Color) [3]byte {
	var v color.NRGBA64
	switch c := c.(type) {
	case color.NRGBA:
		return [3]byte{c.R, c.G, c.B}
	case color.NRGBA64:
		v = c
	default:
		v = color.NRGBA64Model.Convert(c).(color.NRGBA64)
	}
	round := func(x uint16) byte { return byte((uint32(x)*255 + 32767) / 65535) }
	return [3]byte{round(v.R), round(v.G), round(v.B)}
}
