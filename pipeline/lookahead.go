package pipeline

import (
	"context"
	"iter"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Sources that show parts of others, or several, look ahead where those do.

// LookAhead implements datum.PlanReader.
func (p *splitSource) LookAhead() int64 { return lookAheadOf(p.Source) }

// AheadBytes implements datum.PlanReader.
func (p *splitSource) AheadBytes(index int64) int64 {
	return p.Source.(datum.PlanReader).AheadBytes(p.whole(index))
}

// ReadPlan implements datum.PlanReader.
func (p *splitSource) ReadPlan(ctx context.Context, coming iter.Seq[datum.Coming]) (datum.PlanReads, error) {
	reads, err := p.Source.(datum.PlanReader).ReadPlan(ctx, func(yield func(datum.Coming) bool) {
		for c := range coming {
			if c.Index != datum.Elsewhere {
				c.Index = p.whole(c.Index)
			}
			if !yield(c) {
				return
			}
		}
	})
	return &splitReads{reads, p}, err
}

func lookAheadOf(src datum.Source) int64 {
	if p, ok := src.(datum.PlanReader); ok {
		return p.LookAhead()
	}
	return 0
}

// splitReads reads a part of a data set along a plan.
type splitReads struct {
	datum.PlanReads
	of *splitSource
}

func (r *splitReads) Read(ctx context.Context, place, index int64, out []*datum.Tensor) error {
	return r.PlanReads.Read(ctx, place, r.of.whole(index), out)
}

// LookAhead implements datum.PlanReader: each source has memory of its own.
func (m *mixSource) LookAhead() (n int64) {
	for _, s := range m.sources {
		n += lookAheadOf(s)
	}
	return n
}

// AheadBytes implements datum.PlanReader.
func (m *mixSource) AheadBytes(index int64) int64 {
	i, index := m.at(index)
	if lookAheadOf(m.sources[i]) == 0 {
		return 0
	}
	return m.sources[i].(datum.PlanReader).AheadBytes(index)
}

// ReadPlan implements datum.PlanReader. Each source that looks ahead is told what comes of it.
func (m *mixSource) ReadPlan(ctx context.Context, coming iter.Seq[datum.Coming]) (datum.PlanReads, error) {
	all := &mixReads{of: m, reads: make([]datum.PlanReads, len(m.sources))}
	for i, s := range m.sources {
		if lookAheadOf(s) == 0 {
			continue
		}
		reads, err := s.(datum.PlanReader).ReadPlan(ctx, func(yield func(datum.Coming) bool) {
			for c := range coming {
				if !yield(m.of(i, c)) {
					return
				}
			}
		})
		if err != nil {
			all.Close()
			return nil, err
		}
		all.reads[i] = reads
	}
	return all, nil
}

// of returns what comes of source i.
func (m *mixSource) of(i int, c datum.Coming) datum.Coming {
	source := -1
	if c.Index != datum.Elsewhere {
		source, c.Index = m.at(c.Index)
	}
	if source != i {
		c.Index = datum.Elsewhere
	}
	return c
}

// mixReads reads the sources of a mix along a plan.
type mixReads struct {
	of    *mixSource
	reads []datum.PlanReads // by source, nil for one that does not look ahead
}

func (r *mixReads) Read(ctx context.Context, place, index int64, out []*datum.Tensor) error {
	i, index := r.of.at(index)
	if reads := r.reads[i]; reads != nil {
		return reads.Read(ctx, place, index, out)
	}
	return r.of.sources[i].Read(ctx, index, out)
}

func (r *mixReads) Done(first, end int64) {
	for _, reads := range r.reads {
		if reads != nil {
			reads.Done(first, end)
		}
	}
}

func (r *mixReads) Close() {
	for _, reads := range r.reads {
		if reads != nil {
			reads.Close()
		}
	}
}
