package index

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/planktonml/plankton/storage"
)

// Bytes of an object that are read at a time. Of a file it is what a header and a small
// member need. A request to a bucket costs more than the bytes: there an object is read
// whole, in large pieces.
const (
	windowBytes       = 4 << 10
	remoteWindowBytes = 8 << 20
)

// window reads an object from any byte on, through a buffer. It is an io.ReadSeeker for
// package archive/tar, and so it has the context of the scan that it belongs to.
type window struct {
	ctx    context.Context
	place  storage.RangeReader
	object Object
	pos    int64

	mem   []byte // the buffer
	start int64  // of the bytes in it
}

func newWindow(ctx context.Context, place storage.RangeReader, o Object, size int) *window {
	return &window{ctx: ctx, place: place, object: o, mem: make([]byte, 0, size)}
}

// at returns n bytes from off on; n is not larger than the window. They are valid until
// the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	if off < 0 || off > w.object.Size || int64(n) > w.object.Size-off {
		return nil, io.ErrUnexpectedEOF
	}
	if off < w.start || off+int64(n) > w.start+int64(len(w.mem)) {
		mem := w.mem[:min(int64(cap(w.mem)), w.object.Size-off)]
		w.mem = mem[:0]
		if err := storage.ReadRange(w.ctx, w.place, w.object.Name, off, mem); err != nil {
			return nil, err
		}
		w.mem, w.start = mem, off
	}
	return w.mem[off-w.start:][:n], nil
}

func (w *window) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), int64(cap(w.mem)), w.object.Size-w.pos))
	if n <= 0 {
		return 0, io.EOF
	}
	b, err := w.at(w.pos, n)
	if err != nil {
		return 0, err
	}
	w.pos += int64(copy(p, b))
	return n, nil
}

func (w *window) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += w.pos
	case io.SeekEnd:
		off += w.object.Size
	}
	if off < 0 {
		return 0, errors.New("index: seek to a byte before the first")
	}
	w.pos = off
	return off, nil
}

// broken makes an error at a byte of the object one that names both. An error of reading
// stays what it is.
func (w *window) broken(off int64, format string, args ...any) error {
	return &FormatError{w.object.Name, off, fmt.Errorf(format, args...)}
}
