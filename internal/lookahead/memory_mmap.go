//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package lookahead

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mapMemory returns memory outside of Go's heap, so that the garbage collector keeps no room
// beside it.
func mapMemory(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of memory to look ahead: %w", n, err)
	}
	preferLargePages(mem)
	return mem, nil
}

func unmapMemory(mem []byte) { _ = unix.Munmap(mem) }
