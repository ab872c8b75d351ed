package jpeg

import (
	"bytes"
	"context"
	"fmt"
	"image"
)

// Limits bound what a decoder accepts. A file beyond them is refused with
// [ErrTooLarge] before any buffer for it is allocated.
type Limits struct {
	// MaxPixels bounds width × height as the header has it; 0 means 1<<28.
	MaxPixels int64
	// MaxBytes bounds the buffers for one picture, see [Header.Bytes]; 0 means
	// 1<<30.
	MaxBytes int64
}

// A Decoder decodes one picture after the other and keeps its tables and buffers in
// between: once they fit, sequential and progressive files alike are decoded
// without allocation. The zero value is ready for use. A Decoder holds no reference
// to the data after a call and must not be used by two goroutines at once.
type Decoder struct {
	Limits Limits

	// Tolerant makes the decoder go on, as libjpeg does, where the coded data are
	// damaged or end early: what is missing is mid-grey, or as coarse as the scans
	// so far have it, and [Decoder.Damage] tells. Damaged headers and files without
	// an end marker are errors still.
	Tolerant bool

	// Skips are those of the file that is decoded, if any are kept. They make decoding a
	// region faster and change nothing else. A Tolerant decoder does not use them.
	Skips Skips

	// Context, if there is one, ends the work: it is asked between rows of blocks,
	// and its cause is the error then.
	Context context.Context

	frame  frame
	reader bitReader
	dc     tableCache[dcTable, *dcTable]
	ac     tableCache[acTable, *acTable]
	sym    tableCache[symbolTable, *symbolTable]

	geo     geometry
	scan    scan
	block   scratchBlock
	coefs   [maxComponents][]block  // of progressive files
	nonzero [maxComponents][]uint64 // by block of coefs, the AC coefficients that are not zero, by their place in zigzag order
	visits  int                     // see visit
	known   precision
	planes  Planes // of Pixels
	rows    rowBuffers
	damage  error
}

// Header reads the header of a file without decoding it.
func (d *Decoder) Header(data []byte) (Header, error) {
	_, pos, err := d.frame.start(d.Context, data)
	if err != nil {
		return Header{}, err
	}
	defer d.forget()
	return d.frame.Header, d.checkSize(data, pos)
}

// Admit returns an error that wraps [ErrTooLarge] if a region of a picture with the
// header h takes more buffers than Limits allow.
func (d *Decoder) Admit(h *Header, region image.Rectangle, reduce int) error {
	if need, limit := h.Bytes(region, reduce), or(d.Limits.MaxBytes, 1<<30); need > limit {
		return fmt.Errorf("jpeg: %w: decoding takes %d bytes of buffers, the limit is %d (Limits.MaxBytes)", ErrTooLarge, need, limit)
	}
	return nil
}

// Examine tells apart files that are whole, damaged but decodable, and not decodable:
// it decodes all of the data as a Tolerant decoder does, and returns the first damage
// that it went past, or nil, and the error that ended it, or nil.
func (d *Decoder) Examine(data []byte) (damage, err error) {
	tolerant := d.Tolerant
	defer func() { d.Tolerant = tolerant }()
	d.Tolerant = true
	h, err := d.Header(data)
	if err == nil {
		err = d.Planes(&d.planes, data, image.Rect(0, 0, h.Width, h.Height), 8)
	}
	if err != nil {
		return nil, err
	}
	return d.damage, nil
}

// Damage returns the first error that the last call went past because the decoder
// is Tolerant, or nil.
func (d *Decoder) Damage() error { return d.damage }

// Planes decodes the components of a region, given in full-size pixels before
// Orientation, into dst. The region is clipped to the picture; one without pixels
// is an error. reduce is 1, 2, 4 or 8: the picture is decoded at 1/reduce of its size
// by smaller inverse DCTs.
//
// The errors are [*FormatError], and ones that wrap [ErrUnsupported] and
// [ErrTooLarge]. A file without its end marker counts as cut short even if the
// region comes before. After an error the content of dst is undefined.
func (d *Decoder) Planes(dst *Planes, data []byte, region image.Rectangle, reduce int) error {
	switch reduce {
	case 1, 2, 4, 8:
	default:
		return fmt.Errorf("jpeg: reduce is %d, want 1, 2, 4 or 8", reduce)
	}
	sos, pos, err := d.frame.start(d.Context, data)
	if err != nil {
		return err
	}
	defer d.forget()
	return d.decode(dst, data, sos, pos, region, reduce)
}

// decode decodes a region of the file whose first scan has the header sos and
// starts at pos.
func (d *Decoder) decode(dst *Planes, data, sos []byte, pos int, region image.Rectangle, reduce int) error {
	d.damage = nil
	h := &d.frame.Header
	if err := d.checkSize(data, pos); err != nil {
		return err
	}
	clipped := region.Intersect(image.Rect(0, 0, h.Width, h.Height))
	if clipped.Empty() {
		return fmt.Errorf("jpeg: region %v has no pixel in a picture of %d×%d", region, h.Width, h.Height)
	}
	if err := d.Admit(h, clipped, reduce); err != nil {
		return err
	}
	if err := d.checkEnd(data, pos); err != nil {
		return err
	}
	d.geo = h.layout(clipped, reduce)
	dst.prepare(h, clipped, &d.geo)
	if h.Progressive {
		return d.progressive(dst, data, sos, pos)
	}
	return d.sequential(dst, data, sos, pos)
}

func or[N int | int64](v, unset N) N {
	if v == 0 {
		return unset
	}
	return v
}

var endMarker = []byte{0xFF, markerEOI}

// checkEnd looks for the end marker, so that whether a file counts as cut short
// does not depend on the region. Coded data cannot contain it.
func (d *Decoder) checkEnd(data []byte, pos int) error {
	if bytes.LastIndex(data[pos:], endMarker) >= 0 {
		return nil
	}
	return &FormatError{Offset: len(data), What: "the file ends without an end marker: it is cut short"}
}

// damaged returns err, or nil after taking note of it if the decoder is tolerant. Errors
// that are of another kind than damage end the work in any case.
func (d *Decoder) damaged(err error) error {
	format, ok := err.(*FormatError)
	if !ok {
		return err
	}
	format.Decodable = true
	if !d.Tolerant {
		return err
	}
	if d.damage == nil {
		d.damage = err
	}
	return nil
}

// afterScans is damaged for what comes behind a scan: segments that no decoder reads may
// be cut short, others not.
func (d *Decoder) afterScans(err error) error {
	if format, ok := err.(*FormatError); ok && format.Decodable {
		return d.damaged(err)
	}
	return err
}

// forget drops what aliases the file.
func (d *Decoder) forget() {
	d.frame.huff = [2][4][]byte{}
	d.frame.ctx = nil
	d.reader.data = nil
}
