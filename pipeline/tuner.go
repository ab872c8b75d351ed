package pipeline

import "time"

// setting is what a tuner turns.
type setting struct{ workers, depth int }

// change is a kind of change of the setting.
type change int

const (
	moreWorkers change = iota
	fewerWorkers
	deeper
	changes // the number of kinds
)

// What a change must come to, as a multiple of the rate before it. Growth must
// pay, as it takes processors and memory; shrinking must not cost.
var mustReach = [changes]float64{moreWorkers: 1.05, fewerWorkers: 0.98, deeper: 1.02}

// longestRest is the most intervals after which a change that did not pay is
// tried again.
const longestRest = 64

// tuner decides on settings. It depends on nothing but the Stats that it is
// shown, one interval after the other.
type tuner struct {
	opt   Options
	at    setting
	trial *trial // the last change, if it is still to be judged
	rests [changes]int
	fails [changes]int // how often in a row the change did not pay
}

// trial is a change on probation.
type trial struct {
	kind   change
	before setting
	rate   float64 // samples per second before it
}

func newTuner(o Options) *tuner { return &tuner{opt: o, at: setting{o.Workers, o.PrefetchDepth}} }

// step judges the last change by what was done since, and decides on the next
// one. It reports whether it took the last one back.
func (t *tuner) step(s Stats, v Verdict) (reverted bool) {
	for i := range t.rests {
		t.rests[i] = max(0, t.rests[i]-1)
	}
	if last := t.trial; last != nil {
		t.trial = nil
		if s.Rate() < mustReach[last.kind]*last.rate {
			t.at = last.before
			t.fails[last.kind]++
			t.rests[last.kind] = min(longestRest, 4<<t.fails[last.kind])
			return true
		}
		t.fails[last.kind] = 0
	}
	switch v.Bound {
	case ByReader, ByOperator:
		if !v.ProcessorsFull && !v.inLine {
			t.try(s, moreWorkers)
		}
	case ByBursts:
		t.try(s, deeper)
	case ByMemory:
		t.try(s, fewerWorkers)
	case ByConsumer:
		// What one worker less leaves undone must be much less than what they idle.
		if share(s.Workers.WaitPut, s.Workers.Capacity)*float64(t.at.workers) > 1.25 {
			t.try(s, fewerWorkers)
		}
	}
	return false
}

// try makes a change, unless it rests or a limit is reached.
func (t *tuner) try(s Stats, kind change) bool {
	to, a := t.at, t.opt.Autotune
	switch kind {
	case moreWorkers:
		to.workers = min(a.MaxWorkers, to.workers+max(1, to.workers/2))
	case fewerWorkers:
		to.workers = max(1, to.workers-1)
	case deeper:
		to.depth = min(a.MaxPrefetch, to.depth+1)
	}
	// Scratch memory of a worker is less than a batch in all but odd cases.
	more := max(0, to.workers-t.at.workers, to.depth-t.at.depth)
	forecast := s.Memory.Live + int64(more)*s.Memory.Live/int64(t.at.depth+1)
	if to == t.at || t.rests[kind] > 0 || (a.MaxMemory > 0 && more > 0 && forecast > a.MaxMemory) {
		return false
	}
	t.trial = &trial{kind: kind, before: t.at, rate: s.Rate()}
	t.at = to
	return true
}

// tune lets the tuner have a look when it is time, and lets the loop start as
// many batches as the prefetch depth allows.
func (r *Runner) tune() {
	if r.tuner == nil {
		return
	}
	if t := now(); t-r.looked >= int64(r.tuner.opt.Autotune.Interval) && r.taken-r.lookedTaken >= minBatches {
		s := r.Stats()
		if d := s.Sub(r.seen); d.Elapsed >= r.tuner.opt.Autotune.Interval/2 { // else the workers were parked
			r.look(d)
		}
		r.looked, r.lookedTaken, r.seen = t, r.taken, s
	}
	r.loop.Limit(r.started())
}

// minBatches is the fewest batches that a look judges by.
const minBatches = 4

// look shows the tuner an interval and follows it.
func (r *Runner) look(s Stats) {
	before, v := r.tuner.at, s.Verdict()
	reverted := r.tuner.step(s, v)
	to := r.tuner.at
	if to == before {
		return
	}
	r.region.rows.SetWorkers(to.workers)
	r.region.consumer.tuned(to)
	if told := r.p.opt.Events.Tuned; told != nil {
		told(TuneEvent{Time: time.Now(), Workers: to.workers, PrefetchDepth: to.depth, Rate: s.Rate(), Verdict: v, Reverted: reverted})
	}
}

// depth returns the prefetch depth of now, that in front of the consumer.
func (r *Runner) depth() int {
	switch o := &r.p.opt; {
	case r.tuner != nil:
		return r.tuner.at.depth
	case o.depths():
		return o.DevicePrefetchDepth
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
	return r.taken - int64(r.region.consumer.held.Load()) + int64(r.tuner.at.depth) + 1
}
