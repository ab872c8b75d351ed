package parquet

import (
	"context"
	"fmt"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

var _ datum.Columned = (*Source)(nil)

// Column implements [datum.Columned] for any column of numbers.
func (s *Source) Column(ctx context.Context, name string) ([]float64, error) {
	one := &Source{place: s.place, remote: s.remote, shown: s.shown, files: s.files, cache: newCache(defaultCacheBytes)}
	err := one.choose(&Options{Columns: []readers.Field{{Name: name}}})
	if err == nil {
		err = one.addGroups()
	}
	if err != nil {
		return nil, err
	}
	one.describe()
	column, err := datum.Numbers(ctx, one)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", printable.Name(name), err)
	}
	return column, nil
}
