package pipeline

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/rows"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

// Options configures a pipeline. Only BatchSize has no default.
type Options struct {
	BatchSize     int    // samples in a batch; at least 1. What the machine cannot hold is an error of New
	Workers       int    // goroutines that make samples; default GOMAXPROCS
	PrefetchDepth int    // batches made ahead of the one in use; default 2, or HostPrefetchDepth + 1 + DevicePrefetchDepth
	Seed          uint64 // of shuffling and random operators; default 0

	// HostPrefetchDepth and DevicePrefetchDepth are prefetch depths for the two parts
	// of a pipeline with mixed or device operators: how many batches the sample region
	// makes ahead of the one that the operators for whole batches are at, and how many
	// those make ahead of the one in use. The memory between the parts is there
	// HostPrefetchDepth + 1 times, that behind them DevicePrefetchDepth + 1 times, which
	// is also how many batches the consumer may hold. Give both or none, without
	// PrefetchDepth, Autotune and Concurrency. Results do not depend on them.
	HostPrefetchDepth, DevicePrefetchDepth int

	// ExactRGB decodes pictures as libjpeg-turbo does, to the bit, and resizes
	// them in RGB as NVIDIA DALI does, to one level. By default operators that
	// follow each other may be fused, and colour is converted after resizing,
	// which is faster and differs slightly (docs/operators.md).
	ExactRGB bool

	// EntropyIndex lets decoders leap over what crops of JPEG files do not show, from the
	// second epoch on, at no difference to the samples. It is on by default.
	EntropyIndex EntropyIndex

	// Device runs the operators for whole batches that are not on the host; it
	// stays the caller's. Without one they run on the host. A pipeline works on one
	// device; a loader may have a pipeline for each of several. StreamPolicy gives
	// the operators their streams, at most StreamBudget where that is not 0.
	Device       streams.Device
	StreamPolicy streams.Policy
	StreamBudget int
	// Concurrency limits how many operators for whole batches run at once, the
	// sample region counting as one; default no limit. Under a MemoryBudget the region
	// begins a batch when the operators of the one before it that share its limit are
	// done.
	Concurrency executor.Concurrency

	OnError ErrorPolicy // what becomes of a sample that fails; default Fail

	// RetryFor is for how long an operator or reader is tried again, with pauses, that
	// fails with an error of the machine and not of the sample: too many open files, no
	// memory, a device that cannot be read (EMFILE, ENFILE, ENOMEM, EIO and what Windows
	// has for them), a store that is away (storage.ErrUnavailable). Then a *MachineError ends the run, whatever OnError says. Default
	// one second; a negative time is for no second try.
	RetryFor time.Duration

	// SampleTimeout bounds the time in which workers make one sample; 0, the default,
	// is no bound. A sample that takes longer fails with a *TimeoutError in its
	// *SampleError, under OnError. Its context ends at once (datum.Sample.Context, and that of
	// datum.Source.Read); an operator or reader that does not look at it is not interrupted,
	// and the sample fails when it returns. What a sample waits for memory, for its turn
	// in a datum.Sequence and between tries (RetryFor) does not count. Which samples fail
	// depends on the machine and its load: with Skip or Replace batches are no longer a
	// function of the definition, the seed and the data alone.
	SampleTimeout time.Duration

	// MaxBad ends a run with ErrTooManyBad when more samples than this have
	// failed under Skip or Replace; 0 means no cap. Under Fail a cap is an error of New.
	MaxBad int64
	// MaxBadShare does the same for a share of the samples delivered so far,
	// judged after each batch; 0 means no cap.
	MaxBadShare float64
	// MemoryBudget bounds the bytes that the pipeline's buffers hold of the host,
	// page-locked ones, those of decoders and what readers look ahead included; 0 is no bound. The pipeline
	// slows down instead of exceeding it, and may read and process a sample more than
	// once for that. A sample that cannot fit fails with a *memstats.BudgetError in
	// its *SampleError, a batch that cannot ends the run with a *BatchBudgetError.
	// What the Go runtime needs beside live memory is the program's to bound
	// (debug.SetMemoryLimit); see docs/memory.md.
	MemoryBudget int64
	// DeviceMemoryBudget bounds the bytes that the pipeline's batches hold of the
	// memory of Device; 0 is no bound. They are the same for all batches, so it is New
	// that refuses what does not fit, with a *memstats.BudgetError in a *BuildError
	// that names the operator.
	DeviceMemoryBudget int64
	// BytesPerSample is what every buffer for a sample is presized to;
	// BytesPerSampleHint the same for the outputs of single operators, by their
	// names in Pipeline.OperatorMemory: one size for all outputs of an operator,
	// or one for each.
	BytesPerSample     int
	BytesPerSampleHint map[string][]int
	// EnableMemoryStats lets Pipeline.OperatorMemory tell what each operator
	// needs.
	EnableMemoryStats bool
	// BufferRules say how buffers grow and shrink; default memstats.RulesFromEnv.
	BufferRules *memstats.Rules
	// Allocator is where batches and scratch memory come from; default the Go
	// heap.
	Allocator memstats.Allocator
	// OutputMemory is where the dense outputs of batches on the host come from, each told by
	// its name, shape and type; default Allocator. Batch.Take gives such memory away.
	OutputMemory OutputMemory

	// SetAffinity ties worker i to the i-th CPU of AffinityMask and those beyond
	// its end to the CPUs that CPUsNearDevice names, on a thread of its own; threads
	// that C libraries start in an operator inherit it. Linux only.
	SetAffinity bool
	// AffinityMask lists CPUs; default what the environment variable
	// PLANKTON_AFFINITY_MASK or DALI_AFFINITY_MASK lists, as in 3,5,6,10, else none.
	// CPUs beyond the number of workers have no effect.
	AffinityMask []int
	// CPUsNearDevice finds out which CPUs have the shortest way to the device. Default
	// those that Device names, of which the process may run on some: a GPU names the CPUs
	// of its NUMA node. Where Device names none, all that the process may run on.
	CPUsNearDevice func() ([]int, error)

	// Autotune changes the number of workers and the prefetch depth while the
	// pipeline runs, from Workers and PrefetchDepth on; nil leaves them. Results
	// stay the same, bit for bit.
	Autotune *Autotune

	// Remote has rows made by other processes as well, such as remote.Workers; nil for none.
	// Results are the same, bit for bit. A row is made by whoever is free, and in this process
	// if it does not come in time, so a run neither waits for workers nor fails without
	// them. A pipeline that reads a Sequence cannot have it. What rows need of MemoryBudget
	// counts wherever they are made; beside that each request in flight may hold a value that
	// is compared (docs/remote.md). Where rows cost less than it takes to ask for them, there
	// is nothing to gain.
	Remote rows.Makers

	// Events holds functions to call when something happens.
	Events stats.Events

	// OnSampleError is called for every sample that failed under Skip or
	// Replace, in the order of the batches, by the goroutine that takes them.
	OnSampleError func(*SampleError)
}

// ErrorPolicy says what becomes of a sample that cannot be read or processed.
type ErrorPolicy uint8

const (
	Fail    = ErrorPolicy(compiled.Fail)    // the epoch ends with the sample's error
	Skip    = ErrorPolicy(compiled.Skip)    // its row is zero and not valid
	Replace = ErrorPolicy(compiled.Replace) // its row repeats the nearest earlier good sample of the batch, else the next one
)

var errorPolicies = [...]string{"fail", "skip", "replace"}

// String returns "fail", "skip" or "replace".
func (p ErrorPolicy) String() string {
	if int(p) < len(errorPolicies) {
		return errorPolicies[p]
	}
	return fmt.Sprintf("ErrorPolicy(%d)", uint8(p))
}

// UnmarshalText accepts what String writes.
func (p *ErrorPolicy) UnmarshalText(text []byte) error {
	for i, name := range errorPolicies {
		if strings.EqualFold(name, string(text)) {
			*p = ErrorPolicy(i)
			return nil
		}
	}
	return fmt.Errorf("pipeline: no error policy %q; the policies are %s", text, strings.Join(errorPolicies[:], ", "))
}

const defaultRetryFor = time.Second

func (o Options) withDefaults() Options {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.PrefetchDepth != 0:
	case o.depths():
		o.PrefetchDepth = o.HostPrefetchDepth + 1 + o.DevicePrefetchDepth
	default:
		o.PrefetchDepth = 2
	}
	if o.RetryFor == 0 {
		o.RetryFor = defaultRetryFor
	}
	if o.Autotune != nil {
		a := o.Autotune.withDefaults(o)
		o.Autotune = &a
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.BatchSize < 1:
		return fmt.Errorf("BatchSize is %d; it must be at least 1", o.BatchSize)
	case o.Workers < 1:
		return fmt.Errorf("Workers is %d; it must be at least 1, or 0 for GOMAXPROCS", o.Workers)
	case o.HostPrefetchDepth < 0 || o.DevicePrefetchDepth < 0 || o.depths() && min(o.HostPrefetchDepth, o.DevicePrefetchDepth) == 0:
		return fmt.Errorf("HostPrefetchDepth is %d and DevicePrefetchDepth %d; give both, at least 1, or none", o.HostPrefetchDepth, o.DevicePrefetchDepth)
	case o.depths() && o.PrefetchDepth != o.HostPrefetchDepth+1+o.DevicePrefetchDepth:
		return fmt.Errorf("PrefetchDepth is %d beside HostPrefetchDepth %d and DevicePrefetchDepth %d; leave it out, or leave them out", o.PrefetchDepth, o.HostPrefetchDepth, o.DevicePrefetchDepth)
	case o.PrefetchDepth < 1:
		return fmt.Errorf("PrefetchDepth is %d; it must be at least 1, or 0 for the default", o.PrefetchDepth)
	case o.depths() && (o.Autotune != nil || o.Concurrency != executor.ConcurrencyFull):
		return fmt.Errorf("HostPrefetchDepth and DevicePrefetchDepth are fixed and their parts run at the same time; leave Autotune and Concurrency out")
	case int(o.OnError) >= len(errorPolicies):
		return fmt.Errorf("OnError is %d; it must be Fail, Skip or Replace", o.OnError)
	case o.MemoryBudget < 0 || o.DeviceMemoryBudget < 0 || o.BytesPerSample < 0:
		return fmt.Errorf("MemoryBudget is %d, DeviceMemoryBudget %d and BytesPerSample %d; they must not be negative", o.MemoryBudget, o.DeviceMemoryBudget, o.BytesPerSample)
	case o.MaxBad < 0 || o.MaxBadShare < 0 || o.MaxBadShare > 1:
		return fmt.Errorf("MaxBad is %d and MaxBadShare %g; they must be at least 0, the share at most 1", o.MaxBad, o.MaxBadShare)
	case o.OnError == Fail && (o.MaxBad > 0 || o.MaxBadShare > 0):
		return errors.New("MaxBad and MaxBadShare cap the samples that are skipped or replaced, but OnError is Fail; set it to Skip or Replace, or leave the caps out")
	case o.SampleTimeout < 0:
		return fmt.Errorf("SampleTimeout is %v; it must not be negative, and 0 sets no bound", o.SampleTimeout)
	case o.StreamBudget < 0:
		return fmt.Errorf("StreamBudget is %d; it must not be negative, and 0 sets no bound", o.StreamBudget)
	}
	if err := o.EntropyIndex.validate(); err != nil {
		return err
	}
	if o.Remote != nil {
		if err := o.Remote.Check(); err != nil {
			return err
		}
	}
	if o.Autotune != nil {
		return o.Autotune.validate(o)
	}
	return nil
}

// String writes the options that have an effect, as in
// "batch 64, 2 workers, prefetch 2, seed 1, on error fail".
func (o Options) String() string {
	o = o.withDefaults()
	s := fmt.Sprintf("batch %d, %d workers, prefetch %s, seed %d, on error %s", o.BatchSize, o.Workers, o.prefetch(), o.Seed, o.OnError)
	if o.ExactRGB {
		s += ", exact RGB"
	}
	if o.MaxBad > 0 {
		s += fmt.Sprintf(", at most %d bad", o.MaxBad)
	}
	if o.MaxBadShare > 0 {
		s += fmt.Sprintf(", at most %g %% bad", 100*o.MaxBadShare)
	}
	if o.SampleTimeout > 0 {
		s += fmt.Sprintf(", at most %v a sample", o.SampleTimeout)
	}
	s += o.resources()
	if o.Autotune != nil {
		s += ", " + o.Autotune.String()
	}
	return s
}

// resources describes the options that concern memory and processors, for
// Options.String.
func (o *Options) resources() string {
	var b strings.Builder
	if o.MemoryBudget > 0 {
		fmt.Fprintf(&b, ", at most %d bytes", o.MemoryBudget)
	}
	if o.DeviceMemoryBudget > 0 {
		fmt.Fprintf(&b, ", %d of the device", o.DeviceMemoryBudget)
	}
	if o.SetAffinity {
		b.WriteString(", pinned")
	}
	return b.String()
}
