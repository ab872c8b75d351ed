package run

import (
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// cell is a tensor whose memory is the pipeline's.
type cell struct {
	datum.Cell
	buf   memstats.Buffer
	pool  *memstats.Pool
	fit   bool         // the next request may shrink the memory
	taken bool         // of a ragged row: its memory is in use
	free  *batchOutput // where the next request may find memory that fits better, or nil
}

// init readies a cell, which stays where it is.
func (c *cell) init(spec *datum.Spec, pool *memstats.Pool) {
	c.SetMemory(c)
	c.Declare(spec)
	c.pool = pool
}

// Memory implements the Memory of the cell's tensor.
func (c *cell) Memory(n int) ([]byte, error) {
	if c.fit {
		c.fit = false // a second request for a sample keeps the contents
		c.buf.Fit(n)
	}
	if c.free != nil {
		c.free.exchange(&c.buf, n)
		c.free = nil
	}
	mem, err := c.buf.Resize(c.pool, n)
	if memstats.Invariants && !datum.Written([]*datum.Tensor{&c.Tensor}) { // later requests for the same sample keep the contents
		memstats.Poison(mem)
	}
	return mem, err
}

// move gives the sample of from to c, and from the memory of c.
func (c *cell) move(from *cell) {
	c.buf, from.buf = from.buf, c.buf
	c.Take(&from.Cell)
}

// poisonRows makes what an operator or reader leaves as it was show, in builds with the
// tag invariants, where its outputs are rows of the batch.
func poisonRows(out []*datum.Tensor) {
	for _, t := range out {
		memstats.Poison(datum.RowOf(t))
	}
}
