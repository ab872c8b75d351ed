package ops

import (
	"context"
	"fmt"
	"image"

	"github.com/planktonml/plankton/internal/png"
	"github.com/planktonml/plankton/pipeline/datum"
)

// pngFormats are the PNG decoder's names of the colour types.
var pngFormats = [...]png.Format{
	RGB: png.FormatRGB, Gray: png.FormatGray, BGR: png.FormatBGR, YCbCr: png.FormatYCbCr, Any: png.FormatRGB, Indexed: png.FormatIndex,
}

// openPNG reads all of a PNG file but its pixels.
func (p *picturefile) openPNG(data []byte, o *DecodeOptions) error {
	p.png.MaxPixels = o.MaxPixels
	h, err := p.png.Open(data)
	if err != nil {
		return err
	}
	if o.Type == Indexed && !h.Indices() {
		return fmt.Errorf("the picture is %v of %d bits; Type Indexed wants one with a palette, or a grey one of at most 8 bits", h.Color, h.Depth)
	}
	p.pngHeader, p.size = h, image.Pt(h.Width, h.Height)
	if !o.IgnoreOrientation {
		p.turn = h.Orientation
	}
	return nil
}

// decodePNG writes a region of a PNG file as it is stored.
func (p *picturefile) decodePNG(s *datum.Sample, dst []byte, stride int, r image.Rectangle, t ColorType) error {
	if err := p.reserve(s, p.png.Growth()); err != nil {
		return err
	}
	ctx := s.Context()
	if ctx == nil { // of no pipeline
		ctx = context.Background()
	}
	return p.png.Decode(ctx, dst, stride, r, pngFormats[t])
}
