//go:build !unix

package main

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// cpuTime returns the processor time of this process as the Go runtime
// estimates it.
func cpuTime() time.Duration {
	s := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return time.Duration((s[0].Value.Float64() + s[1].Value.Float64()) * float64(time.Second))
}

// peakRSS returns the memory that the Go runtime has taken from the system.
func peakRSS() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
