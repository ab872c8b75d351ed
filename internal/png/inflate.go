package png

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

var (
	errNotEnough = errors.New("not enough pixel data")
	errTooMuch   = errors.New("too much pixel data")
)

// decompress fills the rows from a zlib stream (RFC 1950), which must hold just as
// many bytes.
func (d *Decoder) decompress(stream []byte) error {
	d.stream.Reset(stream)
	if err := d.inflate(); err != nil {
		return &FormatError{Offset: d.offset(len(stream) - d.stream.Len()), Err: err}
	}
	return nil
}

// inflate fills the rows from d.stream.
func (d *Decoder) inflate() (err error) {
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(&d.stream)
	} else {
		err = d.zlib.(zlib.Resetter).Reset(&d.stream, nil)
	}
	if err == nil {
		_, err = io.ReadFull(d.zlib, d.rows)
	}
	if err == nil { // the checksum is compared where the stream ends
		switch _, err = io.ReadFull(d.zlib, d.past[:]); err {
		case nil:
			return errTooMuch
		case io.EOF:
			return nil
		}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errNotEnough
	}
	return fmt.Errorf("the compressed pixels are damaged: %w", err)
}
