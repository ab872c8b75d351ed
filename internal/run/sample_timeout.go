package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/pipeline/fault"
)

// sampleLimit ends the context of a worker's sample when that takes too long. One
// context serves sample after sample until one of them has been ended, and one timer
// looks at the deadline of the sample that is at work when it fires, so that a
// sample costs neither a context nor a timer. A nil limit is none.
type sampleLimit struct {
	limit  time.Duration
	parent context.Context // of the run
	ctx    context.Context
	cancel context.CancelCauseFunc
	fired  atomic.Bool // the context was ended

	mu       sync.Mutex
	timer    *time.Timer // nil where none runs
	working  bool        // a sample is at work and its time counts
	paused   bool        // a sample is at work and its time does not count
	deadline time.Time   // of that sample
	left     time.Duration
}

func newSampleLimit(limit time.Duration) *sampleLimit {
	if limit == 0 {
		return nil
	}
	return &sampleLimit{limit: limit}
}

// begin starts the time of a sample and returns its context.
func (l *sampleLimit) begin(run context.Context) context.Context {
	if l.parent != run || l.fired.Load() {
		if l.cancel != nil {
			l.cancel(nil)
		}
		l.parent = run
		l.ctx, l.cancel = context.WithCancelCause(run)
		l.fired.Store(false)
	}
	l.mu.Lock()
	l.start(l.limit)
	l.mu.Unlock()
	return l.ctx
}

// over returns the error of the sample if its time is over.
func (l *sampleLimit) over() error {
	if !l.fired.Load() {
		return nil
	}
	return &fault.TimeoutError{Limit: l.limit}
}

// end ends the time of a sample, which is over even if nobody has noticed yet.
func (l *sampleLimit) end() error {
	l.mu.Lock()
	if l.working && !time.Now().Before(l.deadline) {
		l.fire()
	}
	l.working, l.paused = false, false
	l.mu.Unlock()
	return l.over()
}

// pause stops the sample's clock while it waits for what is not its own work, and
// resume lets it go on.
func (l *sampleLimit) pause() {
	if l == nil {
		return
	}
	l.mu.Lock()
	if l.working {
		l.left, l.working, l.paused = time.Until(l.deadline), false, true
	}
	l.mu.Unlock()
}

func (l *sampleLimit) resume() {
	if l == nil {
		return
	}
	l.mu.Lock()
	if l.paused {
		l.start(l.left)
	}
	l.mu.Unlock()
}

// start lets the clock run for so long; mu is held. A timer that runs already fires
// no later than that, since deadlines only move back.
func (l *sampleLimit) start(left time.Duration) {
	l.deadline, l.working, l.paused = time.Now().Add(left), true, false
	if l.timer == nil {
		l.timer = time.AfterFunc(left, l.look)
	}
}

// look is called when the timer fires: often for a sample that is long done.
func (l *sampleLimit) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch left := time.Until(l.deadline); {
	case !l.working || l.timer == nil:
		l.timer = nil
	case left > 0:
		l.timer.Reset(left)
	default:
		l.timer = nil
		l.fire()
	}
}

// fire ends the sample's context; mu is held.
func (l *sampleLimit) fire() {
	l.fired.Store(true)
	l.cancel(&fault.TimeoutError{Limit: l.limit})
}

// close gives the timer and the context up. No sample is at work.
func (l *sampleLimit) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working = false
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if l.cancel != nil {
		l.cancel(nil)
	}
}
