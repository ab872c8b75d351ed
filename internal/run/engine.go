package run

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/streams"
)

// Engine is a compiled pipeline with what its runs have in common: its memory and who owns
// it. It has one run at a time.
type Engine struct {
	p           *compiled.Pipeline
	pool        *memstats.Pool
	outputPools []*memstats.Pool                 // by output, nil where Options.OutputMemory has none for it
	devicePools map[memstats.Kind]*memstats.Pool // page-locked and device memory of Options.Device, if it has any

	latest atomic.Pointer[sampleRegion] // of the latest run, nil before the first

	mu    sync.Mutex
	owned bool
}

// New readies a pipeline to run. It refuses one that needs more memory than there
// is. The error is a *fault.BuildError.
func New(p *compiled.Pipeline) (*Engine, error) {
	if err := checkRoom(p); err != nil {
		return nil, err
	}
	if err := checkBudgets(p); err != nil {
		return nil, err
	}
	if p.Options().Remote != nil && p.Readers()[0].Sequence != nil {
		return nil, &fault.BuildError{Op: p.Readers()[0].Name, Err: errSequence}
	}
	if err := checkLookAhead(p); err != nil {
		return nil, err
	}
	o, e := p.Options(), &Engine{p: p}
	var err error
	if e.pool, err = memstats.NewPool(memstats.PoolOptions{Allocator: o.Allocator, Rules: o.Rules}); err == nil {
		e.devicePools, err = newDevicePools(o.Device, o.Rules)
	}
	if err != nil {
		return nil, &fault.BuildError{Op: "options", Err: err}
	}
	e.setOutputPools()
	return e, nil
}

// setOutputPools asks Options.OutputMemory for what it has.
func (e *Engine) setOutputPools() {
	e.outputPools = make([]*memstats.Pool, len(e.p.Outputs()))
	o := e.p.Options()
	if o.OutputMemory == nil {
		return
	}
	for i, out := range e.p.Shown() {
		if !out.Spec.Dense() || !out.Owns || out.Kind != memstats.Host {
			continue
		}
		if a := o.OutputMemory.Output(out.Name, append([]int{o.BatchSize}, out.Spec.Shape...), out.Spec.DType); a != nil {
			e.outputPools[i] = e.pool.From(a)
		}
	}
}

// outputPool returns the pool for an output.
func (e *Engine) outputPool(i int) *memstats.Pool {
	if pool := e.outputPools[i]; pool != nil {
		return pool
	}
	return e.Pool(e.p.Outputs()[i].Kind)
}

// newDevicePools returns the pools of a device that has memory of its own.
func newDevicePools(device streams.Device, rules *memstats.Rules) (map[memstats.Kind]*memstats.Pool, error) {
	d, ok := device.(accel.Memory)
	if !ok {
		return nil, nil
	}
	pools := map[memstats.Kind]*memstats.Pool{}
	for kind, from := range map[memstats.Kind]memstats.Allocator{memstats.PageLocked: d.HostMemory(), memstats.Device: d.Memory()} {
		pool, err := memstats.NewPool(memstats.PoolOptions{Kind: kind, Allocator: from, Rules: rules})
		if err != nil {
			return nil, err
		}
		pools[kind] = pool
	}
	return pools, nil
}

// Compiled returns the pipeline.
func (e *Engine) Compiled() *compiled.Pipeline { return e.p }

// Pool returns the pool for outputs of a kind, nil where there is none. That of the host
// is for all other buffers, too.
func (e *Engine) Pool(kind memstats.Kind) *memstats.Pool {
	if kind == memstats.Host {
		return e.pool
	}
	return e.devicePools[kind]
}

// trim gives back the memory of Options.Device that was freed.
func (e *Engine) trim() {
	for _, pool := range e.devicePools {
		pool.Trim()
	}
}

// own makes the caller the owner.
func (e *Engine) own() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.owned {
		return fmt.Errorf("%w by another loader; make a pipeline for each", fault.ErrBusy)
	}
	e.owned = true
	return nil
}

func (e *Engine) disown() {
	e.mu.Lock()
	e.owned = false
	e.mu.Unlock()
}
