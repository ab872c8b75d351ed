package run

import (
	"context"
	"slices"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/compiled"
)

// newSlabs allocates the memory of the parts.
func (r *sampleRegion) newSlabs() error {
	for _, of := range []compiled.Part{compiled.OfHost, compiled.OfDevice} {
		for i := range r.p.SlabCount(of) {
			s, err := r.e.newSlab(of, r.use(of, i))
			if err != nil {
				return err
			}
			r.slabs[of] = append(r.slabs[of], s)
		}
	}
	return nil
}

func (r *sampleRegion) freeSlabs() {
	for of := range r.slabs {
		for _, s := range r.slabs[of] {
			s.free()
		}
		r.slabs[of] = nil
	}
}

// slabDispenser lets the batches of a run take the slabs of one part.
type slabDispenser = dispenser[*executor.Call, *slab]

// dispenseSlabs readies the slabs for a run.
func (r *sampleRegion) dispenseSlabs() {
	if !r.p.Options().Depths() {
		return
	}
	for _, of := range []compiled.Part{compiled.OfHost, compiled.OfDevice} {
		for _, f := range r.flights {
			f.takeSlab(of)
		}
		d := newDispenser(r.grantSlab, slices.Clone(r.slabs[of])...)
		for _, s := range r.slabs[of] {
			s.from = d
		}
		r.dispensers[of] = d
	}
}

// grantSlab lends a slab to the batch of a call, which goes on.
func (r *sampleRegion) grantSlab(c *executor.Call, s *slab) {
	s.lend(r.flights[c.Slot()])
	setOutputs(c, true)
	c.Done(nil)
}

// takeHost is the kernel of the node in front of the sample region.
func (r *sampleRegion) takeHost(ctx context.Context, c *executor.Call) error {
	return r.dispensers[compiled.OfHost].take(ctx, c)
}

// freeHost is the kernel of the node behind the operators that read what the sample
// region has made.
func (r *sampleRegion) freeHost(_ context.Context, c *executor.Call) error {
	if c.In(0).Bool() {
		r.flights[c.Slot()].returnSlab(compiled.OfHost)
	}
	return nil
}

// takeDevice is the kernel of the node in front of the operators for whole batches.
func (r *sampleRegion) takeDevice(ctx context.Context, c *executor.Call) error {
	if !c.In(0).Bool() {
		setOutputs(c, false)
		c.Done(nil)
		return nil
	}
	return r.dispensers[compiled.OfDevice].take(ctx, c)
}

// returnSlab ends the batch's part in the memory of a part, if it has any.
func (f *Flight) returnSlab(of compiled.Part) {
	if s := f.takeSlab(of); s != nil {
		s.from.give(s)
	}
}
