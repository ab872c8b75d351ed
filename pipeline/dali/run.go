package dali

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
)

// Pipeline runs a pipeline.Pipeline, either by Run or by ScheduleRun, ShareOutputs and
// ReleaseOutputs. The first call decides; a call of the other way is a *ModeError.
//
// With the first run it becomes the owner of the pipeline, until Close. As long as it is,
// nobody else can run the pipeline, such as an iterator (pipeline.ErrBusy); while somebody
// else is the owner, neither can it.
//
// It reads without an end and fills every batch. The first reader reads epoch after epoch
// under the policy shard.Fill, and Batch.Epoch and Batch.Step say where a batch is. The
// other readers read what run.Orders says.
//
// The methods belong to one goroutine, but for FeedInput, ReaderMeta, EpochSize and
// ExecutorStatistics, which any goroutine may call.
type Pipeline struct {
	p  *pipeline.Pipeline
	in *input // nil where the program feeds none

	mode      mode            // empty before the first run
	runner    *run.Runner     // nil before the first run
	out       *pipeline.Batch // with the consumer
	scheduled int64           // batches in all
	shared    int64
	ended     bool  // a sequence is at its end
	epoch     int64 // of a sequence
}

// New returns a Pipeline that runs p. Nothing is started or read, and p has no owner yet.
func New(p *pipeline.Pipeline) *Pipeline {
	in, _ := p.Readers()[0].Sequence.(*input)
	return &Pipeline{p: p, in: in}
}

// mode is a way of running a pipeline.
type mode string

const (
	modeRun      mode = "Run"
	modeSchedule mode = "ScheduleRun, ShareOutputs and ReleaseOutputs"
)

// ModeError is a pipeline run in two ways.
type ModeError struct {
	Used  string // the way in which the pipeline was run first
	Tried string // the way in which it was to be run now
}

func (e *ModeError) Error() string {
	return fmt.Sprintf("dali: the pipeline is run by %s and cannot be run by %s too; make another pipeline", e.Used, e.Tried)
}

// ErrNotScheduled is returned by ShareOutputs when every scheduled batch was shared.
var ErrNotScheduled = errors.New("dali: no run is scheduled; call ScheduleRun first")

// start decides that the pipeline is run in mode m, or checks that this was decided before,
// and makes the runner if there is none.
func (d *Pipeline) start(m mode) error {
	if d.mode != "" && d.mode != m {
		return &ModeError{Used: string(d.mode), Tried: string(m)}
	}
	if d.runner == nil {
		feed, err := d.feed(0)
		if err != nil {
			return err
		}
		if d.runner, err = d.p.Engine().NewRunner(feed); err != nil {
			return err
		}
		if d.in != nil {
			d.in.begin()
		}
	}
	d.mode = m
	return nil
}

// Run gives the batch that it returned before back to the pipeline and returns the next
// one, which is valid until the next call of Run. Batches are made ahead meanwhile.
//
// The error is io.EOF when a sequence is at its end, until Reset; a *pipeline.SampleError
// under the policy Fail or a *pipeline.MachineError, after which Run goes on with the next
// batch; a *ModeError if the pipeline is run in the other way; pipeline.ErrBusy if an
// iterator or another Pipeline runs it; pipeline.ErrClosed after Close; the cause of ctx if
// that ends first.
func (d *Pipeline) Run(ctx context.Context) (*pipeline.Batch, error) {
	if err := d.start(modeRun); err != nil {
		return nil, err
	}
	d.release()
	if d.in != nil {
		fed := d.in.fedBatches()
		if fed == d.shared {
			return nil, d.in.hungry()
		}
		if err := d.runner.Schedule(ctx, fed); err != nil {
			return nil, err
		}
	}
	return d.take(ctx)
}

// ScheduleRun has one more batch made, and returns at once. The first call schedules
// PrefetchDepth batches, which are made ahead. Where the pipeline has an Input, every call
// schedules one batch, which must have been fed before. Any number of runs may
// be scheduled; PrefetchDepth + 1 batches at most are in memory. The errors are those of
// Run, except io.EOF and those of samples.
func (d *Pipeline) ScheduleRun(ctx context.Context) error {
	if err := d.start(modeSchedule); err != nil {
		return err
	}
	n := d.scheduled + 1
	if d.in != nil {
		if d.in.fedBatches() < n {
			return d.in.hungry()
		}
	} else if d.scheduled == 0 {
		n = int64(d.p.Options().PrefetchDepth)
	}
	if err := d.runner.Schedule(ctx, n); err != nil {
		return err
	}
	d.scheduled = n
	return nil
}

// ShareOutputs waits for the next scheduled batch and returns it. It is valid
// until ReleaseOutputs, which must come before the next batch is shared. The
// errors are those of Run, and ErrNotScheduled.
func (d *Pipeline) ShareOutputs(ctx context.Context) (*pipeline.Batch, error) {
	err := d.start(modeSchedule)
	switch {
	case err != nil:
		return nil, err
	case d.out != nil:
		return nil, errors.New("dali: the outputs are shared already; call ReleaseOutputs first")
	case d.shared == d.scheduled:
		return nil, ErrNotScheduled
	}
	return d.take(ctx)
}

// ReleaseOutputs gives the shared batch back to the pipeline. If none is shared,
// because it was released before, the error is pipeline.ErrReleased.
func (d *Pipeline) ReleaseOutputs() error {
	err := d.start(modeSchedule)
	switch {
	case err != nil:
		return err
	case d.out == nil:
		return fmt.Errorf("%w: no outputs are shared, or they were released before", pipeline.ErrReleased)
	}
	d.release()
	return nil
}

// NextOutputs releases the shared batch, if there is one, and shares the next:
// NVIDIA DALI's outputs.
func (d *Pipeline) NextOutputs(ctx context.Context) (*pipeline.Batch, error) {
	if err := d.start(modeSchedule); err != nil {
		return nil, err
	}
	d.release()
	return d.ShareOutputs(ctx)
}

// Empty reports whether every scheduled batch was shared.
func (d *Pipeline) Empty() bool { return d.scheduled == d.shared }

// Reset begins a sequence anew that has come to its end, and forgets what was scheduled. It
// does nothing in any other case: readers of sources have no end.
func (d *Pipeline) Reset() error {
	if !d.ended {
		return nil
	}
	d.release()
	feed, err := d.feed(d.epoch + 1)
	if err != nil {
		return err
	}
	if err := d.runner.Reset(feed); err != nil {
		return err
	}
	d.epoch, d.ended, d.scheduled, d.shared = d.epoch+1, false, 0, 0
	return nil
}

// Close stops the workers, frees the memory and gives the pipeline up. Closing twice is no
// error, nor is closing what has not run.
func (d *Pipeline) Close() error {
	if d.runner == nil {
		return nil
	}
	d.release()
	return d.runner.Close()
}

// ExecutorStatistics returns the memory that every operator has needed in the pipeline's
// latest run: pipeline.Pipeline.OperatorMemory under NVIDIA DALI's name.
func (d *Pipeline) ExecutorStatistics() stats.Memory { return d.p.OperatorMemory() }

// take waits for the next batch.
func (d *Pipeline) take(ctx context.Context) (*pipeline.Batch, error) {
	if d.ended {
		return nil, io.EOF
	}
	out, err := d.runner.Next(ctx)
	switch {
	case err != nil:
		if bad, m := (*pipeline.SampleError)(nil), (*pipeline.MachineError)(nil); errors.As(err, &bad) || errors.As(err, &m) {
			d.shared++ // its batch is gone
		}
		return nil, err
	case out == nil:
		d.ended = true
		return nil, io.EOF
	}
	d.shared++
	d.out = (*pipeline.Batch)(out)
	return d.out, nil
}

// release gives the batch back that the consumer has.
func (d *Pipeline) release() {
	if d.out != nil {
		d.out.Release()
		d.out = nil
	}
}
