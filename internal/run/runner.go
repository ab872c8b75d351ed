package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/pipeline/stats"
)

// Runner runs a pipeline as its owner: it makes the batches of a feed ahead of
// the one in use. Its methods belong to one goroutine. Iterators are built on
// it; programs use an iterator.
//
// The pipeline runs as a root loop of the executor: a batch is an iteration,
// which starts when one of PrefetchDepth + 1 flights is free, and is over when
// its batch has been released.
type Runner struct {
	e      *Engine
	p      *compiled.Pipeline
	feed   Feed
	region *sampleRegion // nil before the first Next
	exec   *executor.Executor
	loop   *executor.Loop // nil when nothing is being made
	ending *ending        // of the loop before, nil when that is over
	ctx    context.Context
	cancel context.CancelFunc

	taken  int64 // batches of the loop
	counts sampleCounts
	closed bool

	scheduled int64 // batches that may be begun in all; 0 is no limit

	tuner       *stats.Tuner // nil without Autotune
	seen        stats.Run    // of the tuner's last look
	looked      int64
	lookedTaken int64
}

// sampleCounts is what the caps on bad samples go by.
type sampleCounts struct{ total, bad int64 }

// NewRunner makes the caller the pipeline's owner. No worker starts and
// nothing is read before Next.
//
// The error is fault.ErrBusy if the pipeline has an owner, and that of FedSequence.Admit if its
// reader is one.
func (e *Engine) NewRunner(feed Feed) (*Runner, error) {
	if fed, ok := e.p.Readers()[0].Sequence.(FedSequence); ok {
		if err := fed.Admit(feed); err != nil {
			return nil, err
		}
	}
	if err := e.own(); err != nil {
		return nil, err
	}
	region, err := newSampleRegion(e)
	if err != nil {
		e.disown()
		return nil, err
	}
	r := &Runner{e: e, p: e.p, feed: feed, region: region}
	if e.p.Options().Tuning != nil {
		r.tuner, r.looked = newTuner(e.p.Options()), now()
	}
	r.region.consumer.tuned(stats.Setting{Workers: e.p.Options().Workers, Depth: r.depth()})
	if err := r.compile(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// compile makes the executor of the pipeline's program.
func (r *Runner) compile() error {
	h := r.region
	program, err := r.p.Program(&compiled.Kernels{
		Region: h.begin, Rows: h.rowWork(), Op: h.batchKernel, End: h.endBatch,
		TakeHost: h.takeHost, FreeHost: h.freeHost, TakeDevice: h.takeDevice,
		TakeTurn: h.takeTurn, PassTurn: h.passTurn,
	})
	if err != nil {
		return err
	}
	o := r.p.Options()
	r.exec, err = executor.New(program, executor.Options{
		Workers: o.MaxWorkers, Concurrency: o.Concurrency,
		Devices: r.region.watch.devices(o.Device), StreamPolicy: o.StreamPolicy, StreamBudget: o.StreamBudget,
	})
	if err != nil {
		return err
	}
	h.rows = r.exec.Rows()
	h.rows.SetWorkers(o.Workers)
	return nil
}

// Next returns the next batch of the feed, waiting for it if need be, or nil
// when the feed or the sequence has no more. The caller holds the batch until
// it releases it.
//
// Under the policy Fail a bad sample's *SampleError is returned instead of its
// batch: of several the one of the first row. It is also what a call after
// Reset to that batch finds. Under every policy it is a *MachineError where the state
// of the machine is at fault and not a sample. The end of ctx returns its cause.
func (r *Runner) Next(ctx context.Context) (*Flight, error) {
	if r.closed {
		return nil, fault.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if held := r.region.consumer.held.Load(); int(held) == r.depth()+1 {
		return nil, fmt.Errorf("pipeline: all %d batches are held; release one or raise %s", held, r.p.Options().DepthName())
	}
	if err := r.resume(ctx); err != nil {
		return nil, err
	}
	if r.scheduled > 0 && r.taken >= r.scheduled {
		return nil, fmt.Errorf("pipeline: all %d scheduled batches were delivered; call Schedule with more", r.scheduled)
	}
	r.tune()
	ready := r.loop.Ready()
	r.region.consumer.asked(ready, r.depth())
	r.region.rows.Yield(false)
	if r.region.house != nil {
		r.region.rows.Nudge() // who is idle may help
	}
	r.region.memory.ask(true)
	res, err := r.loop.Next(ctx)
	r.region.memory.ask(false)
	waited := r.region.consumer.answered()
	if err != nil {
		if over := (*fault.BatchBudgetError)(nil); errors.As(err, &over) {
			return nil, over // which node of the program it was tells the user nothing
		}
		return nil, err
	}
	if !res.Output(0).Bool() { // the feed is at its end
		res.Release()
		return nil, nil
	}
	r.region.rows.Yield(true)
	r.taken++
	f := r.region.deliver(res)
	given := false
	defer func() { // also when a hook of the program panics
		if !given {
			f.Release()
		}
	}()
	if r.atEnd(f) {
		return nil, nil
	}
	counts, err := r.judge(f)
	if err != nil {
		return nil, err
	}
	r.region.consumer.delivered(f, waited)
	if told := r.p.Options().Events.BatchDelivered; told != nil {
		e := f.event()
		e.Waited, e.Ready = waited, ready
		told(e)
	}
	given, r.counts = true, counts
	return f, nil
}

// resume lets the workers go on, and starts the loop if there is none.
func (r *Runner) resume(ctx context.Context) error {
	if r.loop != nil {
		r.region.resume()
		return nil
	}
	if err := r.ended(ctx); err != nil {
		return err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := r.region.start(r.ctx, r.feed); err != nil {
		r.cancel()
		return err
	}
	r.taken, r.lookedTaken = 0, 0
	r.region.watch.begin()
	loop, err := r.exec.Loop(r.ctx, executor.LoopOptions{Slots: r.p.Options().Slots(), Limit: r.started()})
	if err != nil {
		r.cancel()
		return err
	}
	r.loop = loop
	if err := r.region.started(); err != nil {
		r.end()
		return err
	}
	return nil
}

// Schedule begins the run if need be, and lets it make n batches in all, counted since
// NewRunner or Reset, ahead of the calls of Next; n is at least 1 and no less than it was.
// Without Schedule there is no limit. It waits for what a Reset has given up, or until
// ctx ends. The error is ErrClosed after Close.
func (r *Runner) Schedule(ctx context.Context, n int64) error {
	if r.closed {
		return fault.ErrClosed
	}
	r.scheduled = n
	if err := r.resume(ctx); err != nil {
		return err
	}
	r.loop.Limit(r.started())
	return nil
}

// started returns how many batches the loop may have started by now; 0 is no
// limit.
func (r *Runner) started() int64 {
	n := r.limit()
	if r.scheduled > 0 && (n == 0 || r.scheduled < n) {
		n = r.scheduled
	}
	return n
}

// atEnd reports that a sequence was over before the first row of the batch.
func (r *Runner) atEnd(f *Flight) bool {
	return r.p.Readers()[0].Sequence != nil && f.valid == 0 && f.bad == 0
}

// judge applies the error policy to a batch that is about to be delivered, and
// returns the counts with its samples. They hold once it is delivered: a batch that is
// not is made again.
func (r *Runner) judge(f *Flight) (sampleCounts, error) {
	n := r.counts
	for _, id := range f.ids {
		if id >= 0 {
			n.total++
		}
	}
	if f.bad == 0 {
		return n, nil
	}
	for _, err := range f.errs {
		if m := (*fault.MachineError)(nil); err != nil && errors.As(err.Err, &m) {
			return n, m
		}
	}
	o := r.p.Options()
	for _, err := range f.errs {
		switch {
		case err == nil:
		case o.OnError == compiled.Fail:
			err.Ended = true
			return n, err
		default:
			n.bad++
			if o.OnSampleError != nil {
				o.OnSampleError(err)
			}
			if o.MaxBad > 0 && n.bad > o.MaxBad {
				return n, fmt.Errorf("%w: %d, at most %d are allowed; the last: %w", fault.ErrTooManyBad, n.bad, o.MaxBad, err)
			}
		}
	}
	if o.MaxBadShare > 0 && float64(n.bad) > o.MaxBadShare*float64(n.total) {
		return n, fmt.Errorf("%w: %d of %d, at most %g %% are allowed", fault.ErrTooManyBad, n.bad, n.total, 100*o.MaxBadShare)
	}
	return n, nil
}

// Park stops the workers and waits until they are done with the samples in hand, or
// until ctx ends. Batches that were made ahead are kept; the next call of Next goes on.
func (r *Runner) Park(ctx context.Context) {
	if r.loop != nil {
		r.region.pause()
		r.region.quiet(ctx)
	}
}

// Stop stops the workers and gives up what they have in hand: readers and operators
// see their context end. It does not wait for them. Only Park and Reset may follow.
func (r *Runner) Stop() {
	if r.loop != nil {
		r.cancel()
		r.region.pause()
	}
}

// Reset forgets the batches that were made ahead and what was scheduled, and goes on with
// batch 0 of feed. Batches still held keep their memory until they are released, so Reset
// refuses while there are any. It does not wait for what is at work; Next does.
func (r *Runner) Reset(feed Feed) error {
	if r.region.consumer.held.Load() != 0 {
		return fmt.Errorf("pipeline: a batch is still held; release it before the reset: %w", fault.ErrBusy)
	}
	r.end()
	r.feed, r.scheduled = feed, 0
	return nil
}

// Bad returns how many samples of the batches delivered failed and were skipped or
// replaced.
func (r *Runner) Bad() int64 { return r.counts.bad }

// CountAnew makes Bad and the caps on bad samples (Options.MaxBad, MaxBadShare) begin
// at zero.
func (r *Runner) CountAnew() { r.counts = sampleCounts{} }

// Close stops and joins the workers, frees the memory and gives the pipeline
// up. It waits for operators, readers and sequences that are at work. Batches that are
// still held end with it, as Batch says.
func (r *Runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.end()
	_ = r.ended(context.Background()) // a context that does not end
	var err error
	if r.exec != nil {
		err = r.exec.Close()
	}
	r.region.close()
	r.e.disown()
	return err
}
