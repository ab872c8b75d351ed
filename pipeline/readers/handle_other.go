//go:build !linux

package readers

import (
	"io"
	"os"
	"path/filepath"
)

// handle is an open file.
type handle struct{ f *os.File }

func openHandle(name []byte) (handle, error) {
	f, err := os.OpenFile(string(name), os.O_RDONLY|nonblocking, 0)
	return handle{f}, cause(err) // the pipeline names the file
}

// size returns the size of a regular file; anything else is an error.
func (h handle) size() (int64, error) {
	info, err := h.f.Stat()
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, notRegular(info.Mode())
	}
	return info.Size(), nil
}

// readAt returns 0 at the end of the file.
func (h handle) readAt(mem []byte, offset int64) (int, error) {
	n, err := h.f.ReadAt(mem, offset)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (h handle) close() { _ = h.f.Close() }

func isAbs(path []byte) bool { return filepath.IsAbs(string(path)) }
