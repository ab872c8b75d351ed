package iterator

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/planktonml/plankton/internal/sticky"
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
	opt      Options
	parts    []part
	plan     *shard.Plan  // nil for sequences
	identity identity     // what a state says of the pipelines
	failed   sticky.Error // of its loops
	wraps    []*Batch     // one for every batch of the first pipeline

	mu     sync.Mutex
	busy   bool
	closed bool

	epoch, step int64  // of the next batch to deliver
	dirty       bool   // the runners are elsewhere
	ready       *Batch // the next batch to deliver, where Prefetch has fetched it
	held        *Batch // what Next delivered last
}

// New makes a loader of pipelines, which it owns until Close. Nothing is read
// and no worker starts before the first batch is asked for.
//
// The driving readers (Options.ReaderName) of several pipelines must agree in all but
// their shard; each delivers the rows of its own shard. The error is an *OptionError that
// names what does not fit, a *shard.ConfigError where no plan can be made, or wraps
// shard.ErrNoSteps where the epochs would have no batch.
func New(o Options, pipes ...*pipeline.Pipeline) (*Loader, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	parts, plan, err := newParts(o, pipes)
	if err != nil {
		return nil, err
	}
	l := &Loader{opt: o, parts: parts, plan: plan, identity: identify(plan, parts)}
	for i := range l.parts {
		p := &l.parts[i]
		if p.run, err = p.pipe.Engine().NewRunner(p.feed(plan, 0, 0)); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
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

// Classes returns the names of the classes by label, as the metadata of the reader
// that drives the loader has them; nil where they have no names.
func (l *Loader) Classes() []string { return slices.Clone(l.parts[0].reader().Meta().Classes) }

// Len returns the number of batches of the epoch that the loader is in, those
// already delivered included. Where the number of ranks has changed within the epoch, it
// counts from the change on. It is -1 for a sequence, whose length nobody knows, and 0
// for an epoch without end (Options.Size).
func (l *Loader) Len() int {
	if l.plan == nil {
		return -1
	}
	return int(l.plan.Len(l.epoch))
}

// Uneven reports whether batches may have rows that are not valid: a last
// batch that is not full, a rank that ran out before others, batches of a budget, or a
// sample that was skipped.
func (l *Loader) Uneven() bool {
	if slices.ContainsFunc(l.parts, func(p part) bool { return p.pipe.Options().OnError != pipeline.Fail }) {
		return true
	}
	if l.plan == nil || l.opt.LastBatch != shard.Partial {
		return l.plan == nil && l.opt.LastBatch != shard.Drop
	}
	c := l.plan.Config()
	if budgeted(l.plan) {
		return true
	}
	samples, ranks := l.plan.Draws(), c.Shards
	if c.Size != 0 {
		samples, ranks = c.Size, len(l.parts)
	}
	cut := len(l.plan.Position(l.plan.Start()).Phases) > 1 // another world began the epoch; what it left may not fill the batches
	return cut || samples%(int64(c.Batch)*int64(ranks)) != 0
}

// Err returns the error that ended a loop over the loader, the first one if there were
// several, and nil if all went well. It stays until Reset, Restore or Seek, whatever
// loops follow. It may be called from any goroutine, also after Close.
func (l *Loader) Err() error { return l.failed.First() }

// Close stops the workers, joins them and frees the batches. It fails with
// ErrBusy while a loop is running; closing twice is no error.
//
// It also returns the error of a loop that nobody has taken care of, such as that of
// "for range loader.Epoch(ctx)". A loop whose body leaves it at the error, by break or
// return, has taken care.
func (l *Loader) Close() error {
	if err := l.enter(); err != nil {
		if errors.Is(err, ErrClosed) {
			return nil
		}
		return err
	}
	err := errors.Join(l.failed.Ignored(), l.close())
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return err
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
		return fmt.Errorf("%w: a loop over the loader is running; end it first", ErrBusy)
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
