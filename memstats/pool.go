package memstats

import (
	"fmt"
	"sync/atomic"
)

// Gate is asked before memory is taken. Its methods are called from several
// goroutines.
type Gate interface {
	// Take allows n > 0 more bytes to be held, perhaps after a while, or returns
	// an error.
	Take(n int64) error
	// Give says that n bytes are held no more.
	Give(n int64)
}

// Pool hands out memory of one kind and counts what is held. The zero
// value is a pool of Go memory with the default rules and no bound. A Pool must
// not be copied.
//
// A pool of page-locked or device memory keeps what is freed, for whoever asks
// next, until it has to make room: for a larger block, or because its gate or its
// allocator refuses more. Trim gives it all back, and must come last.
type Pool struct {
	opt  PoolOptions
	gate Gate  // nil: no bound
	root *Pool // whose rules and counts this one has; nil: its own
	idle idle

	rules                          atomic.Pointer[Rules] // nil: the default
	live, peak, spare, allocations atomic.Int64
}

// PoolOptions configures a Pool.
type PoolOptions struct {
	Kind      Kind
	Allocator Allocator // default Heap for host memory; other kinds need one
	Rules     *Rules    // default DefaultRules
	Gate      Gate      // default none
}

// NewPool makes a pool. The error names what is wrong with the rules, or says
// that an allocator is missing.
func NewPool(o PoolOptions) (*Pool, error) {
	if o.Kind > Device {
		return nil, fmt.Errorf("memstats: %v is no kind of memory", o.Kind)
	}
	if o.Allocator == nil && o.Kind != Host {
		return nil, fmt.Errorf("memstats: a pool of %s memory needs an Allocator", o.Kind)
	}
	p := &Pool{opt: o, gate: o.Gate}
	if o.Rules != nil {
		if err := p.SetRules(*o.Rules); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// With returns a pool that is p but for its gate: memory that is allocated from
// it counts as p's and is asked of g.
func (p *Pool) With(g Gate) *Pool {
	p = p.base()
	return &Pool{opt: p.opt, gate: g, root: p}
}

// From returns a pool that is p but for its allocator: memory that is allocated from it
// counts as p's and is asked of p's gate.
func (p *Pool) From(a Allocator) *Pool {
	o := p.opt
	o.Allocator = a
	return &Pool{opt: o, gate: p.gate, root: p.base()}
}

func (p *Pool) base() *Pool {
	if p.root != nil {
		return p.root
	}
	return p
}

var defaultRules = DefaultRules()

// Rules returns the rules that hold now.
func (p *Pool) Rules() Rules { return *p.currentRules() }

func (p *Pool) currentRules() *Rules {
	if r := p.base().rules.Load(); r != nil {
		return r
	}
	return &defaultRules
}

// SetRules changes the rules for what is allocated and trimmed from now on. It
// may be called while the pool is in use.
func (p *Pool) SetRules(r Rules) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("memstats: %w", err)
	}
	p.base().rules.Store(&r)
	return nil
}

// Stats is a snapshot of a Pool.
type Stats struct {
	Live        int64 // bytes held now
	Peak        int64 // the most that Live has been
	Idle        int64 // of Live: bytes of page-locked or device memory that are kept for later
	Allocations int64 // how often memory was allocated
}

// Stats returns the counts of now.
func (p *Pool) Stats() Stats {
	p = p.base()
	return Stats{Live: p.live.Load(), Peak: p.peak.Load(), Idle: p.spare.Load(), Allocations: p.allocations.Load()}
}

// Take counts n > 0 bytes that are held beside the pool's buffers, such as by a
// decoder, after asking the gate for them. If it refuses, it is asked again when
// what is idle has been given back.
func (p *Pool) Take(n int64) error {
	if p.gate != nil {
		err := p.gate.Take(n)
		if err != nil && p.Trim() > 0 {
			err = p.gate.Take(n)
		}
		if err != nil {
			return err
		}
	}
	b := p.base()
	live := b.live.Add(n)
	for {
		peak := b.peak.Load()
		if live <= peak || b.peak.CompareAndSwap(peak, live) {
			return nil
		}
	}
}

// Give says that n of the bytes that were taken are held no more.
func (p *Pool) Give(n int64) {
	p.base().live.Add(-n)
	if p.gate != nil {
		p.gate.Give(n)
	}
}

// Alloc implements Allocator: the pool's own allocator, counted and bounded. The
// slice may have a larger capacity, all of which is its own. n must be positive.
func (p *Pool) Alloc(n int) ([]byte, error) {
	mem, err := p.alloc(n)
	if err != nil {
		return nil, err
	}
	return mem[:n], nil
}

// Free implements Allocator. Nothing may be using the memory, nor work on a device
// that is still on its way.
func (p *Pool) Free(mem []byte) { p.free(mem[:cap(mem)]) }

// Forget says that memory which Alloc has returned is somebody else's from now on. It counts
// no more, and is not to be freed here.
func (p *Pool) Forget(mem []byte) { p.Give(int64(cap(mem))) }

// Trim gives back what is idle, and returns how many bytes that was.
func (p *Pool) Trim() (n int64) {
	for _, mem := range p.idle.takeAll() {
		n += int64(len(mem))
		p.drop(mem)
	}
	return n
}

// alloc returns at least n bytes; they count until free.
func (p *Pool) alloc(n int) ([]byte, error) {
	mem, fits := p.idle.take(n)
	if fits {
		p.base().spare.Add(-int64(len(mem)))
		return mem, nil
	}
	if mem != nil {
		p.drop(mem)
	}
	if err := p.Take(int64(n)); err != nil {
		return nil, err
	}
	var from Allocator = Heap{}
	if p.opt.Allocator != nil {
		from = p.opt.Allocator
	}
	mem, err := from.Alloc(n)
	if err != nil && p.Trim() > 0 {
		mem, err = from.Alloc(n)
	}
	if err != nil {
		p.Give(int64(n))
		return nil, fmt.Errorf("memstats: %d bytes of %s memory: %w", n, p.opt.Kind, err)
	}
	p.base().allocations.Add(1)
	return mem[:n:n], nil
}

func (p *Pool) free(mem []byte) {
	if p.opt.Kind != Device {
		Poison(mem)
	}
	if p.opt.Kind == Host {
		p.giveBack(mem)
		return
	}
	p.base().spare.Add(int64(len(mem)))
	p.idle.keep(mem)
}

// drop gives back a block that is idle no more.
func (p *Pool) drop(mem []byte) {
	p.base().spare.Add(-int64(len(mem)))
	p.giveBack(mem)
}

func (p *Pool) giveBack(mem []byte) {
	if p.opt.Allocator != nil {
		p.opt.Allocator.Free(mem)
	}
	p.Give(int64(len(mem)))
}
