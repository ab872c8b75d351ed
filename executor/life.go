package executor

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
)

// errOver is the cause with which the context of a finished run ends.
var errOver = errors.New("executor: the run is over")

// life is how the runs of a step begin, fail and end. A step serves one run after the
// other; each run is a generation of the step.
//
// Whoever works on a run holds a unit of step.inflight, and the run cannot end before that
// is given back. The end of the caller's context, Executor.Close and Loop.Close hold none,
// and may come too late. They have a handle, which names one generation. A handle of a run
// that is over does nothing: what stops a run is set when the run begins and taken away when
// it ends, and is read under the lock that guards the generation.
type life struct {
	settled func(root int64) bool // whether all root iterations before root have finished; nil for Run

	// failedAt is the first root iteration that failed, math.MaxInt64 if none
	// has. No further node of it, or of an iteration behind it, runs.
	failedAt atomic.Int64

	mu         lifeMutex
	generation uint64
	err        error                   // of failedAt
	parent     context.Context         // the caller's
	cancel     context.CancelCauseFunc // nil between runs
	rendezvous *Rendezvous             // nil between runs, and where none is needed
}

// handle is one run of a step, for those who may come too late to end it.
type handle struct {
	st         *step
	generation uint64
}

// begin starts a run.
func (l *life) begin(parent context.Context, cancel context.CancelCauseFunc, r *Rendezvous) (generation uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parent, l.cancel, l.rendezvous = parent, cancel, r
	l.err = nil
	l.failedAt.Store(math.MaxInt64)
	return l.generation
}

// over ends the run for good and returns its error. If it has none, the error is otherwise,
// which may be nil. From now on no handle of the run does anything. The rendezvous is
// aborted if the run failed, or if the rendezvous is the run's own.
func (l *life) over(otherwise error, own bool) error {
	l.mu.Lock()
	l.generation++
	if l.err == nil {
		l.err = otherwise
	}
	err, cancel, rendezvous := l.err, l.cancel, l.rendezvous
	l.parent, l.cancel, l.rendezvous = nil, nil, nil
	l.mu.Unlock()
	cancel(errOver)
	switch {
	case rendezvous == nil:
	case err != nil:
		rendezvous.Abort(err)
	case own:
		rendezvous.Abort(errOver)
	}
	return err
}

// end ends all iterations of the run with err. It does nothing when the run is
// over.
func (h handle) end(err error) {
	l := &h.st.life
	stop := func() {}
	l.mu.Lock()
	if h.generation == l.generation && l.note(-1, err) {
		stop = l.stopper()
	}
	l.mu.Unlock()
	stop()
	if h.st.loop != nil {
		h.st.loop.wake()
	}
}

// watch makes the end of the caller's context the end of the run, until stop is
// called.
func (h handle) watch(ctx context.Context) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { h.end(context.Cause(ctx)) })
}

// fail ends the run from a root iteration on, with an error that is only made
// where it counts. It reports whether what is on its way has to be stopped.
func (l *life) fail(root int64, err error, describe func() error) (stop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parent.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		// The kernel has noticed the end of the context before watch did.
		return l.note(-1, context.Cause(l.parent))
	}
	if root >= l.failedAt.Load() {
		return false
	}
	return l.note(root, describe())
}

// note takes down the failure of a root iteration. An earlier iteration counts
// more than a later one; for the same one, the first failure counts. l.mu is
// held.
func (l *life) note(root int64, err error) (stop bool) {
	if root >= l.failedAt.Load() {
		return false
	}
	l.err = err
	l.failedAt.Store(root)
	return l.settled == nil || root < 0 || l.settled(root)
}

// stop cancels everything that is on its way.
func (l *life) stop() {
	l.mu.Lock()
	stop := l.stopper()
	l.mu.Unlock()
	stop()
}

// stopper returns the function that cancels what is on its way now. l.mu is
// held; the function is called without locks, since receives fail in it and
// sessions go on from there.
func (l *life) stopper() func() {
	cancel, rendezvous, err := l.cancel, l.rendezvous, l.err
	return func() {
		cancel(err)
		if rendezvous != nil {
			rendezvous.Abort(err)
		}
	}
}

// failure returns the error of the run.
func (l *life) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
