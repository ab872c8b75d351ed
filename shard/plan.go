package shard

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoSteps says that the epochs of a plan have no step at all.
var ErrNoSteps = errors.New("shard: the epoch has no step")

// Plan says which rank reads which samples when. It is immutable and may be used
// concurrently.
type Plan struct {
	cfg   Config
	steps int64       // of an epoch, in Exact mode
	rest  rest        // of the epoch that the plan resumes, if other worlds have read a part
	at    [2]int64    // epoch and step to start with
	dali  *daliEpochs // in DALI mode
	mix   *mixture    // of sources, or nil
}

// New makes the plan of cfg. The error is a [*ConfigError]. A plan of full
// batches may turn out to have no steps, see [Plan.CheckSteps].
func New(cfg Config) (*Plan, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Plan{cfg: cfg.clone()}
	var err error
	if p.mix, err = newMixture(&p.cfg); err != nil {
		return nil, err
	}
	if cfg.Mode == DALI {
		p.dali = newDALIEpochs(&p.cfg)
	} else {
		p.steps = p.stepsOf(cfg.Samples)
	}
	return p, nil
}

// Config returns what the plan was made of.
func (p *Plan) Config() Config { return p.cfg.clone() }

func (c Config) clone() Config {
	c.Pipes, c.Sources, c.Weights = slices.Clone(c.Pipes), slices.Clone(c.Sources), slices.Clone(c.Weights)
	return c
}

// Start returns the epoch and step that the plan begins with: 0, 0 unless
// [Plan.Resume] made it.
func (p *Plan) Start() (epoch, step int64) { return p.at[0], p.at[1] }

// Len returns the number of steps of an epoch, the same on every rank. In Exact
// mode it is the same for every epoch, too, except for one that was resumed with
// another number of ranks, where it counts what was left. In DALI mode it is
// what len says when the epoch starts, which is not always what follows: see
// [Plan.Steps].
func (p *Plan) Len(epoch int64) int64 {
	if p.dali != nil && epoch >= 0 {
		return p.dali.epoch(epoch).len
	}
	return p.Steps(epoch)
}

// Steps returns the number of steps that a loop over the epoch takes. It is
// Len, except where DALI's iterator with a size says one thing and does another;
// math.MaxInt64 stands for a DALI epoch without end.
func (p *Plan) Steps(epoch int64) int64 {
	switch {
	case epoch < 0:
		return 0
	case p.dali != nil:
		return p.dali.epoch(epoch).steps
	case p.rest.of(epoch):
		return p.stepsOf(p.rest.n)
	}
	return p.steps
}

// stepsOf returns the steps of an epoch of n samples. Cutting into shards and
// then into batches gives the same number as cutting into global batches:
// rounding down, or up, twice is rounding once.
func (p *Plan) stepsOf(n int64) int64 {
	if p.cfg.Policy == Drop {
		return n / p.cfg.globalBatch()
	}
	return ceilDiv(n, p.cfg.globalBatch())
}

func (c *Config) globalBatch() int64 { return int64(c.Batch) * int64(c.Shards) }

// CheckSteps returns an error that wraps [ErrNoSteps] and says what to do where
// the plan's epochs have no step: under Drop, when no rank fills a batch.
func (p *Plan) CheckSteps() error {
	c := &p.cfg
	steps, perRank := p.steps, c.Samples/int64(c.Shards)
	if p.dali != nil {
		steps = p.dali.epoch(0).steps
	}
	if c.Size > 0 {
		perRank = c.Size / int64(c.pipes())
	}
	switch {
	case steps > 0:
		return nil
	case perRank == 0:
		return fmt.Errorf("%w: policy %v, fewer samples than ranks; use fewer ranks or another policy", ErrNoSteps, c.Policy)
	}
	return fmt.Errorf("%w: policy %v, %d samples per rank, batches of %d; use a batch of at most %[3]d or another policy",
		ErrNoSteps, c.Policy, perRank, c.Batch)
}

// Sample returns the sample that a rank reads into a row of its batch. ok is
// false where the row holds none: it is padding, or not in the plan at all. It
// does not allocate. Whole batches are cheaper with [Plan.AppendBatch].
func (p *Plan) Sample(epoch, step int64, rank, row int) (id int64, ok bool) {
	b := p.batch(epoch, step, rank)
	if row < 0 || row >= b.valid {
		return 0, false
	}
	if p.dali != nil {
		return b.position(int64(row), &p.cfg), true
	}
	if p.mix != nil {
		d := drawer{mixture: p.mix, cfg: &p.cfg}
		return d.id(epoch, p.position(&b, epoch, int64(row))), true
	}
	o := p.order(epoch)
	return o.id(p.position(&b, epoch, int64(row))), true
}

// AppendBatch appends the samples of one batch of one rank to dst, row by row.
// Rows are filled from the front: there are [Plan.Valid] of them.
func (p *Plan) AppendBatch(dst []int64, epoch, step int64, rank int) []int64 {
	b := p.batch(epoch, step, rank)
	if b.valid == 0 {
		return dst
	}
	dst = slices.Grow(dst, b.valid)
	if p.dali != nil {
		return b.append(dst, &p.cfg)
	}
	if p.mix != nil {
		return p.appendDrawn(dst, &b, epoch)
	}
	o := p.order(epoch)
	for row := range int64(b.valid) {
		dst = append(dst, o.id(p.position(&b, epoch, row)))
	}
	return dst
}

// appendDrawn is the part of AppendBatch for a mix of sources.
func (p *Plan) appendDrawn(dst []int64, b *batch, epoch int64) []int64 {
	d := drawer{mixture: p.mix, cfg: &p.cfg}
	for row := range int64(b.valid) {
		dst = append(dst, d.id(epoch, p.position(b, epoch, row)))
	}
	return dst
}

// AppendEpochs appends, for the rows of [Plan.AppendBatch], the epoch that each
// sample is in: with [Config.Sources] that of its source, otherwise the plan's.
// The sample and that epoch together come once, however often an epoch of the plan
// draws the sample, except where [Fill] repeats a row.
func (p *Plan) AppendEpochs(dst []int64, epoch, step int64, rank int) []int64 {
	b := p.batch(epoch, step, rank)
	for row := range int64(b.valid) {
		of := epoch
		if p.mix != nil {
			_, of, _ = p.mix.draw(epoch, p.position(&b, epoch, row))
		}
		dst = append(dst, of)
	}
	return dst
}

// Valid returns how many rows of a batch hold a sample, 0 to Batch.
func (p *Plan) Valid(epoch, step int64, rank int) int {
	return p.batch(epoch, step, rank).valid
}

// batch says where one batch of one rank lies in a list of samples: row i at
// position first+i of the n positions from lo on, which is the span that the
// rank may read. Rows beyond the span repeat from it.
type batch struct {
	lo, n int64
	first int64
	valid int // rows with a sample
}

// position returns the list position of a row.
func (b *batch) position(row int64, cfg *Config) int64 {
	i := b.first + row
	if i >= b.n {
		if cfg.PadLastBatch {
			i = b.n - 1
		} else {
			i %= b.n
		}
	}
	return b.lo + i
}

// append appends the positions of all valid rows.
func (b *batch) append(dst []int64, cfg *Config) []int64 {
	for row := range int64(b.valid) {
		dst = append(dst, b.position(row, cfg))
	}
	return dst
}

// batch returns one batch of one rank; outside of the plan it has no valid rows.
func (p *Plan) batch(epoch, step int64, rank int) batch {
	switch {
	case epoch < 0 || step < 0 || rank < 0 || rank >= p.cfg.Shards:
		return batch{}
	case p.dali != nil:
		return p.dali.batch(epoch, step, rank)
	case step >= p.Steps(epoch):
		return batch{}
	case p.cfg.Partition == ByStep:
		return p.batchByStep(epoch, step, int64(rank))
	}
	return p.batchByShard(epoch, step, int64(rank))
}

func (p *Plan) batchByShard(epoch, step, rank int64) batch {
	c := &p.cfg
	n := c.Samples
	if p.rest.of(epoch) {
		n = p.rest.n
	}
	shards := int64(c.Shards)
	k := c.shardOf(epoch, rank)
	lo := start(n, shards, k)
	b := batch{lo: lo, n: start(n, shards, k+1) - lo, first: step * int64(c.Batch), valid: c.Batch}
	switch {
	case c.Policy == Partial:
		b.valid = int(min(max(b.n-b.first, 0), int64(c.Batch)))
	case b.n == 0: // an empty shard fills with the last sample of the list
		b.lo, b.n = n-1, 1
	}
	return b
}

// shardOf returns the shard that a rank reads in an epoch.
func (c *Config) shardOf(epoch, rank int64) int64 {
	if c.StickToShard {
		return rank
	}
	return (rank + epoch%int64(c.Shards)) % int64(c.Shards)
}

func (p *Plan) batchByStep(epoch, step, rank int64) batch {
	c := &p.cfg
	global := c.globalBatch()
	first := step * global
	if p.rest.of(epoch) {
		first += p.rest.offset
	}
	b := batch{n: c.Samples, first: first + rank*int64(c.Batch), valid: c.Batch}
	if c.Policy == Partial {
		// The ranks share a short batch evenly.
		left := min(global, c.Samples-first)
		cut := start(left, int64(c.Shards), rank)
		b.first = first + cut
		b.valid = int(start(left, int64(c.Shards), rank+1) - cut)
	}
	return b
}

// position returns the position of a row in the list of the whole epoch.
func (p *Plan) position(b *batch, epoch, row int64) int64 {
	pos := b.position(row, &p.cfg)
	if p.rest.of(epoch) {
		pos = p.rest.position(pos)
	}
	return pos
}

func (p *Plan) order(epoch int64) order {
	shards := int64(p.cfg.Shards)
	if p.rest.of(epoch) {
		shards = p.rest.shards
	}
	return newOrder(&p.cfg, epoch, shards)
}
