//go:build turbojpeg

package turbo

// #cgo LDFLAGS: -ljpeg
// #include <stdio.h>
// #include <stdlib.h>
// #include <jpeglib.h>
// #include "engine.h"
import "C"

import (
	"errors"
	"fmt"
	"image"
	"runtime"
	"unsafe"

	"github.com/planktonml/plankton/internal/jpeg"
)

// A Decoder decodes one picture after the other with libjpeg-turbo. The zero value is
// ready for use; Close frees its memory, or the garbage collector does. A Decoder must not be used by two goroutines
// at once.
type Decoder struct {
	// Tolerant accepts damaged data, as libjpeg does, where they are an error
	// otherwise.
	Tolerant bool

	engine  *C.engine
	cleanup runtime.Cleanup
	header  jpeg.Decoder
	pin     runtime.Pinner
	planes  [4]C.plane // an argument of C, here so as not to be allocated
}

// Close frees what the decoder holds outside Go. It can be used again afterwards.
func (d *Decoder) Close() {
	if d.engine != nil {
		d.cleanup.Stop()
		C.engine_free(d.engine)
		d.engine = nil
	}
}

func (d *Decoder) open() error {
	if d.engine == nil {
		if d.engine = C.engine_new(); d.engine == nil {
			return errors.New("turbo: libjpeg cannot be set up: out of memory or of another version than its header")
		}
		d.cleanup = runtime.AddCleanup(d, func(e *C.engine) { C.engine_free(e) }, d.engine)
	}
	return nil
}

// Header is [jpeg.Decoder.Header].
func (d *Decoder) Header(data []byte) (jpeg.Header, error) { return d.header.Header(data) }

// Pixels is [jpeg.Decoder.Pixels] for FormatRGB and FormatGray, which crops and skips
// as far as libjpeg can, and with reduce 1, 2, 4 or 8 decodes at 1/reduce of the size: the region
// is in reduced pixels then.
func (d *Decoder) Pixels(dst []byte, stride int, data []byte, region image.Rectangle, format jpeg.Format, reduce int) error {
	h, err := d.header.Header(data)
	if err != nil {
		return err
	}
	space := C.int(C.JCS_RGB)
	switch format {
	case jpeg.FormatRGB:
	case jpeg.FormatGray:
		space = C.JCS_GRAYSCALE
	default:
		return fmt.Errorf("turbo: pixel format %d is not implemented, want FormatRGB or FormatGray", format)
	}
	if h.Space == jpeg.CMYK || h.Space == jpeg.YCCK {
		return fmt.Errorf("turbo: %w: libjpeg does not convert %v", jpeg.ErrUnsupported, h.Space)
	}
	region = region.Intersect(image.Rect(0, 0, (h.Width+reduce-1)/reduce, (h.Height+reduce-1)/reduce))
	width := region.Dx() * format.Channels()
	if region.Empty() || stride < width || len(dst) < (region.Dy()-1)*stride+width {
		return fmt.Errorf("turbo: region %v does not fit a stride of %d and %d bytes", region, stride, len(dst))
	}
	if err := d.open(); err != nil {
		return err
	}
	message := C.engine_pixels(d.engine, (*C.uint8_t)(unsafe.SliceData(data)), C.size_t(len(data)), rectangle(region),
		C.int(reduce), space, d.tolerant(), (*C.uint8_t)(unsafe.SliceData(dst)), C.size_t(stride))
	return asError(message)
}

// Planes is [jpeg.Decoder.Planes]. libjpeg cannot crop planes: it decodes all of them.
func (d *Decoder) Planes(dst *jpeg.Planes, data []byte, region image.Rectangle, reduce int) error {
	h, err := d.header.Header(data)
	if err != nil {
		return err
	}
	dst.Prepare(&h, region, reduce)
	if err := d.open(); err != nil {
		return err
	}
	defer d.pin.Unpin()
	d.planes = [4]C.plane{}
	for i := range h.Components {
		p := &dst.Plane[i]
		d.pin.Pin(unsafe.SliceData(p.Pix))
		d.planes[i] = C.plane{pix: (*C.uint8_t)(unsafe.SliceData(p.Pix)), stride: C.int(p.Stride), rect: rectangle(p.Rect)}
	}
	return asError(C.engine_planes(d.engine, (*C.uint8_t)(unsafe.SliceData(data)), C.size_t(len(data)), C.int(reduce), d.tolerant(), &d.planes[0], C.int(h.Components)))
}

func (d *Decoder) tolerant() C.int {
	if d.Tolerant {
		return 1
	}
	return 0
}

func rectangle(r image.Rectangle) C.rectangle {
	return C.rectangle{x: C.int(r.Min.X), y: C.int(r.Min.Y), width: C.int(r.Dx()), height: C.int(r.Dy())}
}

func asError(message *C.char) error {
	if message == nil {
		return nil
	}
	return fmt.Errorf("turbo: libjpeg: %s", C.GoString(message))
}
