package objectfs

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/planktonml/plankton/internal/transfer"
)

// What is read at a time where nobody says how much is needed: of a file that was never in
// a list at first, and then more and more.
const (
	firstRead = 256 << 10
	mostRead  = 8 << 20
)

// openFile is an open object. Reading one after the other it reads ahead.
type openFile struct {
	fs         *FS
	name, full string
	version    transfer.Version
	size       int64

	closed bool
	pos    int64
	ahead  []byte // what was read from byte start on
	start  int64
	next   int // how much to read at least
}

// begin reads the beginning of an object that is not known, and reports whether it is
// there; a folder may be in its place.
func (o *openFile) begin() (found bool, err error) {
	t := o.fs.tree
	o.ahead = make([]byte, firstRead)
	n, is, err := t.read(t.ctx, o.full, 0, o.ahead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e, findErr := t.find(o.full)
		if findErr == nil && e.Folder {
			return false, nil
		}
		return false, err
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, err
	}
	o.ahead, o.version, o.size = o.ahead[:n], is, is.Size
	if o.size < 0 {
		if err == nil {
			return false, errors.New("the server does not say how long the object is")
		}
		o.size = int64(n)
	}
	return true, nil
}

// Stat returns what is known of the file.
func (o *openFile) Stat() (fs.FileInfo, error) {
	if o.closed {
		return nil, failed("stat", o.name, fs.ErrClosed)
	}
	return &info{Entry{Name: path.Base(o.name), Version: o.version}}, nil
}

func (o *openFile) Close() error {
	if o.closed {
		return failed("close", o.name, fs.ErrClosed)
	}
	o.closed, o.ahead = true, nil
	return nil
}

func (o *openFile) Read(dst []byte) (int, error) {
	switch {
	case o.closed:
		return 0, failed("read", o.name, fs.ErrClosed)
	case len(dst) == 0:
		return 0, nil
	case o.pos >= o.size:
		return 0, io.EOF
	}
	dst = dst[:min(int64(len(dst)), o.size-o.pos)]
	if o.pos < o.start || o.pos >= o.start+int64(len(o.ahead)) {
		if o.next = max(o.next, firstRead); len(dst) >= o.next {
			n, err := o.ReadAt(dst, o.pos)
			o.pos += int64(n)
			return n, err
		}
		if err := o.readAhead(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, o.ahead[o.pos-o.start:])
	o.pos += int64(n)
	return n, nil
}

// readAhead reads from the position on, more than the last time.
func (o *openFile) readAhead() error {
	n := int(min(int64(o.next), o.size-o.pos))
	if cap(o.ahead) < n {
		o.ahead = make([]byte, n)
	}
	o.ahead, o.start = o.ahead[:n], o.pos
	if got, err := o.ReadAt(o.ahead, o.pos); err != nil {
		o.ahead = o.ahead[:got]
		return err
	}
	o.next = min(2*o.next, mostRead)
	return nil
}

// ReadAt reads without a look at the position, and may be called by several goroutines at
// once.
func (o *openFile) ReadAt(dst []byte, off int64) (int, error) {
	switch {
	case o.closed:
		return 0, failed("read", o.name, fs.ErrClosed)
	case off < 0:
		return 0, failed("read", o.name, fs.ErrInvalid)
	case off >= o.size:
		return 0, io.EOF
	}
	whole := len(dst)
	dst = dst[:min(int64(whole), o.size-off)]
	n, _, err := o.fs.tree.read(o.fs.tree.ctx, o.full, off, dst)
	if err == nil && n < whole {
		err = io.EOF
	} else if err != nil {
		err = failed("read", o.name, err)
	}
	return n, err
}

func (o *openFile) Seek(offset int64, whence int) (int64, error) {
	if o.closed {
		return 0, failed("seek", o.name, fs.ErrClosed)
	}
	switch whence {
	case io.SeekCurrent:
		offset += o.pos
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return 0, failed("seek", o.name, fs.ErrInvalid)
	}
	o.pos = offset
	return offset, nil
}

// openFolder is an open folder.
type openFolder struct {
	fs      *FS
	name    string
	closed  bool
	listed  bool
	entries []fs.DirEntry // those that were not handed out
}

func (o *openFolder) Stat() (fs.FileInfo, error) {
	if o.closed {
		return nil, failed("stat", o.name, fs.ErrClosed)
	}
	return &info{Entry{Name: path.Base(o.name), Folder: true}}, nil
}

func (o *openFolder) Read([]byte) (int, error) { return 0, failed("read", o.name, errFolder) }

func (o *openFolder) Close() error {
	if o.closed {
		return failed("close", o.name, fs.ErrClosed)
	}
	o.closed = true
	return nil
}

func (o *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if o.closed {
		return nil, failed("readdir", o.name, fs.ErrClosed)
	}
	if !o.listed {
		entries, err := o.fs.ReadDir(o.name)
		if err != nil {
			return nil, err
		}
		o.entries, o.listed = entries, true
	}
	part := o.entries
	if n > 0 {
		if len(part) == 0 {
			return nil, io.EOF
		}
		part = part[:min(n, len(part))]
	}
	o.entries = o.entries[len(part):]
	return part, nil
}
