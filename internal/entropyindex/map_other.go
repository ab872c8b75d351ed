//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package entropyindex

import (
	"io"
	"os"
)

// mapping is a part of a file that was read.
type mapping []uint64

func newMapping(f *os.File, at, n int64) (mapping, error) {
	m := make(mapping, n/8)
	_, err := io.ReadFull(io.NewSectionReader(f, at, n), bytesOf(m))
	return m, err
}

func (m mapping) words() []uint64 { return m }

func (m mapping) unmap() {}
