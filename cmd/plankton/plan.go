package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/planktonml/plankton/shard"
)

// planCmd prints the epoch plan of every rank.
type planCmd struct {
	Samples         int64           `required:"" placeholder:"N" help:"Samples of the data set."`
	Batch           int             `required:"" placeholder:"ROWS" help:"Rows of the batch of one rank."`
	Shards          int             `default:"1" help:"Number of ranks."`
	Policy          *shard.Policy   `xor:"policy" placeholder:"partial" help:"Last-batch policy: partial, fill or drop."`
	LastBatch       *shard.Policy   `xor:"policy" placeholder:"partial" help:"The same as --policy, under the name it has in bench."`
	PadLastBatch    bool            `help:"Fill with the rank's last sample."`
	StickToShard    bool            `help:"Give every rank the same shard in every epoch."`
	Mode            shard.Mode      `default:"exact" help:"Whose laws: exact, or dali to the letter."`
	Partition       shard.Partition `default:"shard" help:"How ranks share the list of samples: shard or step."`
	Shuffle         bool            `help:"Permute the samples, anew in every epoch."`
	Seed            uint64          `placeholder:"0" help:"Seed of the permutations."`
	Block           int64           `placeholder:"N" help:"With --shuffle: keep blocks of so many samples together."`
	BlockEnds       column[int64]   `placeholder:"LIST" help:"In place of --block: the sample behind the last one of each block, or @FILE with them."`
	BlockGroup      int64           `placeholder:"G" help:"Mix the samples of so many blocks."`
	Epochs          int64           `default:"1" help:"Number of epochs."`
	Size            *int64          `placeholder:"N" help:"Size given to the iterator instead of a reader's name (dali)."`
	LastBatchPadded bool            `help:"With --size: the reader pads."`
	Resume          string          `placeholder:"EPOCH:STEP[@SHARDS]" help:"Print what is left after so many steps of an epoch (both from 0), reached with SHARDS ranks."`
	JSON            bool            `name:"json" help:"Print JSON."`

	samplerFlags `embed:""`
}

// Run prints the plan.
func (c *planCmd) Run(std *stdio) error {
	run, err := c.plan()
	if err != nil {
		return usageError{err}
	}
	warnOfEmptyRanks(std, "--shards", run.plan.Draws(), c.Shards)
	out := bufio.NewWriter(std.out)
	if c.JSON {
		run.writeJSON(out)
	} else {
		run.writeTable(out)
	}
	return out.Flush()
}

// warnOfEmptyRanks warns where there are more ranks, by so and so a flag, than samples.
func warnOfEmptyRanks(std *stdio, flag string, samples int64, ranks int) {
	if idle := int64(ranks) - samples; idle > 0 {
		std.warn("%s %d for %s: in an epoch %s nothing to read; want at most as many as there are samples",
			flag, ranks, plural(samples, "sample"), cmp.Or(map[int64]string{1: "one rank has"}[idle], fmt.Sprintf("%d ranks have", idle)))
	}
}

// planRun is the part of a plan that is printed: epochs first to last, without
// the steps before skip in the first.
type planRun struct {
	plan        *shard.Plan
	first, last int64
	skip        int64

	// read is the plan that the steps before skip were read with, for readSteps steps.
	read      *shard.Plan
	readSteps int64
}

// policy returns the policy under whichever name it was given.
func (c *planCmd) policy() shard.Policy {
	if given := cmp.Or(c.Policy, c.LastBatch); given != nil {
		return *given
	}
	return shard.Partial
}

func (c *planCmd) plan() (*planRun, error) {
	cfg := shard.Config{
		Samples: c.Samples, Batch: c.Batch, Shards: c.Shards, Policy: c.policy(), Mode: c.Mode, Partition: c.Partition,
		PadLastBatch: c.PadLastBatch, StickToShard: c.StickToShard, Shuffle: c.Shuffle, Seed: c.Seed, Block: c.Block, BlockGroup: c.BlockGroup, BlockEnds: c.BlockEnds, LastBatchPadded: c.LastBatchPadded,
	}
	if c.Epochs < 1 {
		return nil, fmt.Errorf("--epochs is %d; want at least 1", c.Epochs)
	}
	if c.Size != nil {
		if *c.Size == 0 {
			return nil, errors.New("--size is 0; want the samples of an epoch, or leave it out")
		}
		if *c.Size < 0 {
			return nil, fmt.Errorf("--size is %d: an epoch without end cannot be printed; want a positive size", *c.Size)
		}
		cfg.Size = *c.Size
	}
	if err := c.samplerFlags.set(&cfg); err != nil {
		return nil, planNames.error(err)
	}
	p, err := shard.New(cfg)
	if err != nil {
		return nil, planNames.error(err)
	}
	run := &planRun{plan: p, last: c.Epochs - 1}
	if c.Resume != "" {
		if err := run.resume(c.Resume); err != nil {
			return nil, err
		}
	}
	return run, run.bound(c.JSON)
}

// What a plan that is printed may have: epochs, rows in JSON, and rows or samples in a
// table.
const (
	epochLimit = 10_000_000
	jsonLimit  = 10_000_000_000
	tableLimit = 10_000_000
)

// bound refuses what would be printed for hours.
func (r *planRun) bound(json bool) error {
	if n := r.last - r.first + 1; n > epochLimit {
		return fmt.Errorf("--epochs: %d epochs are more than anyone reads; want at most %d", n, epochLimit)
	}
	if json {
		if r.rows(jsonLimit) > jsonLimit {
			return fmt.Errorf("the plan has more than %d rows; print fewer samples, epochs or --size", int64(jsonLimit))
		}
		return nil
	}
	rows := r.rows(tableLimit)
	if r.read != nil && rows <= tableLimit { // a table looks at what was read before
		rows += rowsOf(r.read, r.readSteps, tableLimit)
	}
	if cfg := r.plan.Config(); rows > tableLimit || idsOf(&cfg) > tableLimit {
		return fmt.Errorf("a table is for at most %d samples and rows; use --json", tableLimit)
	}
	return nil
}

// rows counts the rows that are printed, up to one above limit. An epoch without steps
// counts as one of a step, for its brackets.
func (r *planRun) rows(limit int64) (total int64) {
	for epoch := r.first; epoch <= r.last && total <= limit; epoch++ {
		from, to := r.steps(epoch)
		total += rowsOf(r.plan, max(1, to-from), limit-total)
	}
	return total
}

// rowsOf counts the rows of so many steps of all ranks, limit + 1 where there are more.
func rowsOf(p *shard.Plan, steps, limit int64) int64 {
	cfg := p.Config()
	step := int64(cfg.Batch) * int64(cfg.Shards) // shard.New bounds it
	if steps > limit/step {
		return limit + 1
	}
	return steps * step
}

// resume moves the start of the run to a position such as "1:20@4".
func (r *planRun) resume(position string) error {
	at, err := parsePlace(position)
	if err != nil {
		return err
	}
	cfg := r.plan.Config()
	if at.shards > 0 {
		if cfg.Partition == shard.ByStep {
			global := int64(cfg.Batch) * int64(cfg.Shards)
			if global%int64(at.shards) != 0 {
				return fmt.Errorf("--resume: %d ranks cannot share global batches of %d (--batch %d × --shards %d); want a divisor",
					at.shards, global, cfg.Batch, cfg.Shards)
			}
			cfg.Batch = int(global / int64(at.shards))
		}
		cfg.Shards = at.shards
	}
	if at.epoch > r.last {
		return fmt.Errorf("--resume: epoch %d is not one of %d (--epochs), counted from 0", at.epoch, r.last+1)
	}
	read, err := shard.New(cfg)
	if err != nil {
		return planNames.error(err)
	}
	if steps := read.Steps(at.epoch); at.step > steps {
		return fmt.Errorf("--resume: step %d is beyond the %d steps of epoch %d", at.step, steps, at.epoch)
	}
	p, err := r.plan.Resume(shard.Position{Epoch: at.epoch, Phases: []shard.Phase{{Shards: cfg.Shards, Batch: cfg.Batch, Steps: at.step}}})
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	r.plan, r.first = p, at.epoch
	r.read, r.readSteps = read, at.step
	if epoch, skip := p.Start(); epoch == at.epoch {
		r.skip = skip
	} else { // nothing is left of it
		r.skip = p.Steps(at.epoch)
	}
	return nil
}

// steps returns the range of steps that is printed of an epoch.
func (r *planRun) steps(epoch int64) (from, to int64) {
	if epoch == r.first {
		from = r.skip
	}
	return from, r.plan.Steps(epoch)
}

// rank appends to dst[:0] the batch of a rank, and reports whether the rank
// takes part in the step: DALI's iterator with a size leaves some out.
func (r *planRun) rank(dst []int64, epoch, step int64, rank int) ([]int64, bool) {
	ids := r.plan.AppendBatch(dst[:0], epoch, step, rank)
	return ids, len(ids) > 0 || r.plan.Config().Size == 0
}

// writeJSON streams the contract's JSON, since a plan may be larger than memory. With --lengths an
// epoch also has its padding and its balance, as the table does.
func (r *planRun) writeJSON(out *bufio.Writer) {
	var ids []int64
	out.WriteString(`{"epochs":[`)
	for epoch := r.first; epoch <= r.last; epoch++ {
		if epoch > r.first {
			out.WriteByte(',')
		}
		from, to := r.steps(epoch)
		fmt.Fprintf(out, `{"len":%d,"batches":[`, r.plan.Len(epoch)-from)
		for rank := range r.plan.Config().Shards {
			if rank > 0 {
				out.WriteByte(',')
			}
			out.WriteByte('[')
			separator := ""
			for step := from; step < to; step++ {
				var ok bool
				if ids, ok = r.rank(ids, epoch, step, rank); ok {
					out.WriteString(separator)
					writeIDs(out, ids)
					separator = ","
				}
			}
			out.WriteByte(']')
		}
		out.WriteByte(']')
		if r.plan.Config().Groups != nil {
			r.groupCost(epoch).writeJSON(out)
		}
		out.WriteByte('}')
	}
	out.WriteString("]}\n")
}

// writeIDs writes a JSON array of numbers.
func writeIDs(out *bufio.Writer, ids []int64) {
	out.WriteByte('[')
	for i, id := range ids {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(strconv.AppendInt(out.AvailableBuffer(), id, 10))
	}
	out.WriteByte(']')
}
