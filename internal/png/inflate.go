package png

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

var (
	errNotEnough = errors.New("not enough pixel data")
	errTooMuch   = errors.New("too much pixel data")
)

// inflater reads a zlib stream (RFC 1950).
type inflater struct {
	size   int
	stream bytes.Reader
	zlib   io.ReadCloser // kept for its tables; nil before the first stream
	raw    [pieceBytes + 1]byte
}

// reset begins a stream.
func (f *inflater) reset(stream []byte) (err error) {
	f.size = len(stream)
	f.stream.Reset(stream)
	if f.zlib == nil {
		f.zlib, err = zlib.NewReader(&f.stream)
	} else {
		err = f.zlib.(zlib.Resetter).Reset(&f.stream, nil)
	}
	return streamError(err)
}

// consumed returns how many bytes of the stream were read.
func (f *inflater) consumed() int { return f.size - f.stream.Len() }

// take returns the next n bytes, at most 1 + pieceBytes, which stay until the next
// call.
func (f *inflater) take(n int) ([]byte, error) {
	_, err := io.ReadFull(f.zlib, f.raw[:n])
	return f.raw[:n], streamError(err)
}

// end checks that the stream ends here, and its checksum.
func (f *inflater) end() error {
	switch _, err := io.ReadFull(f.zlib, f.raw[:1]); err {
	case nil:
		return errTooMuch
	case io.EOF:
		return nil
	default:
		return streamError(err)
	}
}

func streamError(err error) error {
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return errNotEnough
	}
	return fmt.Errorf("the compressed pixels are damaged: %w", err)
}
