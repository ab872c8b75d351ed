package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planktonml/plankton/internal/region"
)

// Feed says which samples a run of a pipeline reads. It is asked from several
// goroutines at once, so it must be a pure function.
type Feed interface {
	// Locate returns the place of batch seq, counted from 0 since the run
	// began; false when there is no such batch.
	Locate(seq int64) (epoch, step int64, ok bool)
	// Sample returns the index that a row of a batch reads from the reader at
	// the given position of Pipeline.Readers; false when the row is not valid.
	// It is not asked for sequences.
	Sample(reader int, epoch, step int64, row int) (index int64, ok bool)
}

// Runner runs a pipeline as its owner: it makes the batches of a feed ahead of
// the one in use. Its methods belong to one goroutine. Iterators are built on
// it; programs use an iterator.
type Runner struct {
	p        *Pipeline
	feed     Feed
	batches  []*Batch
	workers  []*worker
	engine   *region.Engine
	seqs     []*turnstile // by reader, nil where it is a source
	indices  [][]int64    // by worker, by reader
	ctx      context.Context
	cancel   context.CancelFunc
	consumed int64 // batches delivered since the last Reset
	total    int64
	bad      int64
	waited   time.Duration
	err      error
}

// NewRunner makes the caller the pipeline's owner. No worker starts and
// nothing is read before Next.
func (p *Pipeline) NewRunner(feed Feed) (*Runner, error) {
	if err := p.own(); err != nil {
		return nil, err
	}
	r := &Runner{p: p, feed: feed, seqs: make([]*turnstile, len(p.readers))}
	for i, rd := range p.readers {
		if rd.Sequence != nil {
			r.seqs[i] = newTurnstile(rd.Sequence)
		}
	}
	for range p.opt.Workers {
		w, err := p.newWorker()
		if err != nil {
			r.Close()
			return nil, err
		}
		r.workers = append(r.workers, w)
		r.indices = append(r.indices, make([]int64, len(p.readers)))
	}
	return r, nil
}

// start allocates the batches and starts the workers.
func (r *Runner) start() {
	for range r.p.opt.PrefetchDepth + 1 {
		r.batches = append(r.batches, newBatch(r.p))
	}
	r.engine = region.New(region.Config{
		Workers: r.p.opt.Workers, Slots: len(r.batches), Rows: r.p.opt.BatchSize, Grain: r.p.grain,
		Run: r.row, Finish: func(seq int64) { r.batch(seq).finish() },
		Lost: func(worker int, seq int64, row int) {
			r.failed(r.batch(seq), row, 0, r.indices[worker][0], r.p.nodes[r.workers[worker].at].op.Name, errGoexit)
		},
	})
	r.engine.Park()
}

func (r *Runner) batch(seq int64) *Batch { return r.batches[seq%int64(len(r.batches))] }

// row makes one row; it runs on a worker.
func (r *Runner) row(worker int, seq int64, row int) {
	w, b, idx := r.workers[worker], r.batch(seq), r.indices[worker]
	b.mask[row], b.ids[row] = true, -1
	for i := range idx {
		if r.seqs[i] != nil {
			idx[i] = b.step*int64(r.p.opt.BatchSize) + int64(row)
			continue
		}
		index, ok := r.feed.Sample(i, b.epoch, b.step, row)
		if !ok {
			b.void(row)
			return
		}
		idx[i] = index
	}
	b.ids[row] = idx[0]
	err := w.run(r.ctx, b, row, idx, r.seqs)
	switch {
	case err == nil:
	case errors.Is(err, errEnd):
		b.ids[row] = -1
		b.void(row)
	default:
		n := &r.p.nodes[w.at]
		reader := max(n.reader, 0)
		r.failed(b, row, reader, idx[reader], n.op.Name, err)
	}
}

// failed records the error of a row: of what a reader delivered, or of what an
// operator made of it. The row is void until a policy says otherwise.
func (r *Runner) failed(b *Batch, row, reader int, index int64, op string, err error) {
	b.errs[row] = &SampleError{Source: r.p.readers[reader].describe(index), Index: index, Op: op, Err: err}
	b.void(row)
}

// Next returns the next batch of the feed, waiting for it if need be, or nil
// when the feed or the sequence has no more. The caller holds the batch until
// it releases it.
//
// Under the policy Fail a bad sample's *SampleError is returned instead of its
// batch: of several the one of the first row. It is also what a call after
// Reset to that batch finds. The end of ctx returns its cause.
func (r *Runner) Next(ctx context.Context) (*Batch, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if r.engine == nil {
		r.start()
	}
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	r.arm()
	r.engine.Resume()
	if r.engine.Armed() == r.consumed {
		if _, _, ok := r.feed.Locate(r.consumed); ok {
			return nil, fmt.Errorf("pipeline: all %d batches are held; release one or raise PrefetchDepth", len(r.batches))
		}
		return nil, nil
	}
	began := time.Now()
	seq, err := r.engine.Next(ctx)
	r.waited += time.Since(began)
	if err != nil {
		return nil, err
	}
	b := r.batch(seq)
	r.consumed++
	if r.atEnd(b) {
		return nil, nil
	}
	b.refs.Store(1)
	if err := r.judge(b); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// arm lets every free batch that the feed still has be made.
func (r *Runner) arm() {
	for {
		seq := r.engine.Armed()
		if seq-r.consumed >= int64(len(r.batches)) || r.batch(seq).refs.Load() != 0 {
			return
		}
		epoch, step, ok := r.feed.Locate(seq)
		if !ok {
			return
		}
		r.batch(seq).begin(seq, epoch, step)
		r.engine.Arm()
	}
}

// atEnd reports that a sequence was over before the first row of the batch.
func (r *Runner) atEnd(b *Batch) bool {
	for _, s := range r.seqs {
		if s != nil {
			return b.valid == 0 && b.bad == 0
		}
	}
	return false
}

// judge applies the error policy to a batch that is about to be delivered.
func (r *Runner) judge(b *Batch) error {
	for _, id := range b.ids {
		if id >= 0 {
			r.total++
		}
	}
	if b.bad == 0 {
		return nil
	}
	o := &r.p.opt
	for _, err := range b.errs {
		switch {
		case err == nil:
		case o.OnError == Fail:
			return err
		default:
			r.bad++
			if o.OnSampleError != nil {
				o.OnSampleError(err)
			}
			if o.MaxBad > 0 && r.bad > o.MaxBad {
				return fmt.Errorf("%w: %d, at most %d are allowed; the last: %w", ErrTooManyBad, r.bad, o.MaxBad, err)
			}
		}
	}
	if o.MaxBadShare > 0 && float64(r.bad) > o.MaxBadShare*float64(r.total) {
		return fmt.Errorf("%w: %d of %d, at most %g %% are allowed", ErrTooManyBad, r.bad, r.total, 100*o.MaxBadShare)
	}
	return nil
}

// Park stops the workers after the samples in hand and waits for them. Batches
// that were made ahead are kept; the next call of Next goes on.
func (r *Runner) Park() {
	if r.engine != nil {
		r.engine.Park()
	}
}

// Stop parks the workers and gives up what they have in hand: readers see
// their context end. Only Reset may follow.
func (r *Runner) Stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.Park()
}

// Reset forgets the batches that were made ahead and goes on with batch 0 of
// feed. Batches still held keep their memory until they are released, so Reset
// refuses while there are any.
func (r *Runner) Reset(feed Feed) error {
	for _, b := range r.batches {
		if b.refs.Load() != 0 {
			return fmt.Errorf("pipeline: a batch is still held; release it before the reset: %w", ErrBusy)
		}
	}
	r.Stop()
	r.ctx, r.cancel = nil, nil
	for _, s := range r.seqs {
		if s != nil {
			s.restart()
		}
	}
	if r.engine != nil {
		r.engine.Reset()
	}
	r.feed, r.consumed = feed, 0
	return nil
}

// Waited returns how long Next has waited for batches.
func (r *Runner) Waited() time.Duration { return r.waited }

// Bad returns how many samples failed and were skipped or replaced.
func (r *Runner) Bad() int64 { return r.bad }

// Close stops and joins the workers, frees the memory and gives the pipeline
// up. A batch that is still held must not be used any more.
func (r *Runner) Close() error {
	if errors.Is(r.err, ErrClosed) {
		return nil
	}
	r.err = ErrClosed
	r.Stop()
	if r.engine != nil {
		r.engine.Close()
	}
	for _, s := range r.seqs {
		if s != nil {
			s.restart()
		}
	}
	for _, b := range r.batches {
		b.free()
	}
	for _, w := range r.workers {
		w.free()
	}
	r.p.disown()
	return nil
}
