package streams

import (
	"context"
	"sync/atomic"
)

// Schedule makes run the next work of s although it uses other streams or
// decides on the host, such as a whole graph with loops and branches. It
// returns at once: run starts, on a goroutine of its own, when everything
// issued on s before has completed, and what is issued on s later starts when
// run has returned. Graphs scheduled on one stream therefore run one after the
// other, and no goroutine waits for any of them. run must have joined whatever
// it started when it returns.
//
// The event completes when run has returned. An error or a panic of run is the
// error of s; run is not called when s has failed before. When ctx ends before
// run has started, run is not called: the event completes at once with the cause,
// and the cause is the error of s when s gets there.
//
// What run schedules on s itself can start only when run has returned. With the
// context that run was given, or one derived from it, that is refused: the event
// has completed with ErrOwnStream, and s knows nothing of it. With another
// context it waits for that to end.
func Schedule(ctx context.Context, s Stream, run func(context.Context) error) Event {
	if holds(ctx, s) {
		refused := &hostEvent{}
		refused.complete(ErrOwnStream)
		return refused
	}
	hold := s.Hold()
	var begun atomic.Bool // by whoever comes first: the start of run, or the end of ctx
	stop := context.AfterFunc(ctx, func() {
		if begun.CompareAndSwap(false, true) {
			hold.Release(context.Cause(ctx))
		}
	})
	hold.Ready().Then(func(err error) {
		if !begun.CompareAndSwap(false, true) {
			return
		}
		stop()
		if err != nil {
			hold.Release(nil)
			return
		}
		h := &held{stream: s, outer: ctx}
		go guard(func() error { return run(context.WithValue(ctx, heldKey{}, h)) }, func(err error) {
			h.over.Store(true)
			hold.Release(err)
		})
	})
	return hold.Passed()
}

// held goes with the context of scheduled work: the stream whose place it keeps,
// and the context around it.
type held struct {
	stream Stream
	outer  context.Context
	over   atomic.Bool // the work has returned
}

type heldKey struct{}

// holds reports whether ctx belongs to work that keeps a place of s.
func holds(ctx context.Context, s Stream) bool {
	for {
		h, ok := ctx.Value(heldKey{}).(*held)
		if !ok {
			return false
		}
		if h.stream == s && !h.over.Load() {
			return true
		}
		ctx = h.outer
	}
}
