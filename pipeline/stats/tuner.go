package stats

// Setting is what a tuner decides on: the number of workers, and the prefetch depth.
type Setting struct{ Workers, Depth int }

// Limits bound what a tuner may choose. MaxMemory is how many bytes the buffers are
// expected to hold at the most after a change that needs memory; 0 is no limit.
type Limits struct {
	MaxWorkers, MaxDepth int
	MaxMemory            int64
}

// change is a kind of change of the setting.
type change int

const (
	moreWorkers change = iota
	fewerWorkers
	deeper
	changes // the number of kinds
)

// mustReach is what the rate must be after a change, as a multiple of the rate before, or
// the change is taken back. More workers or batches must gain something, since they take
// processors and memory; fewer workers must lose little.
var mustReach = [changes]float64{moreWorkers: 1.05, fewerWorkers: 0.98, deeper: 1.02}

// longestRest is for how many intervals at the most a kind of change rests that was taken
// back.
const longestRest = 64

// Tuner decides on settings. What it decides depends only on the statistics that Step is
// shown, one interval after the other.
type Tuner struct {
	limits Limits
	at     Setting
	trial  *trial // the last change, if it is still to be judged
	rests  [changes]int
	fails  [changes]int // how often in a row the change did not pay
}

// trial is a change on probation.
type trial struct {
	kind   change
	before Setting
	rate   float64 // samples per second before it
}

// NewTuner returns a tuner that begins with a setting.
func NewTuner(at Setting, l Limits) *Tuner { return &Tuner{limits: l, at: at} }

// Setting returns what the tuner has decided on.
func (t *Tuner) Setting() Setting { return t.at }

// Step is called after each interval, with what was done in it and the verdict on that. It
// judges the change that was made before the interval, takes it back or decides on the next
// one, and reports whether it took the change back.
func (t *Tuner) Step(s Run, v Verdict) (reverted bool) {
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
	case ByNetwork: // who waits needs no processor
		t.try(s, moreWorkers)
	case ByReader, ByOperator, ByDisk:
		if !v.ProcessorsFull && !v.serial {
			t.try(s, moreWorkers)
		}
	case ByBursts, ByRemote:
		t.try(s, deeper)
	case ByMemory:
		t.try(s, fewerWorkers)
	case ByConsumer:
		// Together the workers idle for clearly more than the time of one worker.
		if share(s.Workers.WaitPut, s.Workers.Capacity)*float64(t.at.Workers) > 1.25 {
			t.try(s, fewerWorkers)
		}
	}
	return false
}

// try makes a change, unless it rests or a limit is reached.
func (t *Tuner) try(s Run, kind change) bool {
	to, most := t.at, &t.limits
	switch kind {
	case moreWorkers:
		to.Workers = min(most.MaxWorkers, to.Workers+max(1, to.Workers/2))
	case fewerWorkers:
		to.Workers = max(1, to.Workers-1)
	case deeper:
		to.Depth = min(most.MaxDepth, to.Depth+1)
	}
	// Scratch memory of a worker is less than a batch in all but odd cases.
	more := max(0, to.Workers-t.at.Workers, to.Depth-t.at.Depth)
	forecast := s.Memory.Live + int64(more)*s.Memory.Live/int64(t.at.Depth+1)
	if to == t.at || t.rests[kind] > 0 || (most.MaxMemory > 0 && more > 0 && forecast > most.MaxMemory) {
		return false
	}
	t.trial = &trial{kind: kind, before: t.at, rate: s.Rate()}
	t.at = to
	return true
}

// MinBatches is the fewest batches of an interval that a tuner judges by. Run.Verdict needs
// one less.
const MinBatches = 4
