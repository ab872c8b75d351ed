package png

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Decoder decodes one file after the other: [Decoder.Open] reads what a file says
// of itself, [Decoder.Decode] its pixels. The zero value is ready for use. A Decoder
// is for one goroutine at a time.
type Decoder struct {
	// MaxPixels refuses larger pictures before anything is allocated for them; 0
	// is no limit.
	MaxPixels int64

	file   scanner
	joined []byte // compressed data that the file has in pieces
	rows   []byte // a byte for the filter in front of each
	pix    []byte // pixels of less than 8 bits, spread

	stream bytes.Reader  // compressed data
	zlib   io.ReadCloser // kept for its tables; nil before the first file
	past   [1]byte       // what the stream has behind the rows, if anything
}

// A Picture is a decoded file: a pixel in column x of row y begins at
// Pix[y*Stride+x*Step], its channels, most significant byte first, are Depth/8 bytes
// apart, or 1 byte where Depth is less than 8.
type Picture struct {
	Pix          []byte
	Stride, Step int
	Palette      *[256][3]byte // colours where pixels are indices, else nil; black beyond the file's
}

// Open reads a file up to its end and checks all but the pixels; of an interlaced
// file it reads the header alone. The data must stay as they are until Decode is
// done.
func (d *Decoder) Open(data []byte) (Header, error) {
	s := &d.file
	*s = scanner{data: data}
	pos, err := s.header()
	if err != nil {
		return Header{}, err
	}
	if n := int64(s.Width) * int64(s.Height); d.MaxPixels > 0 && n > d.MaxPixels {
		return Header{}, fmt.Errorf("png: %w: %d×%d is %d pixels, the limit is %d (MaxPixels)", ErrTooLarge, s.Width, s.Height, n, d.MaxPixels)
	}
	if int64(s.Width)*8 >= (math.MaxInt-int64(s.Height))/int64(s.Height) { // with 8 bytes a pixel
		return Header{}, fmt.Errorf("png: %w: %d×%d pixels are more than memory can hold", ErrTooLarge, s.Width, s.Height)
	}
	if s.Interlaced {
		return s.Header, nil
	}
	err = s.rest(pos)
	if n := int64(s.Height) * int64(1+s.rowBytes()); err == nil && n > maxRatio*int64(s.end-s.idat) {
		err = &FormatError{Offset: s.end, Err: errNotEnough}
	}
	return s.Header, err
}

// maxRatio is how many bytes a compressed one can stand for: a repeated length of 258
// takes two bits at least (RFC 1951). It keeps a small file that says it is large from
// memory for pixels that it cannot have.
const maxRatio = 258 * 8 / 2

// rowBytes returns the bytes of a row, the one for its filter aside.
func (h *Header) rowBytes() int { return (h.Width*h.Color.channels()*h.Depth + 7) / 8 }

// sizes returns how much each buffer must hold for the open file.
func (d *Decoder) sizes() (joined, rows, pix int) {
	s := &d.file
	if first := chunkHead + int(binary.BigEndian.Uint32(s.data[s.idat:])) + chunkTail; s.idat+first < s.end {
		joined = s.end - s.idat
	}
	if s.Depth < 8 {
		pix = s.Width * s.Height
	}
	return joined, s.Height * (1 + s.rowBytes()), pix
}

// Growth returns how many bytes of buffers Decode is going to allocate for the open
// file. The decompressor's window and tables, some 60 KiB, are not counted.
func (d *Decoder) Growth() int64 {
	joined, rows, pix := d.sizes()
	return growth(d.joined, joined) + growth(d.rows, rows) + growth(d.pix, pix)
}

func growth(b []byte, n int) int64 {
	if n <= cap(b) {
		return 0
	}
	return int64(n)
}

func resize(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	return make([]byte, n)
}

// Reserved returns how many bytes of buffers, in the sense of [Decoder.Growth], the
// decoder holds.
func (d *Decoder) Reserved() int64 { return int64(cap(d.joined) + cap(d.rows) + cap(d.pix)) }

// Release gives the buffers up.
func (d *Decoder) Release() { *d = Decoder{MaxPixels: d.MaxPixels} }

// Decode returns the pixels of the open file, which is not interlaced. They are the
// decoder's and stay until the next Decode.
func (d *Decoder) Decode() (Picture, error) {
	s := &d.file
	joined, rows, pix := d.sizes()
	d.rows = resize(d.rows, rows)
	if err := d.decompress(d.compressed(joined)); err != nil {
		return Picture{}, err
	}
	n := s.rowBytes()
	if err := unfilter(d.rows, n, max(1, s.Color.channels()*s.Depth/8)); err != nil {
		return Picture{}, &FormatError{Offset: s.idat, Err: err}
	}
	p := Picture{Pix: d.rows[1:], Stride: 1 + n, Step: s.Color.channels() * s.Depth / 8}
	if pix > 0 {
		d.pix = resize(d.pix, pix)
		d.spread()
		p = Picture{Pix: d.pix, Stride: s.Width, Step: 1}
	}
	if s.Color == Paletted {
		p.Palette = &s.palette
	}
	return p, nil
}

// compressed returns the compressed data in one piece.
func (d *Decoder) compressed(joined int) []byte {
	s := &d.file
	if joined == 0 {
		return s.data[s.idat+chunkHead : s.end-chunkTail]
	}
	d.joined = resize(d.joined, joined)[:0]
	for pos := s.idat; pos < s.end; {
		n := int(binary.BigEndian.Uint32(s.data[pos:]))
		pos += chunkHead
		d.joined = append(d.joined, s.data[pos:pos+n]...)
		pos += n + chunkTail
	}
	return d.joined
}

// offset returns where byte n of the compressed data is in the file.
func (d *Decoder) offset(n int) int {
	s := &d.file
	for pos := s.idat; pos < s.end; {
		size := int(binary.BigEndian.Uint32(s.data[pos:]))
		pos += chunkHead
		if n < size {
			return pos + n
		}
		n -= size
		pos += size + chunkTail
	}
	return s.end
}
