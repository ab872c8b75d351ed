package readers

import (
	"context"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Prefetch implements datum.Prefetcher: it asks the system to bring a file into
// the page cache, and does not wait for that.
func (s *fileSource) Prefetch(_ context.Context, index int64) (fetched bool) {
	f, err := openHandle(s.root, s.paths.at(int(index)))
	if err != nil {
		return false
	}
	defer f.close()
	if f.cached() {
		return false
	}
	return unix.Fadvise(int(f), 0, 0, unix.FADV_WILLNEED) == nil
}

// ReadAhead implements datum.Prefetcher.
func (s *fileSource) ReadAhead() int { return s.readAhead }

// cached reports whether the beginning of the file is in the page cache. Where the
// file system cannot tell it is false. Asking makes some kernels begin to read.
func (h handle) cached() bool {
	// Not unix.Preadv2, which allocates.
	var first [1]byte
	iov := unix.Iovec{Base: &first[0]}
	iov.SetLen(len(first))
	n, _, _ := unix.Syscall6(unix.SYS_PREADV2, uintptr(h), uintptr(unsafe.Pointer(&iov)), 1, 0, 0, unix.RWF_NOWAIT)
	return n == 1
}
