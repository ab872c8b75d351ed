package dali

import (
	"fmt"

	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/shard"
)

// feed returns what the pipeline reads, which for a sequence begins with an epoch.
func (d *Pipeline) feed(epoch int64) (run.Feed, error) {
	first, o := d.p.Readers()[0], d.p.Options()
	switch sequence := (run.SequenceFeed{Epoch: epoch}); {
	case d.in != nil:
		return inputFeed{sequence, d.in}, nil
	case first.Sequence != nil:
		return sequence, nil
	}
	cfg := first.PlanConfig(o.BatchSize, o.Seed)
	cfg.Policy = shard.Fill
	plan, err := shard.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("dali: reader %q: %w", first.Name, err)
	}
	if err := plan.CheckSteps(); err != nil {
		return nil, fmt.Errorf("dali: reader %q: %w", first.Name, err)
	}
	orders, err := d.p.Engine().Orders(0)
	if err != nil {
		return nil, err
	}
	return orders.Feed(plan, 0, 0), nil
}

// inputFeed is the feed of an Input.
type inputFeed struct {
	run.SequenceFeed
	in *input
}
