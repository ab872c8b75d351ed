//go:build unix

package usage

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
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
	if n, ok := highWater(); ok {
		return n
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// highWater reads the peak from Linux's files, since what Getrusage says there
// includes the program that started this one.
func highWater() (int64, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(status, []byte("\nVmHWM:"))
	if !ok {
		return 0, false
	}
	fields := bytes.Fields(rest)
	if len(fields) < 2 || string(fields[1]) != "kB" {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return n << 10, err == nil
}
