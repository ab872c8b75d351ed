package shard

import "slices"

// CursorOptions are those arguments of DALI's iterator that decide what a
// sequence of calls does, and nothing else.
type CursorOptions struct {
	// AutoReset resets at the end of an epoch, before Next says so.
	AutoReset bool
	// PrepareFirstBatch takes the first step when the cursor is made.
	PrepareFirstBatch bool
}

// Cursor replays DALI's framework iterator call by call: also calls after the
// end of an epoch, or a reset in the middle of one. A loop over whole epochs
// needs no cursor, [Plan.AppendBatch] knows them all. A Cursor is for one
// goroutine at a time.
type Cursor struct {
	state     daliState
	autoReset bool
	prepared  bool     // first is still to be returned
	first     Delivery // the step that was taken in advance
	consumed  bool     // Next has been called
}

// Cursor returns a cursor at the start of epoch 0. The error is a
// [*ConfigError] if p is not in DALI mode, and wraps [ErrNoSteps] if
// PrepareFirstBatch finds no step to take.
func (p *Plan) Cursor(opts CursorOptions) (*Cursor, error) {
	if p.dali == nil {
		return nil, &ConfigError{"Mode", p.cfg.Mode, "DALI for a cursor; an Exact plan has the same batches in whatever order they are read"}
	}
	c := &Cursor{state: newDALIState(&p.cfg), autoReset: opts.AutoReset}
	if opts.PrepareFirstBatch {
		if c.first, c.prepared = c.state.next(); !c.prepared {
			return nil, p.CheckSteps()
		}
	}
	return c, nil
}

// Len returns what len says at this moment: the steps of a whole epoch.
func (c *Cursor) Len() int64 { return c.state.len() }

// Next takes a step. ok is false at the end of the epoch.
func (c *Cursor) Next() (d Delivery, ok bool) {
	c.consumed = true
	if c.prepared {
		c.prepared = false
		return c.first, true
	}
	d, ok = c.state.next()
	if !ok && c.autoReset {
		c.state.reset()
	}
	return d, ok
}

// Reset starts the next epoch. In the middle of an epoch DALI ignores it with a
// warning: Reset then returns false.
func (c *Cursor) Reset() bool { return c.state.reset() }

// Iter does what a for statement does before its first step: it resets, unless
// nothing has been consumed since the last reset that carried nothing over. It
// returns false if that was ignored.
func (c *Cursor) Iter() bool {
	return c.state.counter == 0 || !c.consumed || c.state.reset()
}

// Delivery is one step of DALI's iterator: a batch of every pipeline.
type Delivery struct {
	cfg     *Config
	number  int64 // of the batch in each reader's stream
	counter int64 // after the step
	excess  int64 // counter beyond the iterator's size
	turns   int64
}

// AppendBatch appends the samples of one rank's batch to dst, row by row.
func (d Delivery) AppendBatch(dst []int64, rank int) []int64 {
	b := d.batch(rank)
	return b.append(slices.Grow(dst, b.valid), d.cfg)
}

// Valid returns how many rows of a rank's batch hold a sample. With a Size,
// 0 means that the iterator leaves out the rank's batch altogether.
func (d Delivery) Valid(rank int) int { return d.batch(rank).valid }

func (d Delivery) batch(rank int) batch {
	c := d.cfg
	pipe := rank
	if c.Pipes != nil {
		pipe = slices.Index(c.Pipes, rank)
	}
	if pipe < 0 || rank >= c.Shards {
		return batch{}
	}
	b := daliBatch(c, d.number, rank)
	if c.Policy != Partial {
		return b
	}
	valid := int64(c.Batch)
	if c.Size == 0 {
		n, shards := c.Samples, int64(c.Shards)
		k := (int64(rank) + d.turns) % shards
		valid -= d.counter - (start(n, shards, k+1) - start(n, shards, k))
	} else if d.excess > 0 {
		// The excess is cut off the last pipelines.
		valid = int64(c.pipes()-pipe)*valid - d.excess
	}
	b.valid = int(min(max(valid, 0), int64(c.Batch)))
	return b
}
