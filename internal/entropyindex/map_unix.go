//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package entropyindex

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a part of a file in memory, which other processes may share.
type mapping []byte

func newMapping(f *os.File, at, n int64) (mapping, error) {
	return unix.Mmap(int(f.Fd()), at, int(n), unix.PROT_READ, unix.MAP_SHARED)
}

func (m mapping) words() []uint64 { return wordsOf(m) }

func (m mapping) unmap() { _ = unix.Munmap(m) }
