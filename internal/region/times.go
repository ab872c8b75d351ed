package region

import "time"

// Times says what the workers did with their time, summed over them. The time
// in which the engine was parked does not count, nor does a worker that rests.
type Times struct {
	Elapsed  time.Duration // of the clock, for one worker
	Capacity time.Duration // of all workers
	Idle     time.Duration // the part in which they waited for a batch to be armed
	Yielded  time.Duration // the part in which they gave way to the consumer
}

// times adds up what workers do whenever that changes. Engine.mu guards it.
type times struct {
	began time.Time // of the part that is not added up yet
	sum   Times
}

// account adds the time since the last call and returns now; mu is held.
func (e *Engine) account() time.Time {
	now := time.Now()
	if !e.parked {
		d := now.Sub(e.times.began)
		e.times.sum.Elapsed += d
		e.times.sum.Capacity += d * time.Duration(e.cfg.Workers-e.resting)
		e.times.sum.Idle += d * time.Duration(e.waiting-e.resting)
	}
	e.times.began = now
	return now
}

// Times returns what the workers have done so far. It may be called from any
// goroutine.
func (e *Engine) Times() Times {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.account()
	t := e.times.sum
	for i := range e.hands {
		t.Yielded += time.Duration(e.hands[i].yielded.Load())
	}
	return t
}
