package shard

import (
	"fmt"
	"math"
)

// Columns is a data set that knows labels and numbers of its samples. A loader feeds samplers and groups that
// name a column from the reader that drives it, which is one (pipeline.Reader).
type Columns interface {
	// Labels returns the class of each sample.
	Labels() ([]int32, error)
	// Column returns a number of each sample, by the name that it has in the data set.
	Column(name string) ([]float64, error)
}

// Fed is a [Sampler] that can take its columns from a data set.
type Fed interface {
	Sampler
	// Feed returns the sampler with the columns that it names, and itself where it names none.
	Feed(from Columns) (Sampler, error)
}

// Feed implements [Fed].
func (w Weighted) Feed(from Columns) (Sampler, error) {
	var err error
	if w.Column != "" {
		w.Weights, err = feed(from, "Weighted", "Weights", w.Column, w.Weights)
	}
	w.Column = ""
	return w, err
}

// Feed implements [Fed]: without Labels they are those of the data set.
func (b ClassBalanced) Feed(from Columns) (Sampler, error) {
	var err error
	if b.Labels == nil {
		b.Labels, err = from.Labels()
	}
	return b, err
}

// Feed implements [Fed].
func (k Curriculum) Feed(from Columns) (Sampler, error) {
	var err error
	if k.Column != "" {
		k.Keys, err = feed(from, "Curriculum", "Keys", k.Column, k.Keys)
	}
	k.Column = ""
	return k, err
}

// Feed returns groups with the column that they name, and g where they name none.
func (g *Groups) Feed(from Columns) (*Groups, error) {
	if g == nil || g.Column == "" {
		return g, nil
	}
	column, err := feed(from, "Groups", "Lengths", g.Column, g.Lengths)
	if err != nil {
		return nil, err
	}
	fed := *g
	fed.Column, fed.Lengths = "", make([]int64, len(column))
	for i, x := range column {
		if x != math.Trunc(x) || x < 0 || x > MaxLength { // also what is no number
			return nil, &ConfigError{fmt.Sprintf("Groups.Column %q[%d]", g.Column, i), x, fmt.Sprintf("a whole number, 0 to %d", MaxLength)}
		}
		fed.Lengths[i] = int64(x)
	}
	return &fed, nil
}

// feed returns a column in the place of the field of that name, which must be nil.
func feed[T any](from Columns, of, field, column string, given []T) ([]float64, error) {
	if given != nil {
		return nil, &ConfigError{of + "." + field, "set", fmt.Sprintf("nil beside Column %q, or no Column", column)}
	}
	return from.Column(column)
}

// unfed reports a column that only a loader could have fed.
func unfed(of, column, field string) error {
	if column == "" {
		return nil
	}
	return &ConfigError{of + ".Column", fmt.Sprintf("%q", column), "a loader, which takes it from its reader; give a plan of its own " + field}
}
