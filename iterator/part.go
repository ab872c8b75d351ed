package iterator

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// part is one pipeline of a loader.
type part struct {
	pipe   *pipeline.Pipeline
	run    *run.Runner
	driver int         // the reader that drives
	orders *run.Orders // nil for sequences
}

func (p *part) reader() *pipeline.Reader { return p.pipe.Readers()[p.driver] }

// feed returns the feed of the part from a batch of the plan on; plan is nil for a sequence.
func (p *part) feed(plan *shard.Plan, epoch, step int64) run.Feed {
	if plan == nil {
		return run.SequenceFeed{Epoch: epoch}
	}
	return p.orders.Feed(plan, epoch, step)
}

// newParts checks that pipelines fit together and returns them with the plan of
// their driving readers, nil for sequences.
func newParts(o Options, pipes []*pipeline.Pipeline) ([]part, *shard.Plan, error) {
	if len(pipes) == 0 {
		return nil, nil, &OptionError{"pipelines", errors.New("there is none; give at least one")}
	}
	parts := make([]part, len(pipes))
	for i, p := range pipes {
		if p == nil {
			return nil, nil, &OptionError{"pipelines", fmt.Errorf("pipeline %d is nil; look at the error of pipeline.New", i)}
		}
		driver, err := driver(p, o.ReaderName)
		if err != nil {
			return nil, nil, err
		}
		parts[i] = part{pipe: p, driver: driver}
		for _, other := range parts[:i] {
			if err := agree(&other, &parts[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	if parts[0].reader().Sequence != nil {
		return parts, nil, o.checkSequence(parts[0].reader())
	}
	plan, err := newPlan(o, parts)
	if err != nil {
		return nil, nil, err
	}
	for i := range parts {
		p := &parts[i]
		if p.orders, err = p.pipe.Engine().Orders(p.driver); err != nil {
			return nil, nil, err
		}
		if o.Groups != nil && p.orders.ReadOn() {
			return nil, nil, &OptionError{"Groups", fmt.Errorf("the pipeline has %d readers, and those that go along with the driver read on by its rows, of which ranks have different numbers in groups; let them follow it (Follow), or leave Groups out", len(p.pipe.Readers()))}
		}
		if o.Mode == shard.DALI && p.orders.ReadOn() {
			return nil, nil, &OptionError{"Mode", fmt.Errorf("DALI mode takes pipelines with one reader, this one has %d", len(p.pipe.Readers()))}
		}
	}
	return parts, plan, nil
}

// driver returns the position of the reader that drives the loader.
func driver(p *pipeline.Pipeline, name string) (int, error) {
	var names []string
	for i, r := range p.Readers() {
		switch leader := r.Leader(); {
		case leader == nil && r.Name == name:
			return i, nil
		case leader == nil:
			names = append(names, r.Name)
		case r.Name == name:
			return 0, &OptionError{"ReaderName", fmt.Errorf("reader %q follows reader %[2]q; name %[2]q", name, leader.Name)}
		}
	}
	switch {
	case name == "" && len(names) == 1:
		return 0, nil // the first reader follows none
	case name == "":
		return 0, &OptionError{"ReaderName", fmt.Errorf("the pipeline has readers %q; name the one that drives the loader", names)}
	}
	return 0, &OptionError{"ReaderName", fmt.Errorf("there is no reader %q; the pipeline has %q", name, names)}
}

// agree reports the first setting in which two pipelines differ although a
// loader needs them equal, or in which they must differ.
func agree(p, q *part) error {
	a, b := p.reader(), q.reader()
	for _, f := range []struct {
		field string
		x, y  any
	}{
		{"batch size", p.pipe.Options().BatchSize, q.pipe.Options().BatchSize},
		{"number of samples", a.Len(), b.Len()},
		{"fingerprint of the data set", hex(a.Meta().Fingerprint), hex(b.Meta().Fingerprint)},
		{"number of draws of the mix", a.Mix.Draws, b.Mix.Draws},
		{"weights of the mix", fmt.Sprint(a.Mix.Weights), fmt.Sprint(b.Mix.Weights)},
		{"shares of the mix", a.PlanConfig(1, 0).Shares.String(), b.PlanConfig(1, 0).Shares.String()},
		{"NumShards", a.NumShards, b.NumShards},
		{"PadLastBatch", a.PadLastBatch, b.PadLastBatch},
		{"StickToShard", a.StickToShard, b.StickToShard},
		{"Shuffle", a.Shuffle, b.Shuffle},
		{"seed", p.pipe.Options().Seed, q.pipe.Options().Seed},
		{"position among its pipeline's readers", p.driver, q.driver},
	} {
		if f.x != f.y {
			return &OptionError{"pipelines", fmt.Errorf("the %s differs: %v and %v; pipelines of one loader must agree", f.field, f.x, f.y)}
		}
	}
	if a.ShardID == b.ShardID {
		return &OptionError{"pipelines", fmt.Errorf("two of them read shard %d of %d: every sample would come twice", a.ShardID, a.NumShards)}
	}
	return nil
}

// checkSequence reports what cannot be done with a reader without length.
func (o *Options) checkSequence(r *pipeline.Reader) error {
	field, given := "", any(nil)
	switch {
	case o.Mode != shard.Exact:
		field, given = "Mode", o.Mode
	case o.Partition != shard.ByShard:
		field, given = "Partition", o.Partition
	case o.ShuffleBlock != 0:
		field, given = "ShuffleBlock", o.ShuffleBlock
	case o.ShuffleGroup != 0:
		field, given = "ShuffleGroup", o.ShuffleGroup
	case o.Sampler != nil:
		field, given = "Sampler", fmt.Sprintf("%T", o.Sampler)
	case o.Groups != nil:
		field, given = "Groups", "set"
	case o.LastBatch == shard.Fill:
		return &OptionError{"LastBatch", errors.New("a sequence cannot fill its last batch: it has no other samples to fill it with")}
	default:
		return nil
	}
	return &OptionError{field, fmt.Errorf("it is %v, but reader %q is a sequence, which has no length to plan epochs with; leave it out", given, r.Name)}
}

// feed puts the sampler and the groups into a config, with the columns of a reader that they name.
func (o *Options) feed(cfg *shard.Config, r *pipeline.Reader) (err error) {
	cfg.Sampler = o.Sampler
	if fed, ok := o.Sampler.(shard.Fed); ok {
		if cfg.Sampler, err = fed.Feed(r); err != nil {
			return &OptionError{"Sampler", err}
		}
	}
	if cfg.Groups, err = o.Groups.Feed(r); err != nil {
		return &OptionError{"Groups", err}
	}
	return nil
}

// newPlan returns the plan of the driving readers.
func newPlan(o Options, parts []part) (*shard.Plan, error) {
	r := parts[0].reader()
	cfg := r.PlanConfig(parts[0].pipe.Options().BatchSize, parts[0].pipe.Options().Seed)
	cfg.Policy, cfg.Mode, cfg.Partition = o.LastBatch, o.Mode, o.Partition
	cfg.Size, cfg.LastBatchPadded = o.Size, o.LastBatchPadded
	if err := o.feed(&cfg, r); err != nil {
		return nil, err
	}
	if o.Size != 0 {
		for i := range parts {
			cfg.Pipes = append(cfg.Pipes, parts[i].reader().ShardID)
		}
	}
	if err := o.setBlocks(&cfg, r); err != nil {
		return nil, err
	}
	plan, err := shard.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("iterator: reader %q: %w", r.Name, err)
	}
	if err := o.checkLookAhead(&cfg, r); err != nil {
		return nil, err
	}
	return plan, plan.CheckSteps()
}
