package readers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// SlicesOptions configures [Slices].
type SlicesOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order in every epoch

	Split pipeline.Split // the part of the data set to read, to train or to validate with; default the whole

	// Follow names the reader whose order this one takes: row for row it reads what has
	// the index of the other's sample; see [pipeline.ReaderOptions].
	Follow string
}

// Slices reads data that the program has in memory: sample i is row i of every
// column, and the values returned are the columns in their order.
//
// Rows are copied into the pipeline, so batches never show the data themselves.
// The data must not change while the pipeline is in use. The fingerprint is one
// of types, shapes and the number of rows, not of the content.
func Slices(g *pipeline.Graph, o SlicesOptions, columns ...Column) []pipeline.Value {
	none := make([]pipeline.Value, len(columns))
	if g.Err() != nil {
		return none
	}
	src, err := newSlicesSource(o.Name, columns)
	if err != nil {
		fail(g, "readers.Slices", o.Name, err)
		return none
	}
	return g.Read(pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}, src)
}

var (
	_ datum.Toucher  = (*slicesSource)(nil)
	_ datum.Gatherer = (*slicesSource)(nil)
)

type slicesSource struct {
	name    string
	columns []Column
	meta    datum.Meta
}

func newSlicesSource(name string, columns []Column) (*slicesSource, error) {
	if len(columns) == 0 {
		return nil, errors.New("there are no columns; give one as Rows or Ragged")
	}
	s := &slicesSource{name: name, columns: columns}
	h := sha256.New()
	for i, c := range columns {
		switch first := columns[0]; {
		case c.row == nil && c.err == nil:
			return nil, fmt.Errorf("column %d is empty; make it with Rows or Ragged", i)
		case c.err != nil:
			return nil, fmt.Errorf("column %d (%s): %w", i, c.spec, c.err)
		case c.rows == 0:
			return nil, fmt.Errorf("column %d (%s) has no rows", i, c.spec)
		case c.rows != first.rows:
			return nil, fmt.Errorf("column %d (%s) has %d rows, column 0 (%s) has %d; all columns must have the same number", i, c.spec, c.rows, first.spec, first.rows)
		case len(c.names) > 0 && s.meta.Classes != nil:
			return nil, fmt.Errorf("column %d (%s) has class names, and an earlier column has some, too; a data set has one list of them", i, c.spec)
		case len(c.names) > 0:
			s.meta.Classes = c.names
		}
		fmt.Fprintln(h, c.spec, c.rows)
	}
	s.meta.Fingerprint = binary.LittleEndian.Uint64(h.Sum(nil))
	return s, nil
}

func (s *slicesSource) Len() int64       { return int64(s.columns[0].rows) }
func (s *slicesSource) Meta() datum.Meta { return s.meta }

func (s *slicesSource) Outputs() []datum.Spec {
	specs := make([]datum.Spec, len(s.columns))
	for i, c := range s.columns {
		specs[i] = c.spec
	}
	return specs
}

func (s *slicesSource) Read(_ context.Context, index int64, out []*datum.Tensor) error {
	for i := range s.columns {
		if err := s.columns[i].lend(out[i], int(index)); err != nil {
			return err
		}
	}
	return nil
}

// Touch implements datum.Toucher.
func (s *slicesSource) Touch(index int64) {
	for i := range s.columns {
		imaging.Touch(s.columns[i].row(int(index)))
	}
}

// Gathers implements datum.Gatherer.
func (s *slicesSource) Gathers() bool {
	return !slices.ContainsFunc(s.columns, func(c Column) bool { return !c.spec.Dense() })
}

// Gather implements datum.Gatherer.
func (s *slicesSource) Gather(index []int64, out []datum.Rows) bool {
	for i := range s.columns {
		gather(out[i].Data, s.columns[i].all, index)
	}
	return true
}

// Label implements [datum.Labelled]. It is that of the first column with classes.
func (s *slicesSource) Label(index int64) (int32, bool) {
	for i := range s.columns {
		if c := &s.columns[i]; c.spec.Classes > 0 {
			return int32(c.label(int(index))), true
		}
	}
	return 0, false
}

// Describe returns the reader's name and the row.
func (s *slicesSource) Describe(index int64) string {
	return describe("readers.Slices", s.name, index)
}
