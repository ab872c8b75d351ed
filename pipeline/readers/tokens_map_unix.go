//go:build linux || darwin || freebsd || netbsd || openbsd

package readers

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// mapFile maps the file into memory, until nothing refers to it. Where that cannot be, as on some network shares and
// beyond the number of maps that a process may have, it is read by calls, with the same results.
func (f *tokenFile) mapFile(size int64) {
	if !mappable(size) {
		return
	}
	mem, err := unix.Mmap(int(f.data.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return
	}
	f.mapped = mem
	f.unmap = runtime.AddCleanup(f, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
}

// close closes the file, which must not be read any more.
func (f *tokenFile) close() {
	f.data.Close()
	if f.mapped != nil {
		f.unmap.Stop()
		_ = unix.Munmap(f.mapped)
		f.mapped = nil
	}
}
