package iterator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// ErrClosed and ErrBusy are those of package pipeline.
var (
	ErrClosed = pipeline.ErrClosed // the loader was closed
	ErrBusy   = pipeline.ErrBusy   // another loop over the loader is running
)

// Loader delivers the epochs of one or more pipelines. One goroutine uses it at
// a time; a second one gets ErrBusy.
type Loader struct {
	opt   Options
	parts []part
	plan  *shard.Plan // nil for a sequence
	ring  []Batch

	mu     sync.Mutex
	busy   bool
	closed bool

	epoch, step int64  // the next batch to deliver
	dirty       bool   // the runners are not at epoch, step
	seq         int64  // batches delivered since the runners were at their start
	held        *Batch // what Next delivered last

	batches, samples int64
	active, first    time.Duration
}

// part is one pipeline of a loader.
type part struct {
	pipe   *pipeline.Pipeline
	run    *pipeline.Runner
	plans  []*shard.Plan // by reader
	ranks  []int         // by reader
	driver int
}

// New makes a loader of pipelines, which it owns until Close. Nothing is read
// and no worker starts before the first batch is asked for.
//
// The driving readers of several pipelines must agree in all but their shard;
// each delivers the rows of its own shard. An *OptionError names what does not
// fit; shard.ErrNoSteps says that the epochs would have no batch.
func New(o Options, pipes ...*pipeline.Pipeline) (*Loader, error) {
	if len(pipes) == 0 {
		return nil, &OptionError{"pipelines", errors.New("there is none; give at least one")}
	}
	l := &Loader{opt: o, dirty: true}
	slots := 0
	for _, p := range pipes {
		pt, err := newPart(o, p)
		if err != nil {
			return nil, err
		}
		for _, other := range l.parts {
			a, b := other.reader(), pt.reader()
			if err := agree(other.pipe, p, a, b); err != nil {
				return nil, err
			}
			if a.ShardID == b.ShardID {
				return nil, &OptionError{"pipelines", fmt.Errorf("two of them read shard %d of %d: every sample would come twice", a.ShardID, a.NumShards)}
			}
		}
		l.parts = append(l.parts, pt)
		slots = max(slots, p.Options().PrefetchDepth+1)
	}
	l.plan = l.parts[0].plan()
	if l.plan != nil {
		if err := l.plan.CheckSteps(); err != nil {
			return nil, err
		}
	} else if o.LastBatch == shard.Fill {
		return nil, &OptionError{"LastBatch", errors.New("a sequence cannot fill its last batch: it has no other samples to fill it with")}
	}
	l.ring = make([]Batch, slots)
	for i := range l.ring {
		l.ring[i].parts = make([]*pipeline.Batch, len(l.parts))
	}
	for i := range l.parts {
		run, err := l.parts[i].pipe.NewRunner(l.parts[i].feed(0, 0))
		if err != nil {
			l.close()
			return nil, err
		}
		l.parts[i].run = run
	}
	return l, nil
}

func newPart(o Options, p *pipeline.Pipeline) (part, error) {
	driver, _, err := o.driver(p)
	if err != nil {
		return part{}, err
	}
	pt := part{pipe: p, driver: driver}
	for i, r := range p.Readers() {
		if r.Sequence != nil {
			if o.Mode != shard.Exact || o.Partition != shard.ByShard {
				return part{}, &OptionError{"Mode", fmt.Errorf("reader %q is a sequence: it has no length to plan epochs with", r.Name)}
			}
			return pt, nil
		}
		cfg := shard.Config{
			Samples: r.Len(), Batch: p.Options().BatchSize, Shards: r.NumShards,
			Policy: o.LastBatch, Mode: o.Mode, Partition: o.Partition,
			PadLastBatch: r.PadLastBatch, StickToShard: r.StickToShard,
			Shuffle: r.Shuffle, Seed: p.Options().Seed,
		}
		if i != driver {
			cfg.Policy, cfg.Mode, cfg.Seed = shard.Fill, shard.Exact, cfg.Seed+uint64(i)
		}
		plan, err := shard.New(cfg)
		if err != nil {
			return part{}, fmt.Errorf("iterator: reader %q: %w", r.Name, err)
		}
		pt.plans = append(pt.plans, plan)
		pt.ranks = append(pt.ranks, r.ShardID)
	}
	return pt, nil
}

func (p *part) reader() *pipeline.Reader { return p.pipe.Readers()[p.driver] }

func (p *part) plan() *shard.Plan {
	if p.plans == nil {
		return nil
	}
	return p.plans[p.driver]
}

func (p *part) feed(epoch, step int64) pipeline.Feed {
	if p.plans == nil {
		return sequence{epoch}
	}
	return &feed{plan: p.plan(), plans: p.plans, drive: p.driver, ranks: p.ranks, epoch: epoch, step: step}
}

// Pipelines returns the pipelines in the order given to New.
func (l *Loader) Pipelines() []*pipeline.Pipeline {
	pipes := make([]*pipeline.Pipeline, len(l.parts))
	for i := range l.parts {
		pipes[i] = l.parts[i].pipe
	}
	return pipes
}

// Options returns the options.
func (l *Loader) Options() Options { return l.opt }

// Plan returns the plan of the epochs, nil for a sequence.
func (l *Loader) Plan() *shard.Plan { return l.plan }

// Len returns the number of batches of the epoch that the loader is in, those
// already delivered included; -1 for a sequence, which does not know.
func (l *Loader) Len() int {
	if l.plan == nil {
		return -1
	}
	return int(l.plan.Len(l.epoch))
}

// Uneven reports whether batches may have rows that are not valid: a last
// batch that is not full, a rank that ran out before others, or a sample that
// was skipped.
func (l *Loader) Uneven() bool {
	if slices.ContainsFunc(l.parts, func(p part) bool { return p.pipe.Options().OnError != pipeline.Fail }) {
		return true
	}
	if l.plan == nil {
		return l.opt.LastBatch != shard.Drop
	}
	c := l.plan.Config()
	return c.Policy == shard.Partial && c.Samples%(int64(c.Batch)*int64(c.Shards)) != 0
}

// Epoch returns an iterator over the batches left in the epoch: all of them, or
// after a break those from the first one not yet yielded.
//
// Each pair is a batch with a nil error, or a nil batch with the error that
// ended the loop; nothing follows an error. A batch goes back to the pipeline
// when the loop's body ends, also by break, return or panic; a defer in the body
// runs later than that. After the last batch the workers go on with the next
// epoch; after a break, a panic or an error they finish the sample in hand and
// rest. A ctx that ends stops the loop with its cause, and the batches made
// ahead are made again by the next call.
//
// After the error of a bad sample the loader stands before the batch with that
// sample: the next call tries it again, Reset skips to the next epoch.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[*Batch, error] { return l.Epochs(ctx, 1) }

// Epochs is Epoch for n epochs, the one begun included, without a pause in
// between. Batch.Epoch tells them apart.
func (l *Loader) Epochs(ctx context.Context, n int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if err := l.enter(); err != nil {
			yield(nil, err)
			return
		}
		began := time.Now()
		finished := false
		defer func() {
			if !finished {
				l.rest()
			}
			l.active += time.Since(began)
			l.leave()
		}()
		for range n {
			for {
				b, err := l.take(ctx)
				if err != nil {
					yield(nil, err)
					return
				}
				if b == nil {
					break
				}
				if !lend(b, yield) {
					return
				}
			}
		}
		finished = true
	}
}

// lend shows a batch to a loop's body and takes it back, whatever the body does.
func lend(b *Batch, yield func(*Batch, error) bool) bool {
	defer b.Release()
	return yield(b, nil)
}

// Next returns the next batch for programs that cannot range over an epoch, and
// io.EOF once at the end of each epoch. The batch is valid until the loader is
// used again.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	b, err := l.take(ctx)
	switch {
	case err != nil:
		l.rest()
		return nil, err
	case b == nil:
		return nil, io.EOF
	}
	l.held = b
	return b, nil
}

// take returns the next batch of the epoch, or nil at its end, with which the
// next epoch begins.
func (l *Loader) take(ctx context.Context) (*Batch, error) {
	if err := l.sync(); err != nil {
		return nil, err
	}
	if l.plan != nil && l.step >= l.plan.Steps(l.epoch) {
		l.epoch, l.step = l.epoch+1, 0
		return nil, nil
	}
	began := time.Now()
	b := &l.ring[l.seq%int64(len(l.ring))]
	for i := range l.parts {
		pb, err := l.parts[i].run.Next(ctx)
		if err != nil || pb == nil || (l.plan == nil && l.dropped(pb)) {
			if pb != nil {
				pb.Release()
			}
			for _, got := range b.parts[:i] {
				got.Release()
			}
			l.dirty = true
			if err == nil { // the end of a sequence
				l.epoch, l.step = l.epoch+1, 0
			}
			return nil, err
		}
		b.parts[i] = pb
	}
	b.Batch = b.parts[0]
	if l.batches == 0 {
		l.first = time.Since(began)
	}
	l.seq++
	l.step++
	l.batches++
	for _, pb := range b.parts {
		l.samples += int64(pb.NumValid())
	}
	return b, nil
}

// dropped reports whether the policy drops a sequence's last batch.
func (l *Loader) dropped(b *pipeline.Batch) bool {
	return l.opt.LastBatch == shard.Drop && slices.Contains(b.IDs(), -1)
}

// sync brings the runners to the loader's position.
func (l *Loader) sync() error {
	if !l.dirty {
		return nil
	}
	for i := range l.parts {
		if err := l.parts[i].run.Reset(l.parts[i].feed(l.epoch, l.step)); err != nil {
			return err
		}
	}
	l.dirty, l.seq = false, 0
	return nil
}

// rest parks the workers; where batches made ahead are void, it stops them.
func (l *Loader) rest() {
	for i := range l.parts {
		if l.dirty {
			l.parts[i].run.Stop()
		} else {
			l.parts[i].run.Park()
		}
	}
}

// Reset gives up what is left of the epoch: the next batch is the first of the
// next epoch. Before the first batch of an epoch it does nothing.
func (l *Loader) Reset() error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.step == 0 {
		return nil
	}
	l.epoch, l.step, l.dirty = l.epoch+1, 0, true
	l.rest()
	return nil
}

// Position returns the place after the last batch delivered, whatever was made
// ahead. It is the same on every rank.
func (l *Loader) Position() (shard.Position, error) {
	if l.plan == nil {
		return shard.Position{}, fmt.Errorf("iterator: a sequence has no position")
	}
	return l.plan.Position(l.epoch, l.step), nil
}

// Seek moves the loader to a position that Position returned, of this loader or
// of one over the same data with another number of shards. It costs the same
// wherever the position is.
func (l *Loader) Seek(pos shard.Position) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.plan == nil {
		return fmt.Errorf("iterator: a sequence has no position to go to")
	}
	plan, err := l.plan.Resume(pos)
	if err != nil {
		return err
	}
	for i := range l.parts {
		l.parts[i].plans[l.parts[i].driver] = plan
	}
	l.plan = plan
	l.epoch, l.step = plan.Start()
	l.dirty = true
	l.rest()
	return nil
}

// Close stops the workers, joins them and frees the batches. It fails with
// ErrBusy while a loop is running; closing twice is no error.
func (l *Loader) Close() error {
	if err := l.enter(); err != nil {
		if errors.Is(err, ErrClosed) {
			return nil
		}
		return err
	}
	defer l.leave()
	l.closed = true
	return l.close()
}

func (l *Loader) close() error {
	var errs []error
	for i := range l.parts {
		if run := l.parts[i].run; run != nil {
			errs = append(errs, run.Close())
		}
	}
	return errors.Join(errs...)
}

// enter makes the caller the one that uses the loader, and takes back the batch
// that Next delivered last.
func (l *Loader) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	case l.busy:
		return ErrBusy
	}
	l.busy = true
	if l.held != nil {
		l.held.Release()
		l.held = nil
	}
	return nil
}

func (l *Loader) leave() {
	l.mu.Lock()
	l.busy = false
	l.mu.Unlock()
}
