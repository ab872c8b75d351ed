package dali

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// fillFeed is the Feed of sources: the first reader drives, with epochs under FILL.
type fillFeed struct {
	*pipeline.Orders
	plan *shard.Plan
}

// feed returns what the pipeline reads, which for a sequence begins with an epoch.
func (d *Pipeline) feed(epoch int64) (pipeline.Feed, error) {
	first, o := d.p.Readers()[0], d.p.Options()
	if first.Sequence != nil {
		return sequenceFeed{d.in, epoch}, nil
	}
	cfg := first.PlanConfig(o.BatchSize, o.Seed)
	cfg.Policy = shard.Fill
	plan, err := shard.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("dali: reader %q: %w", first.Name, err)
	}
	orders, err := d.p.Orders(0)
	if err != nil {
		return nil, err
	}
	return &fillFeed{orders, plan}, nil
}

// Locate implements pipeline.Feed: the place in the first reader's epochs, all of which
// have the same length.
func (f *fillFeed) Locate(seq int64) (epoch, step int64, ok bool) {
	steps := f.plan.Steps(0)
	return seq / steps, seq % steps, true
}

// AppendBatch implements pipeline.Feed.
func (f *fillFeed) AppendBatch(dst []int64, reader int, epoch, step int64) []int64 {
	return f.Orders.AppendBatch(dst, f.plan, reader, epoch, step)
}

// AppendEpochs implements pipeline.MixFeed.
func (f *fillFeed) AppendEpochs(dst []int64, epoch, step int64) []int64 {
	return f.Orders.AppendEpochs(dst, f.plan, epoch, step)
}

// sequenceFeed is the Feed of a sequence, for one epoch.
type sequenceFeed struct {
	in    *input // the sequence, if the program feeds it
	epoch int64
}

// Locate implements pipeline.Feed.
func (f sequenceFeed) Locate(seq int64) (epoch, step int64, ok bool) { return f.epoch, seq, true }

// AppendBatch implements pipeline.Feed; it is not asked for sequences.
func (f sequenceFeed) AppendBatch(dst []int64, _ int, _, _ int64) []int64 { return dst }
