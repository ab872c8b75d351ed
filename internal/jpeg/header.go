package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/planktonml/plankton/internal/exif"
)

// maxComponents is the largest number of components that a colour space has.
const maxComponents = 4

// A ColorSpace says what the components of a file mean.
type ColorSpace uint8

// The colour spaces of JPEG files.
const (
	Gray  ColorSpace = iota // luma alone
	YCbCr                   // ITU-R BT.601 at full range, as JFIF has it
	RGB                     // red, green, blue
	CMYK                    // cyan, magenta, yellow, black
	YCCK                    // CMY stored as YCbCr of its complement, and black
)

// Sampling holds the sampling factors of a component, 1 to 4: its share of the
// largest factors of the file is its share of the picture's width and height.
type Sampling struct{ H, V int }

// A Header is what a file says about its picture before the first scan.
type Header struct {
	Width, Height   int                     // in pixels, before Orientation is applied
	Components      int                     // 1, 3 or 4
	Sampling        [maxComponents]Sampling // of the first Components entries
	Space           ColorSpace              // from the JFIF and Adobe markers or the component names, as libjpeg guesses it
	Inverted        bool                    // CMYK and YCCK only: an Adobe marker says that 255 is no ink
	Progressive     bool
	Orientation     int // Exif 1 to 8; 1, upright, if there is none
	RestartInterval int // in MCUs, 0 for none
}

// maxSampling returns the largest sampling factors.
func (h *Header) maxSampling() (int, int) {
	mh, mv := 1, 1
	for _, s := range h.Sampling[:h.Components] {
		mh, mv = max(mh, s.H), max(mv, s.V)
	}
	return mh, mv
}

// The markers of T.81 table B.1 that are treated by name.
const (
	markerSOF0  = 0xC0
	markerSOF1  = 0xC1
	markerSOF2  = 0xC2
	markerDHT   = 0xC4
	markerJPG   = 0xC8
	markerRST0  = 0xD0
	markerRST7  = 0xD7
	markerSOI   = 0xD8
	markerEOI   = 0xD9
	markerSOS   = 0xDA
	markerDQT   = 0xDB
	markerDNL   = 0xDC
	markerDRI   = 0xDD
	markerAPP0  = 0xE0
	markerAPP1  = 0xE1
	markerAPP14 = 0xEE
	markerTEM   = 0x01
)

// frame is what the markers have said so far: the header and the tables.
// The Huffman tables alias the file until a scan uses them.
type frame struct {
	Header
	seenFrame bool
	ids       [maxComponents]byte
	quantSel  [maxComponents]byte
	quant     [4]quantTable
	haveQuant [4]bool
	huff      [2][4][]byte // by class (DC, AC) and slot: 16 counts and the symbols

	jfif           bool
	adobe          bool
	adobeTransform byte
}

// quantTable holds the factors in the order of [block]; as in libjpeg-turbo they
// and the products with coefficients are 16 bits wide.
type quantTable [blockSize]int16

// nextMarker returns the first marker at or after pos, and the position behind it.
// Bytes that belong to no segment are skipped, as every decoder does.
func nextMarker(data []byte, pos int) (marker byte, next int, err error) {
	for pos < len(data) {
		i := bytes.IndexByte(data[pos:], 0xFF)
		if i < 0 {
			break
		}
		pos += i + 1
		for pos < len(data) && data[pos] == 0xFF {
			pos++
		}
		if pos < len(data) && data[pos] != 0 {
			return data[pos], pos + 1, nil
		}
	}
	return 0, len(data), &FormatError{Offset: len(data), What: "the file ends where a marker is expected: it is cut short"}
}

// parse reads segments from pos to the next start of scan and returns that
// segment's payload and the position of the scan's first byte of coded data. At
// the end of the image it returns a nil payload.
func (f *frame) parse(data []byte, pos int) (sos []byte, next int, err error) {
	for {
		marker, p, err := nextMarker(data, pos)
		if err != nil {
			return nil, p, err
		}
		switch {
		case marker == markerEOI:
			return nil, p, nil
		case marker >= markerRST0 && marker <= markerRST7, marker == markerTEM, marker == markerSOI:
			pos = p
			continue
		}
		if len(data)-p < 2 {
			return nil, p, formatErrorf(p, "the file ends within the segment of marker %#02x: it is cut short", marker)
		}
		n := int(binary.BigEndian.Uint16(data[p:]))
		if n < 2 || n > len(data)-p {
			return nil, p, formatErrorf(p, "the segment of marker %#02x is said to have %d bytes, %d are left", marker, n, len(data)-p)
		}
		payload := data[p+2 : p+n]
		if marker == markerSOS {
			if !f.seenFrame {
				return nil, p, formatErrorf(p, "a scan starts before the frame header")
			}
			return payload, p + n, nil
		}
		if err := f.segment(marker, payload, p+2); err != nil {
			return nil, p, err
		}
		pos = p + n
	}
}

// start checks the signature and parses up to the first scan.
func (f *frame) start(data []byte) (sos []byte, next int, err error) {
	*f = frame{}
	f.Orientation = 1
	if len(data) < 3 || data[0] != 0xFF || data[1] != markerSOI || data[2] != 0xFF {
		return nil, 0, &FormatError{Offset: 0, What: "no JPEG: it does not start with FF D8 FF"}
	}
	sos, next, err = f.parse(data, 2)
	switch {
	case err != nil:
		return nil, 0, err
	case sos == nil:
		return nil, 0, &FormatError{Offset: next, What: "the image ends before its first scan"}
	}
	f.guessColorSpace()
	return sos, next, nil
}

func (f *frame) segment(marker byte, p []byte, pos int) error {
	switch marker {
	case markerDQT:
		return f.defineQuant(p, pos)
	case markerDHT:
		return f.defineHuffman(p, pos)
	case markerDRI:
		if len(p) != 2 {
			return formatErrorf(pos, "the restart interval has %d bytes, want 2", len(p))
		}
		f.RestartInterval = int(binary.BigEndian.Uint16(p))
	case markerDNL:
		return unsupported("number of lines given after the first scan (DNL)")
	case markerAPP0:
		f.jfif = f.jfif || bytes.HasPrefix(p, []byte("JFIF\x00"))
	case markerAPP1:
		if tiff, ok := bytes.CutPrefix(p, []byte("Exif\x00\x00")); ok {
			f.Orientation = or(exif.Orientation(tiff), f.Orientation)
		}
	case markerAPP14:
		if len(p) >= 12 && bytes.HasPrefix(p, []byte("Adobe")) {
			f.adobe, f.adobeTransform = true, p[11]
		}
	default:
		if marker >= 0xC0 && marker <= 0xCF {
			return f.defineFrame(marker, p, pos)
		}
	}
	return nil
}

func (f *frame) defineFrame(marker byte, p []byte, pos int) error {
	switch marker {
	case markerSOF0, markerSOF1, markerSOF2:
	case 0xC3, 0xC7, 0xCB, 0xCF:
		return unsupported("lossless coding")
	case 0xC5, 0xC6:
		return unsupported("hierarchical coding")
	case markerJPG:
		return unsupported("JPEG extension (marker 0xc8)")
	default:
		return unsupported("arithmetic coding")
	}
	if f.seenFrame {
		return formatErrorf(pos, "a second frame header")
	}
	if len(p) < 6 || len(p) != 6+3*int(p[5]) {
		return formatErrorf(pos, "the frame header has a wrong length (%d bytes)", len(p))
	}
	if p[0] != 8 {
		return unsupported(fmt.Sprintf("%d bits per sample", p[0]))
	}
	f.Progressive = marker == markerSOF2
	f.Height = int(binary.BigEndian.Uint16(p[1:]))
	f.Width = int(binary.BigEndian.Uint16(p[3:]))
	f.Components = int(p[5])
	switch {
	case f.Height == 0:
		return unsupported("number of lines given after the first scan (DNL)")
	case f.Width == 0:
		return formatErrorf(pos, "the picture has no width")
	case f.Components != 1 && f.Components != 3 && f.Components != 4:
		return unsupported(fmt.Sprintf("%d components", f.Components))
	}
	for i := range f.Components {
		c := p[6+3*i:]
		s := Sampling{H: int(c[1] >> 4), V: int(c[1] & 15)}
		if s.H < 1 || s.H > 4 || s.V < 1 || s.V > 4 {
			return formatErrorf(pos, "component %d has sampling factors %d×%d, want 1 to 4", i, s.H, s.V)
		}
		if c[2] > 3 {
			return formatErrorf(pos, "component %d uses quantisation table %d, want 0 to 3", i, c[2])
		}
		f.ids[i], f.quantSel[i], f.Sampling[i] = c[0], c[2], s
	}
	if f.Components == 1 {
		f.Sampling[0] = Sampling{1, 1} // a lone component is never interleaved, so its factors mean nothing
	}
	mh, mv := f.maxSampling()
	for i, s := range f.Sampling[:f.Components] {
		if mh%s.H != 0 || mv%s.V != 0 {
			return unsupported(fmt.Sprintf("sampling factors %d×%d of component %d beside %d×%d", s.H, s.V, i, mh, mv))
		}
	}
	f.seenFrame = true
	return nil
}

func (f *frame) defineQuant(p []byte, pos int) error {
	for len(p) > 0 {
		precision, slot := p[0]>>4, p[0]&15
		size := blockSize << precision
		if precision > 1 || slot > 3 || len(p) < 1+size {
			return formatErrorf(pos, "a malformed quantisation table")
		}
		for k := range blockSize {
			if precision == 0 {
				f.quant[slot][zigzag[k+1]] = int16(p[1+k])
			} else {
				f.quant[slot][zigzag[k+1]] = int16(binary.BigEndian.Uint16(p[1+2*k:]))
			}
		}
		f.haveQuant[slot] = true
		p, pos = p[1+size:], pos+1+size
	}
	return nil
}

func (f *frame) defineHuffman(p []byte, pos int) error {
	for len(p) > 0 {
		if len(p) < 17 || p[0]>>4 > 1 || p[0]&15 > 3 {
			return formatErrorf(pos, "a malformed Huffman table")
		}
		n := 0
		for _, c := range p[1:17] {
			n += int(c)
		}
		if n > 256 || len(p) < 17+n {
			return formatErrorf(pos, "a Huffman table with %d symbols in a segment with %d bytes left", n, len(p))
		}
		f.huff[p[0]>>4][p[0]&15] = p[1 : 17+n]
		p, pos = p[17+n:], pos+17+n
	}
	return nil
}

// guessColorSpace follows libjpeg: the JFIF marker, the Adobe marker, then the
// component names.
func (f *frame) guessColorSpace() {
	switch f.Components {
	case 1:
		f.Space = Gray
	case 3:
		rgbNames := f.ids[0] == 'R' && f.ids[1] == 'G' && f.ids[2] == 'B'
		switch {
		case f.jfif:
			f.Space = YCbCr
		case f.adobe && f.adobeTransform == 0, !f.adobe && rgbNames:
			f.Space = RGB
		default:
			f.Space = YCbCr
		}
	case 4:
		f.Space, f.Inverted = CMYK, f.adobe
		if f.adobe && f.adobeTransform != 0 {
			f.Space = YCCK
		}
	}
}
