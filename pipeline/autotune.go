package pipeline

import (
	"fmt"
	"runtime"
	"time"
)

// Autotune lets a pipeline choose its number of workers and its prefetch depth
// by itself. Every Interval it looks at the verdict on the time since the last
// look and changes one of the two by a step; a change that does not pay is taken
// back, and tried again ever more seldom.
//
// Workers and PrefetchDepth of the Options are where it begins. The depth never
// goes below its beginning, so that a program may hold as many batches as
// without Autotune.
type Autotune struct {
	// MaxWorkers is the most workers; default four for each of GOMAXPROCS, or
	// Options.Workers if that is more. As many kernels are made at once, but
	// their scratch memory is taken only when they work.
	MaxWorkers int

	// MaxPrefetch is the greatest prefetch depth; default 8, or
	// Options.PrefetchDepth if that is more. The memory of a batch is taken when
	// the depth first needs it, and kept.
	MaxPrefetch int

	// MaxMemory is how many bytes the pipeline's buffers are expected to hold at
	// the most after a change that needs memory; 0 is no limit. It is a forecast
	// by what they hold now.
	MaxMemory int64

	// Interval is how often the tuner looks; default half a second of the
	// pipeline's time, and never less than four batches.
	Interval time.Duration
}

func (a Autotune) withDefaults(o Options) Autotune {
	if a.MaxWorkers == 0 {
		a.MaxWorkers = max(4*runtime.GOMAXPROCS(0), o.Workers)
	}
	if a.MaxPrefetch == 0 {
		a.MaxPrefetch = max(8, o.PrefetchDepth)
	}
	if a.Interval == 0 {
		a.Interval = 500 * time.Millisecond
	}
	return a
}

func (a *Autotune) validate(o Options) error {
	switch {
	case a.MaxWorkers < o.Workers:
		return fmt.Errorf("option Autotune.MaxWorkers is %d; it must be at least Workers, %d", a.MaxWorkers, o.Workers)
	case a.MaxPrefetch < o.PrefetchDepth:
		return fmt.Errorf("option Autotune.MaxPrefetch is %d; it must be at least PrefetchDepth, %d", a.MaxPrefetch, o.PrefetchDepth)
	case a.MaxMemory < 0 || a.Interval < 0:
		return fmt.Errorf("option Autotune.MaxMemory is %d and Interval %v; they must not be negative", a.MaxMemory, a.Interval)
	}
	return nil
}

// String writes the limits, as in "tuned up to 8 workers and prefetch 8".
func (a *Autotune) String() string {
	s := fmt.Sprintf("tuned up to %d workers and prefetch %d", a.MaxWorkers, a.MaxPrefetch)
	if a.MaxMemory > 0 {
		s += fmt.Sprintf(" within %d bytes", a.MaxMemory)
	}
	return s
}
