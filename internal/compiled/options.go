package compiled

import (
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/pipeline/rows"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

// Options are those of pipeline.Options that a run goes by, defaults filled in.
type Options struct {
	BatchSize              int
	Workers, MaxWorkers    int // MaxWorkers is the most that Tuning may come to
	PrefetchDepth          int
	MaxPrefetch            int // likewise
	HostDepth, DeviceDepth int // of parts with depths of their own, else 0
	Seed                   uint64

	Device       streams.Device
	StreamPolicy streams.Policy
	StreamBudget int
	Concurrency  executor.Concurrency

	OnError       Policy
	OnSampleError func(*fault.SampleError)
	MaxBad        int64
	MaxBadShare   float64
	RetryFor      time.Duration
	SampleTimeout time.Duration

	MemoryBudget       int64
	DeviceMemoryBudget int64
	IndexBytes         int64  // set aside from MemoryBudget for what decoders keep
	Closed             func() // called when a run is closed; nil for nothing
	CountMemory        bool   // pipeline.Options.EnableMemoryStats
	Allocator          memstats.Allocator
	OutputMemory       OutputMemory
	Rules              *memstats.Rules

	Remote rows.Makers // nil without

	CPUs   *CPUs   // that workers are tied to, nil for any
	Tuning *Tuning // nil without
	Events stats.Events
}

// OutputMemory is pipeline.OutputMemory.
type OutputMemory interface {
	Output(name string, shape []int, dtype datum.DType) memstats.Allocator
}

// Policy says what becomes of a sample that fails.
type Policy uint8

const (
	Fail    Policy = iota // it ends the run
	Skip                  // its row is not valid
	Replace               // its row repeats another one
)

// Tuning is what is left of pipeline.Autotune.
type Tuning struct {
	MaxMemory int64
	Interval  time.Duration
}

// CPUs says what the workers are tied to, on threads of their own.
type CPUs struct {
	Mask []int // CPU of worker i
	Near []int // those of the workers beyond
}

// Depths reports whether the parts of the pipeline have prefetch depths of their own.
func (o *Options) Depths() bool { return o.HostDepth != 0 || o.DeviceDepth != 0 }

// DepthName returns the option that says how many batches the consumer may hold.
func (o *Options) DepthName() string {
	if o.Depths() {
		return "DevicePrefetchDepth"
	}
	return "PrefetchDepth"
}

// Slots returns the most batches that a run may have in memory.
func (o *Options) Slots() int { return o.MaxPrefetch + 1 }
