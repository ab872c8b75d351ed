package readers

import (
	"context"
	"iter"

	"github.com/planktonml/plankton/internal/lookahead"
	"github.com/planktonml/plankton/pipeline/datum"
)

// LookAhead implements datum.PlanReader.
func (s *shardsSource) LookAhead() int64 { return s.lookAhead.bytes }

// AheadBytes implements datum.PlanReader.
func (s *shardsSource) AheadBytes(sample int64) (n int64) {
	var room [8]lookahead.Range
	for _, r := range s.AppendRanges(room[:0], sample) {
		n += r.Length
	}
	return n
}

// AppendRanges implements lookahead.Samples: what read asks for.
func (s *shardsSource) AppendRanges(dst []lookahead.Range, sample int64) []lookahead.Range {
	if s.index.Wrong(sample) != nil {
		return dst
	}
	object := int64(s.index.Object(sample))
	if s.index.Framed() {
		p := s.index.Frame(sample)
		return append(dst, lookahead.Range{Object: object, Offset: p.Offset, Length: p.Length})
	}
	for i := range s.members {
		p, err := s.partOf(sample, &s.members[i])
		if err != nil {
			break // read asks for nothing more
		}
		dst = append(dst, lookahead.Range{Object: object, Offset: p.Offset, Length: p.Length})
	}
	return dst
}

// Object implements lookahead.Samples.
func (s *shardsSource) Object(object int64) string { return s.index.Objects()[object].Name }

// ReadPlan implements datum.PlanReader.
func (s *shardsSource) ReadPlan(ctx context.Context, coming iter.Seq[datum.Coming]) (datum.PlanReads, error) {
	run, err := s.lookAhead.start(ctx, s.place, s, coming)
	if err != nil {
		return nil, err
	}
	return &shardsReads{run, s}, nil
}

// shardsReads reads shards along a plan.
type shardsReads struct {
	*lookahead.Run
	of *shardsSource
}

func (r *shardsReads) Read(ctx context.Context, place, sample int64, out []*datum.Tensor) error {
	return r.of.read(ctx, ranges{r.of.place, r.Run, place, sample}, sample, out)
}
