package main

import (
	"bytes"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/pipeline/datum"
)

// evict drops the files of a source from the page cache and returns how many are
// gone from it. Folders and inodes stay in memory: only root can drop those.
func evict(src datum.Source) (gone int64, err error) {
	for i := range src.Len() {
		cold, err := evictFile(src.Describe(i))
		if err != nil {
			return gone, err
		}
		if cold {
			gone++
		}
	}
	return gone, nil
}

func evictFile(path string) (cold bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // what is not on the disk yet cannot be dropped
		return false, err
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return false, err
	}
	return uncached(f)
}

// uncached reports whether no page of a file is in the page cache. It looks
// without reading, which might make the system read ahead.
func uncached(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false, fmt.Errorf("%s: mmap: %w", f.Name(), err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	resident := make([]byte, (len(mem)+os.Getpagesize()-1)/os.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&resident[0])))
	if errno != 0 {
		return false, fmt.Errorf("%s: mincore: %w", f.Name(), errno)
	}
	return bytes.IndexByte(resident, 1) < 0, nil
}
