package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/planktonml/plankton/shard"
)

// A pipeline can be run in one of three ways, after NVIDIA DALI: by Run; by
// ScheduleRun, ShareOutputs and ReleaseOutputs; or by an iterator. The first use
// decides, since each has its own rules of who holds a batch for how long.
//
// Run and ScheduleRun belong to one goroutine. They read without an end, filling
// every batch: epoch follows epoch of the first reader under the policy FILL, as
// Batch.Epoch and Batch.Step tell, and the other readers go along as Orders says.

// mode is a way of running a pipeline.
type mode string

const (
	modeRun      mode = "Run"
	modeSchedule mode = "ScheduleRun, ShareOutputs and ReleaseOutputs"
	modeIterator mode = "an iterator"
)

// ModeError is a pipeline run in two ways.
type ModeError struct {
	Used  string // the way in which the pipeline was run first
	Tried string // the way in which it was to be run now
}

func (e *ModeError) Error() string {
	return fmt.Sprintf("pipeline: it is run by %s and cannot be run by %s too; make another pipeline", e.Used, e.Tried)
}

// ErrNotScheduled is returned by ShareOutputs when every scheduled batch was shared.
var ErrNotScheduled = errors.New("pipeline: no run is scheduled; call ScheduleRun first")

// bare is the run of a pipeline without an iterator.
type bare struct {
	runner    *Runner
	out       *Batch // with the consumer
	scheduled int64  // batches in all
	shared    int64
	ended     bool  // a sequence or the inputs are at their end
	epoch     int64 // of a sequence
}

// adopt decides how the pipeline is run, or checks that it was decided so.
func (p *Pipeline) adopt(m mode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "" {
		p.mode = m
	}
	if p.mode != m {
		return &ModeError{Used: string(p.mode), Tried: string(m)}
	}
	return nil
}

// run readies the pipeline for being run without an iterator.
func (p *Pipeline) run(m mode) (*bare, error) {
	if err := p.adopt(m); err != nil {
		return nil, err
	}
	if p.bare == nil {
		feed, err := p.fill(0)
		if err != nil {
			return nil, err
		}
		r, err := p.newRunner(feed)
		if err != nil {
			return nil, err
		}
		p.bare = &bare{runner: r}
	}
	return p.bare, nil
}

// Run returns the next batch, which stays valid until the next call of Run; the
// one before it goes back to the pipeline. Batches are made ahead meanwhile.
//
// The error is io.EOF when a sequence is at its end, until Reset; a *SampleError
// under the policy Fail or a *MachineError, after which Run goes on with the next batch; a *ModeError
// if the pipeline is run in another way; the cause of ctx if that ends first.
func (p *Pipeline) Run(ctx context.Context) (*Batch, error) {
	b, err := p.run(modeRun)
	if err != nil {
		return nil, err
	}
	b.release()
	if in := p.input(); in != nil {
		fed := in.fedBatches()
		if fed == b.shared {
			return nil, in.hungry()
		}
		if err := b.runner.schedule(ctx, fed); err != nil {
			return nil, err
		}
	}
	return b.take(ctx)
}

// ScheduleRun has one more batch made, and returns at once. The first call
// schedules as many as are made ahead, PrefetchDepth, unless the pipeline has an
// input: that must have been fed with a batch for every run. Any number of runs may
// be scheduled; PrefetchDepth + 1 batches at most are in memory.
func (p *Pipeline) ScheduleRun(ctx context.Context) error {
	b, err := p.run(modeSchedule)
	if err != nil {
		return err
	}
	n := b.scheduled + 1
	if in := p.input(); in != nil {
		if in.fedBatches() < n {
			return in.hungry()
		}
	} else if b.scheduled == 0 {
		n = int64(p.opt.PrefetchDepth)
	}
	if err := b.runner.schedule(ctx, n); err != nil {
		return err
	}
	b.scheduled = n
	return nil
}

// ShareOutputs waits for the next scheduled batch and returns it. It is valid
// until ReleaseOutputs, which must come before the next batch is shared. The
// errors are those of Run, and ErrNotScheduled.
func (p *Pipeline) ShareOutputs(ctx context.Context) (*Batch, error) {
	b, err := p.run(modeSchedule)
	switch {
	case err != nil:
		return nil, err
	case b.out != nil:
		return nil, errors.New("pipeline: the outputs are shared already; call ReleaseOutputs first")
	case b.shared == b.scheduled:
		return nil, ErrNotScheduled
	}
	return b.take(ctx)
}

// ReleaseOutputs gives the shared batch back to the pipeline. If none is shared,
// because it was released before, the error is ErrReleased.
func (p *Pipeline) ReleaseOutputs() error {
	b, err := p.run(modeSchedule)
	switch {
	case err != nil:
		return err
	case b.out == nil:
		return fmt.Errorf("%w: no outputs are shared, or they were released before", ErrReleased)
	}
	b.release()
	return nil
}

// NextOutputs releases the shared batch, if there is one, and shares the next:
// NVIDIA DALI's outputs.
func (p *Pipeline) NextOutputs(ctx context.Context) (*Batch, error) {
	b, err := p.run(modeSchedule)
	if err != nil {
		return nil, err
	}
	b.release()
	return p.ShareOutputs(ctx)
}

// Empty reports whether every scheduled batch was shared.
func (p *Pipeline) Empty() bool {
	return p.bare == nil || p.bare.scheduled == p.bare.shared
}

// Reset begins a sequence anew that has come to its end; what was scheduled is
// forgotten. Otherwise it does nothing: readers of sources have no end.
func (p *Pipeline) Reset() error {
	b := p.bare
	if b == nil || !b.ended {
		return nil
	}
	b.release()
	feed, err := p.fill(b.epoch + 1)
	if err != nil {
		return err
	}
	if err := b.runner.Reset(feed); err != nil {
		return err
	}
	b.runner.scheduled = 0
	*b = bare{runner: b.runner, epoch: b.epoch + 1}
	return nil
}

// Close stops the workers of a pipeline that is run without an iterator and frees
// its memory; an iterator closes its pipelines itself. Closing twice is no error.
func (p *Pipeline) Close() error {
	p.mu.Lock()
	busy := p.mode == modeIterator && p.owned
	p.mu.Unlock()
	switch {
	case busy:
		return fmt.Errorf("pipeline: an iterator runs it; close that: %w", ErrBusy)
	case p.bare == nil:
		return nil
	}
	p.bare.release()
	return p.bare.runner.Close()
}

// take waits for the next batch.
func (b *bare) take(ctx context.Context) (*Batch, error) {
	if b.ended {
		return nil, io.EOF
	}
	out, err := b.runner.Next(ctx)
	switch {
	case err != nil && b.runner.closed:
		return nil, err
	case err != nil:
		if bad, m := (*SampleError)(nil), (*MachineError)(nil); errors.As(err, &bad) || errors.As(err, &m) {
			b.shared++ // its batch is gone
		}
		return nil, err
	case out == nil:
		b.ended = true
		return nil, io.EOF
	}
	b.shared++
	b.out = out
	return out, nil
}

// release gives the batch back that the consumer has.
func (b *bare) release() {
	if b.out != nil {
		b.out.Release()
		b.out = nil
	}
}

// fillFeed is the Feed of a pipeline without an iterator: the first reader drives, with
// epochs under FILL.
type fillFeed struct {
	*Orders
	plan *shard.Plan
}

// fill returns the feed, which for a sequence begins with an epoch.
func (p *Pipeline) fill(epoch int64) (Feed, error) {
	first := p.readers[0]
	if first.Sequence != nil {
		return sequenceFeed{epoch}, nil
	}
	cfg := first.PlanConfig(p.opt.BatchSize, p.opt.Seed)
	cfg.Policy = shard.Fill
	plan, err := shard.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("pipeline: reader %q: %w", first.Name, err)
	}
	orders, err := p.Orders(0)
	return &fillFeed{orders, plan}, err
}

// Locate implements Feed: the place in the first reader's epochs, all of which
// have the same length.
func (f *fillFeed) Locate(seq int64) (epoch, step int64, ok bool) {
	steps := f.plan.Steps(0)
	return seq / steps, seq % steps, true
}

// AppendBatch implements Feed.
func (f *fillFeed) AppendBatch(dst []int64, reader int, epoch, step int64) []int64 {
	return f.Orders.AppendBatch(dst, f.plan, reader, epoch, step)
}

// AppendEpochs implements MixFeed.
func (f *fillFeed) AppendEpochs(dst []int64, epoch, step int64) []int64 {
	return f.Orders.AppendEpochs(dst, f.plan, epoch, step)
}

// sequenceFeed is the Feed of a sequence, for one epoch.
type sequenceFeed struct{ epoch int64 }

// Locate implements Feed.
func (f sequenceFeed) Locate(seq int64) (epoch, step int64, ok bool) { return f.epoch, seq, true }

// AppendBatch implements Feed; it is not asked for sequences.
func (f sequenceFeed) AppendBatch(dst []int64, _ int, _, _ int64) []int64 { return dst }
