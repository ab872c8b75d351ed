package run

import (
	"context"
	"fmt"
	"iter"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
)

// ForeseenFeed is a Feed that tells what it is going to give, so that readers can fetch it
// ahead (datum.PlanReader).
type ForeseenFeed interface {
	Feed
	// Coming returns what the rows of all batches read from the reader at the given position, from
	// batch 0 on. It may be called, and what it returns be ranged over, while the feed is in use.
	Coming(reader int) iter.Seq[datum.Coming]
}

// lookAhead is what reads along the plan of a run in place of a source. It is nil for a reader
// that does not.
type lookAhead struct {
	reads datum.PlanReads
	bytes int64 // that count as the pipeline's memory
}

// startLookAhead has the readers that can fetch what a run is going to read.
func (r *sampleRegion) startLookAhead(ctx context.Context, feed Feed) error {
	if r.house != nil && r.house.plan.Only {
		return nil // workers elsewhere read what they make
	}
	foreseen, ok := feed.(ForeseenFeed)
	if !ok {
		return nil
	}
	for i := range r.lookAheads {
		n := r.p.Readers()[i].LookAhead()
		if n == 0 {
			continue
		}
		if err := r.e.pool.Take(n); err != nil {
			return err
		}
		reads, err := r.p.Readers()[i].Source.(datum.PlanReader).ReadPlan(ctx, foreseen.Coming(i))
		if err != nil {
			r.e.pool.Give(n)
			return fmt.Errorf("pipeline: reader %q: %w", r.p.Readers()[i].Name, err)
		}
		r.lookAheads[i] = lookAhead{reads, n}
	}
	return nil
}

// stopLookAhead ends the fetching of a run whose workers are parked.
func (r *sampleRegion) stopLookAhead() {
	for i, l := range r.lookAheads {
		if l.reads != nil {
			l.reads.Close()
			r.e.pool.Give(l.bytes)
			r.lookAheads[i] = lookAhead{}
		}
	}
}

// rowsDone tells readers that the rows of a flight are made for good.
func (f *Flight) rowsDone() {
	for _, l := range f.r.lookAheads {
		if l.reads != nil {
			n := int64(len(f.ids))
			l.reads.Done(f.seq*n, (f.seq+1)*n)
		}
	}
}

// checkLookAhead refuses readers that look further ahead than there is memory for: that of the
// machine, or of the budget beside the dense outputs.
func checkLookAhead(p *compiled.Pipeline) error {
	machine, budget := memstats.MachineMemory(), p.Options().MemoryBudget
	dense, _ := p.DenseBytes()
	dense = compiled.AddCapped(dense, p.Options().IndexBytes)
	var used int64
	for _, reader := range p.Readers() {
		n := reader.LookAhead()
		if n == 0 {
			continue
		}
		used = compiled.AddCapped(used, n)
		switch {
		case used > machine:
			return &fault.BuildError{Op: reader.Name, Err: fmt.Errorf("looking %d bytes ahead: %w; lower LookAhead of the reader, or turn it off with -1", n, &memstats.RoomError{Need: used, Machine: machine})}
		case budget > 0 && compiled.AddCapped(dense, used) > budget:
			return &fault.BuildError{Op: reader.Name, Err: fmt.Errorf("LookAhead of the reader counts against MemoryBudget; lower it, or turn it off with -1: %w",
				&memstats.BudgetError{Need: n, Used: compiled.AddCapped(dense, used-n), Limit: budget})}
		}
	}
	return nil
}
