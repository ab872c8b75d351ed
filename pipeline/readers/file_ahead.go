package readers

import (
	"context"
	"iter"

	"github.com/planktonml/plankton/internal/lookahead"
	"github.com/planktonml/plankton/pipeline/datum"
)

// LookAhead implements datum.PlanReader.
func (s *fileSource) LookAhead() int64 {
	if !s.files.sized {
		return 0
	}
	return s.lookAhead.bytes
}

// AheadBytes implements datum.PlanReader.
func (s *fileSource) AheadBytes(index int64) int64 {
	_, size := s.files.about(int(index))
	return max(0, size)
}

// AppendRanges implements lookahead.Samples: each file is one range.
func (s *fileSource) AppendRanges(dst []lookahead.Range, index int64) []lookahead.Range {
	return append(dst, lookahead.Range{Object: index, Length: s.AheadBytes(index)})
}

// Object implements lookahead.Samples.
func (s *fileSource) Object(index int64) string { return s.object(int(index)) }

// ReadPlan implements datum.PlanReader.
func (s *fileSource) ReadPlan(ctx context.Context, coming iter.Seq[datum.Coming]) (datum.PlanReads, error) {
	run, err := s.lookAhead.start(ctx, s.remote(), s, coming)
	if err != nil {
		return nil, err
	}
	return &fileReads{run, s}, nil
}

// fileReads reads files along a plan.
type fileReads struct {
	*lookahead.Run
	of *fileSource
}

func (r *fileReads) Read(ctx context.Context, place, index int64, out []*datum.Tensor) error {
	return r.of.readPlace(ctx, ranges{r.of.remote(), r.Run, place, index}, int(index), out)
}
