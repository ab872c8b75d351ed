package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

var _ shard.Columns = (*Reader)(nil)

// Labels returns the labels of the samples, in the order of their ids, where the data set knows them without
// reading the samples (datum.Labelled): for a shard.ClassBalanced, say.
func (r *Reader) Labels() ([]int32, error) {
	if r.Source == nil {
		return nil, r.noColumns()
	}
	labels, err := labelsOf(r.Source)
	if err != nil {
		return nil, fmt.Errorf("pipeline: reader %q: %w", r.Name, err)
	}
	return labels, nil
}

// Column returns the numbers that the data set has of its samples by a name, in the order of their ids: a column of
// a table, whether it is an output or not, or the bytes of a member of samples in shards. It may read all of
// the column.
func (r *Reader) Column(name string) ([]float64, error) {
	if r.Source == nil {
		return nil, r.noColumns()
	}
	column, err := columnOf(r.Source, name)
	if err != nil {
		return nil, fmt.Errorf("pipeline: reader %q: %w", r.Name, err)
	}
	return column, nil
}

func (r *Reader) noColumns() error {
	return fmt.Errorf("pipeline: reader %q is a sequence, which has no length; columns need a Source", r.Name)
}

func labelsOf(src datum.Source) ([]int32, error) {
	labelled, ok := src.(datum.Labelled)
	if !ok {
		return nil, errors.New("the data set has no labels that are known without reading the samples")
	}
	labels := make([]int32, src.Len())
	for i := range labels {
		if labels[i], ok = labelled.Label(int64(i)); !ok {
			return nil, fmt.Errorf("%s has no label that is known without reading the sample", src.Describe(int64(i)))
		}
	}
	return labels, nil
}

func columnOf(src datum.Source, name string) ([]float64, error) {
	switch s := src.(type) {
	case *splitSource:
		whole, err := columnOf(s.Source, name)
		if err != nil {
			return nil, err
		}
		column := make([]float64, s.Len())
		for i := range column {
			column[i] = whole[s.whole(int64(i))]
		}
		return column, nil
	case *mixSource:
		var column []float64
		for i, part := range s.sources {
			values, err := columnOf(part, name)
			if err != nil {
				return nil, fmt.Errorf("source %d: %w", i, err)
			}
			column = append(column, values...)
		}
		return column, nil
	case datum.Columned:
		column, err := s.Column(context.Background(), name) // a loader is made without a context
		if err == nil && int64(len(column)) != s.Len() {
			err = fmt.Errorf("column %q has %d values for %d samples", name, len(column), s.Len())
		}
		return column, err
	}
	return nil, fmt.Errorf("the data set has no columns, and so none that is %q; give the numbers themselves, as pipeline.ColumnOf shows them", name)
}
