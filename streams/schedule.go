package streams

import "context"

// Schedule makes run the next work of s although it uses other streams or
// decides on the host, such as a whole graph with loops and branches. It
// returns at once: run starts, on one goroutine of its own, when everything
// issued on s before has completed, and what is issued on s later starts when
// run has returned. Graphs scheduled on one stream therefore run one after the
// other. run must have joined whatever it started when it returns.
//
// The event completes when run has returned. An error or a panic of run is the
// error of s; run is not called when s has failed before.
func Schedule(ctx context.Context, s Stream, run func(context.Context) error) Event {
	hold := s.Hold()
	end := s.Record()
	go func() {
		// Whatever ctx says, the place in the order is kept until it is reached.
		if hold.Ready().Wait(context.WithoutCancel(ctx)) != nil {
			hold.Release(nil)
			return
		}
		guard(func() error { return run(ctx) }, hold.Release)
	}()
	return end
}
