//go:build turbojpeg

package ops

import (
	"context"
	"image"

	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/internal/jpeg/turbo"
)

// enginePlanes says that planes can be decoded region by region: libjpeg crops
// and skips only where it also converts colour.
const enginePlanes = false

// engineName tells in a decoder's Op.Config that pixels are not those of package jpeg.
const engineName = " turbojpeg"

// jpegEngine decodes JPEG files with libjpeg-turbo, and those that it does not
// convert with the decoder in Go.
type jpegEngine struct {
	jpeg.Decoder
	turbo turbo.Decoder
}

// Pixels is jpeg.Decoder.Pixels.
func (e *jpegEngine) Pixels(dst []byte, stride int, data []byte, region image.Rectangle, format jpeg.Format) error {
	h, err := e.Header(data)
	if err != nil {
		return err
	}
	if e.Context != nil && e.Context.Err() != nil {
		return context.Cause(e.Context) // libjpeg cannot be stopped later
	}
	if format != jpeg.FormatRGB && format != jpeg.FormatGray || h.Space == jpeg.CMYK || h.Space == jpeg.YCCK {
		return e.Decoder.Pixels(dst, stride, data, region, format)
	}
	e.turbo.Tolerant = e.Tolerant
	if err = e.turbo.Pixels(dst, stride, data, region, format, 1); err == nil || e.Tolerant {
		return err
	}
	// libjpeg does not tell damage from what cannot be decoded.
	if ours := e.Decoder.Pixels(dst, stride, data, region, format); damageOf(ours) != nil {
		return ours
	}
	return err
}
