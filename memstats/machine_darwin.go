package memstats

import (
	"math"

	"golang.org/x/sys/unix"
)

func systemMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(min(n, math.MaxInt64))
}
