//go:build unix

package usage

import (
	"runtime"
	"syscall"
	"time"
)

// CPU returns the processor time of this process, 0 where the system does not
// tell.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakMemory returns the most memory that was resident, in bytes; 0 where the
// system does not tell. Where it cannot be asked, it is the memory that the Go
// runtime has taken from it.
func PeakMemory() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
