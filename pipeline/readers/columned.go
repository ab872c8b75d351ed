package readers

import (
	"context"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

var (
	_ datum.Columned = (*textTable)(nil)
	_ datum.Columned = (*shardsSource)(nil)
)

// Column implements [datum.Columned] for any column of numbers.
func (t *textTable) Column(ctx context.Context, name string) ([]float64, error) {
	one := &textTable{place: t.place, shown: t.shown, files: t.files, start: t.start, end: t.end, format: t.format}
	one.fields = []textField{{Field: Field{Name: name, DType: datum.Float64}}}
	if err := one.fields[0].Check(); err != nil {
		return nil, err
	}
	if err := one.resolve(ctx); err != nil {
		return nil, err
	}
	one.specs = []datum.Spec{one.fields[0].spec}
	return datum.Numbers(ctx, one)
}

// Column implements [datum.Columned]: the bytes of a member, by the name that Members would have for it, an output or not.
func (s *shardsSource) Column(_ context.Context, name string) ([]float64, error) {
	m, err := s.member(name)
	if err != nil {
		return nil, err
	}
	column := make([]float64, s.Len())
	for i := range column {
		p, err := s.partOf(int64(i), &m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Describe(int64(i)), err)
		}
		column[i] = float64(p.Length)
	}
	return column, nil
}
