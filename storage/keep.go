package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// pieceBytes is how much of a file is read at a time, so that a cancelled read ends soon.
const pieceBytes = 4 << 20

// Keep returns fsys with the files that were read last kept open, at most so many of
// them, so that reading a part costs no opening. A RangeReader comes back as it is, since
// it opens nothing. What was read of a file goes on being read where another file takes
// its name. Files that are not kept any more, and all of them when what Keep returns is
// garbage, are closed by the runtime. Files that cannot be read in the middle, such as
// those of a compressed zip archive, are opened for every part.
func Keep(fsys fs.FS, limit int) RangeReader {
	if r, ok := fsys.(RangeReader); ok {
		return r
	}
	return &Kept{fsys: fsys, limit: max(1, limit), open: map[string]io.ReaderAt{}}
}

// KeepFolder is Keep for a folder of the machine. Readers name the folder in messages.
func KeepFolder(dir string, limit int) *Kept {
	return &Kept{fsys: os.DirFS(dir), folder: dir, limit: max(1, limit), open: map[string]io.ReaderAt{}}
}

// Kept is a place whose files stay open; see [Keep].
type Kept struct {
	fsys   fs.FS
	folder string // of KeepFolder
	limit  int

	mu     sync.RWMutex
	open   map[string]io.ReaderAt // nil for a file that cannot be read in the middle
	names  []string               // of open, the one opened first in front
	closed bool
}

// Folder returns the folder of KeepFolder, "" for other places.
func (k *Kept) Folder() string { return k.folder }

// Close closes the files that are open. Reading a part of a file is an error from then on,
// fs.ErrClosed, also where it has begun. The place that is kept stays as it is.
func (k *Kept) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, f := range k.open {
		if c, ok := f.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	k.closed = true
	k.names = nil
	clear(k.open)
	return errors.Join(errs...)
}

// Open opens a file of the place anew.
func (k *Kept) Open(name string) (fs.File, error) { return k.fsys.Open(name) }

// Stat describes a file.
func (k *Kept) Stat(name string) (fs.FileInfo, error) { return fs.Stat(k.fsys, name) }

// ReadDir lists a folder.
func (k *Kept) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(k.fsys, name) }

// File returns the open file of a name, nil where it cannot be read in the middle. The
// file stays the Kept's and may be closed at any time.
func (k *Kept) File(name string) (io.ReaderAt, error) {
	k.mu.RLock()
	f, ok := k.open[name]
	k.mu.RUnlock()
	if ok {
		return f, nil
	}
	return k.add(name)
}

// add opens a file. Two goroutines may open the same one: the second keeps the first's.
func (k *Kept) add(name string) (io.ReaderAt, error) {
	opened, err := k.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	at, middle := opened.(io.ReaderAt)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		_ = opened.Close()
		return nil, fs.ErrClosed
	}
	if f, ok := k.open[name]; ok {
		return f, opened.Close()
	}
	if len(k.names) == k.limit {
		if c, ok := k.open[k.names[0]].(io.Closer); ok {
			_ = c.Close()
		}
		delete(k.open, k.names[0])
		k.names = append(k.names[:0], k.names[1:]...)
	}
	k.names = append(k.names, name)
	if !middle {
		k.open[name] = nil
		return nil, opened.Close()
	}
	k.open[name] = at
	return at, nil
}

// has reports whether a file is kept open still.
func (k *Kept) has(name string, f io.ReaderAt) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.open[name] == f
}

// ReadRange implements [RangeReader].
func (k *Kept) ReadRange(ctx context.Context, name string, off int64, dst []byte) (n int, err error) {
	for n < len(dst) {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		f, err := k.File(name)
		if err != nil {
			return n, err
		}
		if f == nil {
			got, err := readRange(ctx, k.fsys, name, off+int64(n), dst[n:])
			return n + got, err
		}
		got, err := f.ReadAt(dst[n:n+min(pieceBytes, len(dst)-n)], off+int64(n))
		n += got
		switch {
		case errors.Is(err, fs.ErrClosed) && !k.has(name, f): // another goroutine needed the room for its file
		case errors.Is(err, io.EOF) && n == len(dst):
		case errors.Is(err, io.EOF):
			return n, io.ErrUnexpectedEOF
		case err != nil:
			return n, err
		}
	}
	return n, nil
}
