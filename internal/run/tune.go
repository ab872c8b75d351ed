package run

import (
	"time"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/stats"
)

// tune lets the tuner have a look when it is time, and lets the loop start as
// many batches as the prefetch depth allows.
func (r *Runner) tune() {
	if r.tuner == nil {
		return
	}
	if t := now(); t-r.looked >= int64(r.p.Options().Tuning.Interval) && r.taken-r.lookedTaken >= stats.MinBatches {
		s := r.Stats()
		if d := s.Sub(r.seen); d.Elapsed >= r.p.Options().Tuning.Interval/2 { // else the workers were parked
			r.look(d)
		}
		r.looked, r.lookedTaken, r.seen = t, r.taken, s
	}
	r.loop.Limit(r.started())
}

// look shows the tuner an interval and follows it.
func (r *Runner) look(s stats.Run) {
	before, v := r.tuner.Setting(), s.Verdict()
	reverted := r.tuner.Step(s, v)
	to := r.tuner.Setting()
	if to == before {
		return
	}
	r.region.rows.SetWorkers(to.Workers)
	r.region.consumer.tuned(to)
	if told := r.p.Options().Events.Tuned; told != nil {
		told(stats.TuneEvent{Time: time.Now(), Workers: to.Workers, PrefetchDepth: to.Depth, Rate: s.Rate(), Verdict: v, Reverted: reverted})
	}
}

// depth returns the prefetch depth of now, that in front of the consumer.
func (r *Runner) depth() int {
	switch o := r.p.Options(); {
	case r.tuner != nil:
		return r.tuner.Setting().Depth
	case o.Depths():
		return o.DeviceDepth
	default:
		return o.PrefetchDepth
	}
}

// limit returns how many batches the loop may have started by now; 0 is no
// limit but the number of slots.
func (r *Runner) limit() int64 {
	if r.tuner == nil {
		return 0
	}
	return r.taken - int64(r.region.consumer.held.Load()) + int64(r.tuner.Setting().Depth) + 1
}

// newTuner returns the tuner of a run.
func newTuner(o *compiled.Options) *stats.Tuner {
	return stats.NewTuner(stats.Setting{Workers: o.Workers, Depth: o.PrefetchDepth}, stats.Limits{MaxWorkers: o.MaxWorkers, MaxDepth: o.MaxPrefetch, MaxMemory: o.Tuning.MaxMemory})
}
