package metamorphic

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

// execution is what must not decide a batch.
type execution struct {
	workers, depth int
	parts          [2]int // prefetch depths of the host and the device part, or 0
	tuned          bool
	concurrency    executor.Concurrency
	device         bool
	policy         streams.Policy
	budget         float64 // in units of what the case needs at the least; 0 is none
	stats, hooks   bool
	hint           int
	bounded        bool // the time of a sample, never reached
	shrink         float64
}

// reference is the execution that decides what is right. With a limit to the time of a sample
// rows are made one by one.
var reference = execution{workers: 1, depth: 1, shrink: 0.9, bounded: true}

func execute(d draws, f *definition) execution {
	e := execution{
		workers: d.between(1, 8), depth: d.between(1, 8), tuned: d.oneIn(4), stats: d.oneIn(4), hooks: d.oneIn(4),
		concurrency: pick(d, executor.ConcurrencyFull, executor.ConcurrencyFull, executor.ConcurrencyBackend, executor.ConcurrencyNone),
		device:      d.oneIn(2), policy: pick(d, streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal),
		shrink: pick(d, 0, 0.9, 1), bounded: d.oneIn(3),
	}
	if d.oneIn(2) {
		e.budget = pick(d, 0.5, 0.8, 1.0, 1.2, 2.0)
	}
	if f.gathered && !d.oneIn(4) { // else rows are made one by one
		e.budget, e.stats, e.hooks, e.bounded = 0, false, false, false
	}
	if f.sequence > 0 && e.budget > 0 {
		e.budget = max(e.budget, 1) // a sample that is left out for want of memory would move the end of an epoch
	}
	if e.budget == 0 && d.oneIn(4) {
		e.hint = d.between(1, 500)
	}
	twoParts := slices.ContainsFunc(f.wholeOps, func(b executor.Backend) bool { return b != executor.Host })
	if twoParts && !e.tuned && e.concurrency == executor.ConcurrencyFull && d.oneIn(3) {
		e.parts = [2]int{d.between(1, 3), d.between(1, 3)}
	}
	return e
}

// holds returns how many batches the consumer may hold while it asks for another.
func (e *execution) holds() int {
	if e.parts[1] > 0 {
		return e.parts[1]
	}
	return e.depth
}

// opened is a loader with what is to be closed and checked after it.
type opened struct {
	*iterator.Loader
	pipes  []*pipeline.Pipeline
	host   streams.Device
	memory *memstats.Checked
	events atomic.Int64
}

// open makes the loader of a definition. Need is what the case needs at the least beside
// dense outputs.
func (f *definition) open(e execution, need int64) (*opened, error) {
	o := &opened{memory: memstats.NewChecked(memstats.Heap{})}
	opt := pipeline.Options{
		BatchSize: f.batch, Workers: e.workers, PrefetchDepth: e.depth, Seed: f.chance, ExactRGB: f.exact, OnError: f.onError,
		Concurrency: e.concurrency, StreamPolicy: e.policy, EnableMemoryStats: e.stats, BytesPerSample: e.hint, Allocator: o.memory,
		BufferRules: &memstats.Rules{HostShrinkThreshold: e.shrink, HostGrowthFactor: 1, DeviceGrowthFactor: 1},
	}
	if e.bounded {
		opt.SampleTimeout = time.Hour
	}
	if e.parts != [2]int{} {
		opt.PrefetchDepth, opt.HostPrefetchDepth, opt.DevicePrefetchDepth = 0, e.parts[0], e.parts[1]
	}
	if e.tuned {
		opt.Autotune = &pipeline.Autotune{MaxWorkers: e.workers + 3, MaxPrefetch: e.depth + 3, Interval: time.Microsecond}
	}
	if e.device {
		o.host = streams.NewHost()
		opt.Device = o.host
	}
	if e.budget > 0 {
		dense, err := f.dense(opt)
		if err != nil {
			return nil, err
		}
		opt.MemoryBudget = dense + int64(e.budget*float64(need))
	}
	if e.hooks {
		count := func(stats.BatchEvent) { o.events.Add(1) }
		opt.Events = stats.Events{BatchBegun: count, BatchMade: count, BatchFinished: count, BatchDelivered: count, BatchReleased: count}
		opt.Events.Operator = func(stats.OperatorEvent) { o.events.Add(1) }
		opt.Events.WorkerWaited = func(stats.WaitEvent) { o.events.Add(1) }
	}
	for _, shard := range f.shards {
		p, err := pipeline.New(opt, f.graph(shard))
		if err != nil {
			o.close()
			return nil, err
		}
		o.pipes = append(o.pipes, p)
	}
	loader := f.loader
	if driver := o.pipes[0].Readers()[0]; f.sampled != nil && driver.Sources == nil {
		f.sampled(f, &loader, driver.Len())
	}
	var err error
	if o.Loader, err = iterator.New(loader, o.pipes...); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// dense returns what New sets aside for dense outputs and to look ahead.
func (f *definition) dense(opt pipeline.Options) (int64, error) {
	p, err := pipeline.New(opt, f.graph(f.shards[0]))
	if err != nil {
		return 0, err
	}
	opt.MemoryBudget = 1
	_, err = pipeline.New(opt, f.graph(f.shards[0]))
	var over *memstats.BudgetError
	switch {
	case err == nil || strings.Contains(err.Error(), "LookAhead"): // there are no dense outputs
		return 1 + lookAhead(p), nil
	case errors.As(err, &over):
		return over.Need + over.Used + lookAhead(p), nil
	}
	return 0, err
}

// close ends a loader and says what it has left behind.
func (o *opened) close() error {
	var err error
	if o.Loader != nil {
		err = o.Loader.Close()
	}
	if o.host != nil {
		err = firstOf(err, o.host.Close())
	}
	return firstOf(err, o.memory.Check())
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
