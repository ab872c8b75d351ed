package iterator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/sticky"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// ErrUnfinished says that DALI mode cannot give up an epoch before its end.
var ErrUnfinished = errors.New("iterator: the epoch is not finished")

// Epoch returns an iterator over what is left of the epoch: all batches, or after a break
// those that were not yielded yet. When all were yielded, the next call yields the next
// epoch, even if the loop was left at the last batch. No reset is needed in between.
//
// Each pair is a batch and a nil error, or a nil batch and the error that ends the loop. A
// loop that does not take the error, such as "for batch := range", runs its body once more,
// with a nil batch; Loader.Err has the error then.
//
// A batch goes back to the pipeline when the body of the loop ends, also by break, return or
// panic. Functions that the body defers run later than that. After the last batch the
// workers go on with the next epoch; after a break, a panic or an error they finish the
// samples in hand and rest. The end of ctx ends the loop with the cause of ctx. The next
// call makes again what was made ahead; a sequence begins its epoch anew.
//
// No call of a loader lasts longer than its ctx, whatever operators, readers and
// sequences do that are at work. They see the end of their context. The next call waits
// for those that do not look, as long as its own ctx lasts; only Close waits for them
// to the end. Functions of the program that a call itself calls, such as
// pipeline.Options.OnSampleError and those of Options.Events, are part of the call.
//
// After the error of a bad sample the loader stands before the batch with that
// sample: the next call tries it again, and Reset goes on with the next epoch.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[*Batch, error] { return l.Epochs(ctx, 1) }

// Epochs is Epoch for n epochs, without a pause in between. What is left of an epoch that
// was begun counts as one. Batch.Epoch tells them apart.
func (l *Loader) Epochs(ctx context.Context, n int) iter.Seq2[*Batch, error] {
	return l.loop(ctx, n, math.MaxInt)
}

// Steps is Epoch for the next n batches, wherever epochs end in between. It is for
// programs that test or save every n steps, or call n steps an epoch. No sample
// is left out or repeated where one loop ends and the next begins.
func (l *Loader) Steps(ctx context.Context, n int) iter.Seq2[*Batch, error] {
	return l.loop(ctx, math.MaxInt, n)
}

// loop ranges over so many epochs or batches, whichever ends first.
func (l *Loader) loop(ctx context.Context, epochs, steps int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if err := l.enter(); err != nil {
			sticky.End(&l.failed, err, yield)
			return
		}
		if l.step > 0 && l.atEnd() {
			l.epoch, l.step = l.epoch+1, 0
		}
		finished := false
		defer func() {
			if !finished {
				l.rest(ctx)
			}
			l.leave()
		}()
		for ends, taken := 0, 0; ends < epochs && taken < steps; {
			b, err := l.take(ctx)
			switch {
			case err != nil:
				sticky.End(&l.failed, err, yield)
				return
			case b == nil:
				ends++
			case !lend(b, yield):
				return
			default:
				taken++
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

// Next returns the next batch, for programs that cannot range over an epoch. At the end of
// each epoch it returns io.EOF once, and goes on with the next epoch. The batch is valid
// until the loader is used again.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	b, err := l.take(ctx)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return nil, io.EOF
	}
	l.held = b
	return b, nil
}

// Prefetch waits until the first batch of the next loop is made; meanwhile and afterwards
// the workers make those behind it, as far as PrefetchDepth allows. Without Prefetch the
// first batch is made when a loop asks for it. The place of the loader
// does not change. Within the epoch of a sequence Prefetch does nothing.
func (l *Loader) Prefetch(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.ready != nil || l.plan == nil && l.step > 0 {
		return nil
	}
	var err error
	l.ready, err = l.fetch(ctx)
	return err
}

// atEnd reports whether all batches of the epoch were delivered.
func (l *Loader) atEnd() bool { return l.plan != nil && l.step >= l.plan.Steps(l.epoch) }

// take returns the next batch of the epoch. At the end of the epoch it returns nil, and the
// loader is in the next one.
func (l *Loader) take(ctx context.Context) (*Batch, error) {
	if l.atEnd() {
		if l.plan.Ended(l.epoch) {
			return nil, fmt.Errorf("iterator: %w: DALI mode has %d epochs", shard.ErrNoSteps, shard.MaxDALIEpochs)
		}
		l.epoch, l.step = l.epoch+1, 0
		return nil, nil
	}
	b := l.ready
	var err error
	if b == nil {
		b, err = l.fetch(ctx)
	} else {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	l.ready = nil
	if b == nil { // the end of a sequence
		if l.step == 0 {
			return nil, fmt.Errorf("iterator: %w: the sequence ended before there was a batch", shard.ErrNoSteps)
		}
		l.epoch, l.step = l.epoch+1, 0
		return nil, nil
	}
	l.step++
	return b, nil
}

// fetch waits for the next batch of every pipeline. It returns nil at the end of a
// sequence. Then, and after an error, the workers rest.
func (l *Loader) fetch(ctx context.Context) (*Batch, error) {
	if err := l.sync(); err != nil {
		return nil, err
	}
	l.dirty = true // until all have delivered; one of the program's hooks may panic before
	var b *Batch
	taken := 0
	defer func() {
		if l.dirty && b != nil {
			for _, got := range b.parts[:taken] {
				got.Release()
			}
		}
	}()
	for i := range l.parts {
		f, err := l.parts[i].run.Next(ctx)
		pb := (*pipeline.Batch)(f)
		if pb != nil && l.plan == nil && l.dropped(pb) {
			pb.Release()
			pb = nil
		}
		if pb == nil {
			l.rest(ctx)
			return nil, err
		}
		if b == nil {
			b = l.wrap(pb)
		}
		b.parts[i] = pb
		taken++
	}
	l.dirty = false
	return b, nil
}

// wrap returns the Batch for a batch of the first pipeline. A pipeline makes all
// its batches in the same few, so this makes as many and then no more.
func (l *Loader) wrap(pb *pipeline.Batch) *Batch {
	for _, b := range l.wraps {
		if b.Batch == pb {
			return b
		}
	}
	b := &Batch{Batch: pb, parts: make([]*pipeline.Batch, len(l.parts))}
	l.wraps = append(l.wraps, b)
	return b
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
		p := &l.parts[i]
		if err := p.run.Reset(p.feed(l.plan, l.epoch, l.step)); err != nil {
			return err
		}
	}
	if l.plan == nil {
		l.step = 0
	}
	return nil
}

// rest parks the workers, and waits until they are done with the samples in hand or
// until ctx ends; where batches made ahead are void, those samples are given up.
func (l *Loader) rest(ctx context.Context) {
	if l.dirty {
		l.stop()
	}
	for i := range l.parts {
		l.parts[i].run.Park(ctx)
	}
}

// stop makes the workers give up what they have in hand, and does not wait for them.
func (l *Loader) stop() {
	for i := range l.parts {
		l.parts[i].run.Stop()
	}
}

// move puts the loader before another batch. What was made ahead is void.
func (l *Loader) move(epoch, step int64) {
	l.epoch, l.step, l.dirty = epoch, step, true
	if l.ready != nil {
		l.ready.Release()
		l.ready = nil
	}
	l.stop()
}

// Reset gives up what is left of the epoch: the next batch is the first of the
// next epoch. Where no batch of the epoch was delivered yet, it only clears Err.
//
// DALI mode cannot give up a part of an epoch: before the last batch was delivered, Reset
// returns ErrUnfinished there, where DALI warns and goes on. In an epoch without end
// (Options.Size) Reset does nothing.
func (l *Loader) Reset() error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	l.failed.Clear()
	switch {
	case l.step == 0:
		return nil
	case l.atEnd():
		l.epoch, l.step = l.epoch+1, 0 // what was made ahead stays valid
		return nil
	case l.opt.Size < 0:
		return nil
	case l.opt.Mode == shard.DALI:
		return fmt.Errorf("%w: %d of %d batches were delivered, and DALI mode cannot give up the rest", ErrUnfinished, l.step, l.plan.Steps(l.epoch))
	}
	l.move(l.epoch+1, 0)
	return nil
}
