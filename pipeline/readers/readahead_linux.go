package readers

import (
	"context"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/storage"
)

// Prefetch implements datum.Prefetcher: it asks the system to bring a file into
// the page cache, and does not wait for that.
func (s *fileSource) Prefetch(_ context.Context, index int64) (fetched bool) {
	if s.place != nil {
		return false
	}
	var room [nameRoom]byte
	name, _ := s.appendName(room[:0], int(index))
	f, err := openHandle(name)
	if err != nil {
		return false
	}
	defer f.close()
	if f.cached(0) {
		return false
	}
	return unix.Fadvise(int(f), 0, 0, unix.FADV_WILLNEED) == nil
}

// ReadAhead implements datum.Prefetcher.
func (s *fileSource) ReadAhead() int {
	if s.place != nil {
		return -1
	}
	return s.readAhead
}

// Prefetch implements datum.Prefetcher: it asks the system to bring the sample's part of a
// shard into the page cache. The file may be closed meanwhile, where another one needs its
// place; then the advice is lost, or given for another file, and does no harm.
func (s *shardsSource) Prefetch(_ context.Context, sample int64) (fetched bool) {
	kept, ok := s.place.(*storage.Kept)
	if !ok {
		return false
	}
	file, err := kept.File(s.index.Objects()[s.index.Object(sample)].Name)
	f, ok := file.(*os.File)
	if err != nil || !ok {
		return false
	}
	h := handle(f.Fd())
	for i := range s.members {
		p, err := s.partOf(sample, &s.members[i])
		if err != nil || h.cached(p.Offset) {
			continue
		}
		fetched = unix.Fadvise(int(h), p.Offset, p.Length, unix.FADV_WILLNEED) == nil || fetched
	}
	return fetched
}

// ReadAhead implements datum.Prefetcher.
func (s *shardsSource) ReadAhead() int {
	if !s.local() {
		return -1
	}
	return s.readAhead
}

// cached reports whether a byte of the file is in the page cache. Where the
// file system cannot tell it is false. Asking makes some kernels begin to read.
func (h handle) cached(off int64) bool {
	// Not unix.Preadv2, which allocates.
	var first [1]byte
	iov := unix.Iovec{Base: &first[0]}
	iov.SetLen(len(first))
	n, _, _ := unix.Syscall6(unix.SYS_PREADV2, uintptr(h), uintptr(unsafe.Pointer(&iov)), 1, uintptr(off), uintptr(off>>32), unix.RWF_NOWAIT)
	return n == 1
}
