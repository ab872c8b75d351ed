package main

import (
	"bytes"

	"github.com/planktonml/plankton/pipeline/datum"

	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

//go:embed data/flats.csv
var flatsCSV []byte

const features = 5 // columns before the rent

// table is rows of features and the number to predict for each.
type table struct {
	features []float32 // rows×5
	rents    []float32
}

// parse reads a table with one line of headings.
func parse(text []byte) (t table, err error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = features + 1
	records, err := reader.ReadAll()
	if err != nil {
		return t, err
	}
	if len(records) < 2 {
		return t, errors.New("the table has no rows")
	}
	for line, record := range records[1:] {
		var row [features + 1]float32
		for i, field := range record {
			x, err := strconv.ParseFloat(field, 32)
			if err != nil {
				return t, fmt.Errorf("line %d: %w", line+2, err)
			}
			row[i] = float32(x)
		}
		t.features = append(t.features, row[:features]...)
		t.rents = append(t.rents, row[features])
	}
	return t, nil
}

// split holds every fifth row out.
func (t table) split() (train, test table) {
	for i, rent := range t.rents {
		to := &train
		if i%5 == 4 {
			to = &test
		}
		to.features = append(to.features, t.features[i*features:][:features]...)
		to.rents = append(to.rents, rent)
	}
	return train, test
}

// scale is the mean and the deviation of some columns.
type scale struct{ mean, deviation []float32 }

func scaleOf(data []float32, columns int) scale {
	s := scale{make([]float32, columns), make([]float32, columns)}
	rows := float64(len(data) / columns)
	for c := range columns {
		var sum, squares float64
		for i := c; i < len(data); i += columns {
			sum += float64(data[i])
			squares += float64(data[i]) * float64(data[i])
		}
		mean := sum / rows
		s.mean[c], s.deviation[c] = float32(mean), float32(math.Sqrt(squares/rows-mean*mean))
	}
	return s
}

// standardize is an operator of this program: it brings columns to mean 0 and
// deviation 1.
func standardize(g *pipeline.Graph, v pipeline.Value, s scale) pipeline.Value {
	options := ops.FuncOptions{Name: "standardize", Outputs: []datum.Spec{v.Spec()}}
	return ops.Func(g, options, func(_ *datum.Sample, in, out []*datum.Tensor) error {
		if _, err := out[0].Resize(in[0].Shape()...); err != nil {
			return err
		}
		to := out[0].Float32s()
		for i, x := range in[0].Float32s() {
			to[i] = (x - s.mean[i]) / s.deviation[i]
		}
		return nil
	}, v)[0]
}

// open makes a loader with the outputs "features", float32 5, and "rent", a
// scalar, both standardized.
func (t table) open(features, rent scale, shuffle bool) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
		columns := readers.Slices(g, readers.SlicesOptions{Shuffle: shuffle},
			readers.Rows(t.features, len(features.mean)), readers.Rows(t.rents))
		g.Output("features", standardize(g, columns[0], features))
		g.Output("rent", standardize(g, columns[1], rent))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p) // the last batch is short, and masked
}
