package shard

import (
	"errors"
	"fmt"
	"slices"
	"sync"
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

	order     Order // of the lists of epochs
	n         int64 // positions of a list
	restOrder Order // of the epoch that rests, where that is another one; or nil

	grouped *grouped // with Groups
}

// New makes the plan of cfg. The error is a [*ConfigError]. A plan of full
// batches may turn out to have no steps, see [Plan.CheckSteps].
func New(cfg Config) (*Plan, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Plan{cfg: cfg.clone()}
	var err error
	if p.order, err = newOrder(&p.cfg); err != nil {
		return nil, err
	}
	p.n = p.order.Len()
	if err := p.cfg.Groups.check(); err != nil {
		return nil, err
	}
	p.grouped = newGrouped(p)
	if cfg.Mode == DALI {
		p.dali = newDALIEpochs(&p.cfg)
	} else {
		p.steps = p.stepsOf(p.n)
	}
	return p, nil
}

// Config returns what the plan was made of.
func (p *Plan) Config() Config { return p.cfg.clone() }

func (c Config) clone() Config {
	c.Pipes, c.Sources, c.Weights = slices.Clone(c.Pipes), slices.Clone(c.Sources), slices.Clone(c.Weights)
	c.Shares = c.Shares.clone()
	return c
}

// Draws returns the number of samples that an epoch reads, over all ranks and before the
// policy for the last batch: Config.Samples, or what a Sampler says.
func (p *Plan) Draws() int64 { return p.n }

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
	case p.grouped != nil:
		return p.grouped.steps(epoch)
	case p.rest.of(epoch):
		return p.stepsOf(p.rest.n)
	}
	return p.steps
}

// Ended reports whether the plan has no epoch with this number any more, nor one behind it.
// Plans in DALI mode have MaxDALIEpochs epochs; those in Exact mode have no end.
func (p *Plan) Ended(epoch int64) bool { return p.dali != nil && epoch >= MaxDALIEpochs }

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
	steps, perRank := p.steps, p.n/int64(c.Shards)
	if p.dali != nil {
		steps = p.dali.epoch(0).steps
	}
	if c.Size > 0 {
		perRank = c.Size / int64(c.pipes())
	}
	switch {
	case steps > 0 || c.Groups != nil && c.Groups.Budget > 0:
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
	one := ones.Get().(*[1]int64)
	defer ones.Put(one)
	one[0] = p.position(&b, epoch, int64(row))
	p.orderOf(epoch).Samples(epoch, one[:])
	return one[0], true
}

// ones are lists of one position.
var ones = sync.Pool{New: func() any { return new([1]int64) }}

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
	first := len(dst)
	dst = p.appendPositions(dst, &b, epoch)
	p.orderOf(epoch).Samples(epoch, dst[first:])
	return dst
}

// AppendEpochs appends, for the rows of [Plan.AppendBatch], the visit of each sample: the
// epoch, or where [Plan.Repeats] a number that tells the times apart that the sample comes;
// with [Config.Sources] that is the epoch of its source. The sample and its visit together
// come once, however often an epoch of the plan draws the sample, except where [Fill]
// repeats a row.
func (p *Plan) AppendEpochs(dst []int64, epoch, step int64, rank int) []int64 {
	b := p.batch(epoch, step, rank)
	first := len(dst)
	if p.dali != nil {
		dst = slices.Grow(dst, b.valid)[:first+b.valid]
		fill(dst[first:], epoch)
		return dst
	}
	dst = p.appendPositions(dst, &b, epoch)
	p.orderOf(epoch).Visits(epoch, dst[first:])
	return dst
}

// AppendShuffleGroups appends, for the rows of [Plan.AppendBatch], what was shuffled together:
// samples of one group of blocks, or without groups of one block, have the same number, and
// those of the next have another one. In a mix each source has groups of its own. Where samples
// are shuffled without blocks, or not at all, it is -1.
func (p *Plan) AppendShuffleGroups(dst []int64, epoch, step int64, rank int) []int64 {
	b := p.batch(epoch, step, rank)
	first := len(dst)
	order, ok := p.orderOf(epoch).(shuffleGrouper)
	if p.dali != nil || !ok {
		dst = slices.Grow(dst, b.valid)[:first+b.valid]
		fill(dst[first:], -1)
		return dst
	}
	dst = p.appendPositions(dst, &b, epoch)
	order.shuffleGroups(epoch, dst[first:])
	return dst
}

// shuffleGrouper is an Order that knows what is shuffled together. Its method replaces positions
// by the numbers that AppendShuffleGroups tells.
type shuffleGrouper interface {
	shuffleGroups(epoch int64, list []int64)
}

// Repeats reports whether a sample may come several times in an epoch, as with Sources, so
// that the epoch does not tell its visits apart; [Plan.AppendEpochs] does.
func (p *Plan) Repeats() bool { return p.order.Repeats() }

// appendPositions appends the list positions of a batch.
func (p *Plan) appendPositions(dst []int64, b *batch, epoch int64) []int64 {
	for row := range int64(b.valid) {
		dst = append(dst, p.position(b, epoch, row))
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
	valid int     // rows with a sample
	rows  []int64 // with Groups: the list that lo and first are places of; else nil
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
	case p.grouped != nil:
		return p.batchOfGroup(epoch, step, int64(rank))
	case p.cfg.Partition == ByStep:
		return p.batchByStep(epoch, step, int64(rank))
	}
	return p.batchByShard(epoch, step, int64(rank))
}

func (p *Plan) batchByShard(epoch, step, rank int64) batch {
	c := &p.cfg
	n := p.n
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
	b := batch{n: p.n, first: first + rank*int64(c.Batch), valid: c.Batch}
	if c.Policy == Partial {
		// The ranks share a short batch evenly.
		left := min(global, p.n-first)
		cut := start(left, int64(c.Shards), rank)
		b.first = first + cut
		b.valid = int(start(left, int64(c.Shards), rank+1) - cut)
	}
	return b
}

func (p *Plan) batchOfGroup(epoch, step, rank int64) batch {
	rows := p.grouped.rows(epoch, step, rank)
	b := batch{n: int64(len(rows)), valid: len(rows), rows: rows}
	if p.cfg.Policy == Fill {
		b.valid = p.cfg.Batch
		if b.n == 0 { // fills with a sample of the last rank, which has one
			b.rows = p.grouped.rows(epoch, step, int64(p.cfg.Shards)-1)
			b.lo, b.n = int64(len(b.rows))-1, 1
		}
	}
	return b
}

// position returns the position of a row in the list of the whole epoch.
func (p *Plan) position(b *batch, epoch, row int64) int64 {
	pos := b.position(row, &p.cfg)
	if b.rows != nil {
		return b.rows[pos]
	}
	if p.rest.of(epoch) {
		pos = p.rest.position(pos)
	}
	return pos
}

// orderOf returns the order of an epoch. That of shards which stick depends on their number
// when the epoch began.
func (p *Plan) orderOf(epoch int64) Order {
	if p.restOrder != nil && p.rest.of(epoch) {
		return p.restOrder
	}
	return p.order
}
