package pipeline

import (
	"context"
	"slices"
	"sync"

	"github.com/planktonml/plankton/executor"
)

// newSlabs allocates the memory of the parts.
func (r *hostRegion) newSlabs() error {
	for _, of := range []part{ofHost, ofDevice} {
		for i := range r.p.slabCount(of) {
			s, err := r.p.newSlab(of, r.use(of, i))
			if err != nil {
				return err
			}
			r.slabs[of] = append(r.slabs[of], s)
		}
	}
	return nil
}

func (r *hostRegion) freeSlabs() {
	for of := range r.slabs {
		for _, s := range r.slabs[of] {
			s.free()
		}
		r.slabs[of] = nil
	}
}

// startSlots readies the slabs for a run.
func (r *hostRegion) startSlots() {
	if !r.p.opt.depths() {
		return
	}
	for _, of := range []part{ofHost, ofDevice} {
		for _, b := range r.batches {
			b.takeSlab(of)
		}
		r.slots[of] = r.newSlots(r.slabs[of])
	}
}

// takeHost is the kernel of the node in front of the sample region.
func (r *hostRegion) takeHost(ctx context.Context, c *executor.Call) error {
	return r.slots[ofHost].take(ctx, c)
}

// freeHost is the kernel of the node behind the operators that read what the sample
// region has made.
func (r *hostRegion) freeHost(_ context.Context, c *executor.Call) error {
	if c.In(0).Bool() {
		r.batches[c.Slot()].returnSlab(ofHost)
	}
	return nil
}

// takeDevice is the kernel of the node in front of the operators for whole batches.
func (r *hostRegion) takeDevice(ctx context.Context, c *executor.Call) error {
	if !c.In(0).Bool() {
		tell(c, false)
		c.Done(nil)
		return nil
	}
	return r.slots[ofDevice].take(ctx, c)
}

// returnSlab ends the batch's part in the memory of a part, if it has any.
func (b *Batch) returnSlab(of part) {
	if s := b.takeSlab(of); s != nil {
		s.from.give(s)
	}
}

// slots lets the batches of one run take the slabs of one part of the pipeline, in
// the order of the batches, where the parts have prefetch depths of their own. A
// batch waits when there is none, which keeps no goroutine.
type slots struct {
	r *hostRegion

	mu      sync.Mutex
	free    []*slab
	waiting []*executor.Call // only while free is empty
	watched bool
	over    bool
}

func (r *hostRegion) newSlots(slabs []*slab) *slots {
	s := &slots{r: r, free: slices.Clone(slabs)}
	for _, mem := range slabs {
		mem.from = s
	}
	return s
}

// take is the kernel of an async node that is finished when its batch has a slab.
func (s *slots) take(ctx context.Context, c *executor.Call) error {
	mem, err := s.next(ctx, c)
	if mem == nil {
		return err
	}
	s.grant(c, mem)
	return nil
}

// grant lends a slab to the batch of a call, which goes on.
func (s *slots) grant(c *executor.Call, mem *slab) {
	mem.lend(s.r.batches[c.Slot()])
	tell(c, true)
	c.Done(nil)
}

// next returns a free slab, or keeps the call until there is one.
func (s *slots) next(ctx context.Context, c *executor.Call) (*slab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, errAbandoned
	}
	if !s.watched {
		s.watched = true
		context.AfterFunc(ctx, s.abandon)
	}
	n := len(s.free)
	if n == 0 {
		s.waiting = append(s.waiting, c)
		return nil, nil
	}
	mem := s.free[n-1]
	s.free = s.free[:n-1]
	return mem, nil
}

// give takes a slab back, and the batch that waited for it goes on.
func (s *slots) give(mem *slab) {
	s.mu.Lock()
	if len(s.waiting) == 0 {
		s.free = append(s.free, mem)
		s.mu.Unlock()
		return
	}
	c := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.mu.Unlock()
	s.grant(c, mem)
}

// abandon ends what waits when the run ends.
func (s *slots) abandon() {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting, s.over = nil, true
	s.mu.Unlock()
	for _, c := range waiting {
		c.Done(errAbandoned)
	}
}
