//go:build turbojpeg

package turbo

// #include <stdlib.h>
// #include "engine.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Encoding says how [Decoder.Encode] writes a picture.
type Encoding struct {
	Quality         int // 1 to 100
	Components      int // 1: grey, 3: RGB, 4: CMYK pixels
	H, V            int // sampling factors of the components other than chroma, 1 to 4
	RestartInterval int // in MCUs, 0 for none
	Progressive     bool
	Optimize        bool // Huffman tables for this picture
	KeepSpace       bool // store RGB and CMYK as they are
	Separate        bool // a scan for each component
}

// Encode returns a picture of packed pixels as a file, to decode in tests.
func (d *Decoder) Encode(pix []byte, width, height int, how Encoding) ([]byte, error) {
	if len(pix) != width*height*how.Components {
		return nil, fmt.Errorf("turbo: %d bytes for a picture of %d×%d×%d", len(pix), width, height, how.Components)
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	flag := func(b bool) C.int {
		if b {
			return 1
		}
		return 0
	}
	e := C.encoding{
		quality: C.int(how.Quality), components: C.int(how.Components), h: C.int(how.H), v: C.int(how.V),
		restart: C.int(how.RestartInterval), progressive: flag(how.Progressive), optimize: flag(how.Optimize),
		rgb: flag(how.KeepSpace), separate: flag(how.Separate),
	}
	var out *C.uint8_t
	var size C.ulong
	message := C.engine_encode(d.engine, (*C.uint8_t)(unsafe.SliceData(pix)), C.int(width), C.int(height), &e, &out, &size)
	defer C.free(unsafe.Pointer(out))
	if err := asError(message); err != nil {
		return nil, err
	}
	return C.GoBytes(unsafe.Pointer(out), C.int(size)), nil
}
