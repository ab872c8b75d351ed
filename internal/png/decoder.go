package png

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Decoder decodes one file after the other: [Decoder.Open] reads what a file says
// of itself, [Decoder.Decode] its pixels. The zero value is ready for use. A Decoder
// is for one goroutine at a time.
type Decoder struct {
	// MaxPixels refuses larger pictures before anything is allocated for them; 0
	// is no limit.
	MaxPixels int64

	// MaxBytes bounds the decoder's buffers for one picture, see [Decoder.Growth];
	// 0 means 1 GiB. The pixels are the caller's and are not counted.
	MaxBytes int64

	file    scanner
	joined  []byte // compressed data that the file has in pieces
	row     []byte // the row that is made, behind margin bytes of zero
	above   []byte // the one above it, likewise
	scratch *scratch
}

// scratch is memory of a fixed size.
type scratch struct {
	stream inflater
	colors colors
	wide   [chunkPixels * 4]byte // channels of 8 bits, of pixels that have other ones
	dense  [chunkPixels * 3]byte // converted pixels that are not written side by side
}

const (
	defaultMaxBytes = 1 << 30
	scratchBytes    = int64(unsafe.Sizeof(scratch{}))
)

// Open reads a file up to its end and checks all but the pixels. The data must stay as
// they are until Decode is done. Of a large file Open looks at the context every few
// megabytes and returns its error when it has ended.
func (d *Decoder) Open(ctx context.Context, data []byte) (Header, error) {
	s := &d.file
	*s = scanner{data: data, ctx: ctx}
	defer func() { s.ctx = nil }()
	pos, err := s.header()
	if err != nil {
		return Header{}, err
	}
	if n := int64(s.Width) * int64(s.Height); d.MaxPixels > 0 && n > d.MaxPixels {
		return Header{}, fmt.Errorf("png: %w: %d×%d is %d pixels, the limit is %d (MaxPixels)", ErrTooLarge, s.Width, s.Height, n, d.MaxPixels)
	}
	if int64(s.Width)*8 >= (math.MaxInt/2-int64(s.Height))/int64(s.Height) { // with 8 bytes a pixel
		return Header{}, fmt.Errorf("png: %w: %d×%d pixels are more than memory can hold", ErrTooLarge, s.Width, s.Height)
	}
	if err := s.rest(pos); err != nil {
		return s.Header, err
	}
	if s.storedBytes() > maxRatio*int64(s.end-s.idat) {
		return s.Header, &FormatError{Offset: s.end, Err: errNotEnough}
	}
	limit := d.MaxBytes
	if limit == 0 {
		limit = defaultMaxBytes
	}
	if need := d.need(); need > limit {
		return s.Header, fmt.Errorf("png: %w: decoding takes %d bytes of buffers, the limit is %d (MaxBytes)", ErrTooLarge, need, limit)
	}
	return s.Header, nil
}

// maxRatio is how many bytes a compressed one can stand for: a repeated length of 258
// takes two bits at least (RFC 1951). It keeps a small file that says it is large from
// memory for pixels that it cannot have.
const maxRatio = 258 * 8 / 2

// rowBytes returns the bytes of a row of w pixels, the one for its filter aside.
func (h *Header) rowBytes(w int) int { return (w*h.Color.channels()*h.Depth + 7) / 8 }

// pixelBytes returns how many bytes lie between values that belong together: those of a
// pixel, at least one.
func (h *Header) pixelBytes() int { return max(1, h.Color.channels()*h.Depth/8) }

// storedBytes returns the bytes of all rows with their filters.
func (h *Header) storedBytes() (n int64) {
	for _, p := range h.passes() {
		if rows, w := p.size(h); rows > 0 && w > 0 {
			n += int64(rows) * int64(1+h.rowBytes(w))
		}
	}
	return n
}

// sizes returns how much each buffer must hold for the open file.
func (d *Decoder) sizes() (joined, row int) {
	s := &d.file
	if first := chunkHead + int(binary.BigEndian.Uint32(s.data[s.idat:])) + chunkTail; s.idat+first < s.end {
		joined = s.end - s.idat
	}
	return joined, margin + s.rowBytes(s.Width)
}

// need returns the bytes of all buffers for the open file.
func (d *Decoder) need() int64 {
	joined, row := d.sizes()
	return int64(joined) + 2*int64(row) + scratchBytes
}

// Growth returns how many bytes of buffers Decode is going to allocate for the open
// file.
func (d *Decoder) Growth() int64 {
	joined, row := d.sizes()
	n := growth(d.joined, joined) + growth(d.row, row) + growth(d.above, row)
	if d.scratch == nil {
		n += scratchBytes
	}
	return n
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
func (d *Decoder) Reserved() int64 {
	n := int64(cap(d.joined) + cap(d.row) + cap(d.above))
	if d.scratch != nil {
		n += scratchBytes
	}
	return n
}

// Release gives the buffers up.
func (d *Decoder) Release() { *d = Decoder{MaxPixels: d.MaxPixels, MaxBytes: d.MaxBytes} }

// prepare takes the buffers for the open file.
func (d *Decoder) prepare() {
	_, row := d.sizes()
	d.row, d.above = resize(d.row, row), resize(d.above, row)
	clear(d.row[:margin])
	clear(d.above[:margin])
	if d.scratch == nil {
		d.scratch = new(scratch)
	}
}

// compressed returns the compressed data in one piece, an error if the context ends.
func (d *Decoder) compressed(ctx context.Context) ([]byte, error) {
	s := &d.file
	joined, _ := d.sizes()
	if joined == 0 {
		return s.data[s.idat+chunkHead : s.end-chunkTail], nil
	}
	d.joined = resize(d.joined, joined)[:0]
	for pos, work := s.idat, 0; pos < s.end; {
		n := int(binary.BigEndian.Uint32(s.data[pos:]))
		if work += n + chunkWork; work >= lookBytes {
			work = 0
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		pos += chunkHead
		d.joined = append(d.joined, s.data[pos:pos+n]...)
		pos += n + chunkTail
	}
	return d.joined, nil
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
