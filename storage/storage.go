// Package storage is the seam between readers and the places where data lie: a folder, an
// archive, a bucket. A place is an [fs.FS]: [os.DirFS], [os.Root.FS], [embed.FS],
// [zip.Reader], or a store of a package of its own below this one. What can read a part of
// a file by itself is a [RangeReader], too; [ReadRange] reads a part from any place.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// A RangeReader is a file system that reads a part of a file by itself, without a handle
// and under a context: a bucket needs one request for it.
//
// ReadRange fills dst with the bytes of the file from off on and returns how many it has
// read. It returns fewer than len(dst) only with an error, which is [io.ErrUnexpectedEOF]
// where the file ends before. It returns soon after ctx ends, with ctx's error. Several
// goroutines may call it at once.
type RangeReader interface {
	fs.FS
	ReadRange(ctx context.Context, name string, off int64, dst []byte) (int, error)
}

// A Versioned place tells versions of its files apart: where the version of a file is the
// same, so are its bytes, in this process and in any other.
//
// Version returns the size of a file and a text that names the place, the file and what
// distinguishes its version, such as an entity tag; the text is empty where the server
// says too little to tell. It asks the server only for what was in no list.
type Versioned interface {
	RangeReader
	Version(name string) (version string, size int64, err error)
}

// ReadRange fills dst with the bytes of a file from off on. It asks a [RangeReader]; of
// another file system it opens the file, and reads there where the file is an
// [io.ReaderAt] or an [io.Seeker], or reads and drops what comes before.
// A file that ends before is [io.ErrUnexpectedEOF]. Errors name the file and the range.
func ReadRange(ctx context.Context, fsys fs.FS, name string, off int64, dst []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := readRange(ctx, fsys, name, off, dst)
	if n == len(dst) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: %d of %d bytes from byte %d: %w", name, n, len(dst), off, err)
}

func readRange(ctx context.Context, fsys fs.FS, name string, off int64, dst []byte) (int, error) {
	if r, ok := fsys.(RangeReader); ok {
		return r.ReadRange(ctx, name, off, dst)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if at, ok := f.(io.ReaderAt); ok {
		return at.ReadAt(dst, off)
	}
	if s, ok := f.(io.Seeker); ok {
		_, err = s.Seek(off, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, f, off)
	}
	if err != nil {
		return 0, err
	}
	return io.ReadFull(f, dst)
}
