//go:build !unix && !windows

package usage

import (
	"runtime"
	"time"
)

// CPU returns 0: this system does not tell.
func CPU() time.Duration { return 0 }

// PeakMemory returns the memory that the Go runtime has taken from the system.
func PeakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
