package run

import (
	"time"

	"github.com/planktonml/plankton/pipeline/fault"
)

// Between tries a worker waits, longer each time.
const (
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// retry is what a worker knows of the tries of the step at work.
type retry struct {
	step  int
	pause time.Duration // before the next try; 0 where the step has not failed
	began int64         // when the step failed first
}

// tryAgain waits and reports whether the step at work is to be tried once more,
// because its error is the machine's and a moment may mend that. A step is a pure
// function of the sample, so another try does no harm; only a sequence cannot be read
// again.
func (w *worker) tryAgain(s *step, err error) bool {
	if !fault.OfMachine(err) || s.reader >= 0 && w.p.Readers()[s.reader].Sequence != nil {
		return false
	}
	r := &w.retry
	if r.pause == 0 || r.step != w.at {
		*r = retry{step: w.at, pause: firstPause, began: now()}
	}
	left := w.p.Options().RetryFor - r.tried()
	if left <= 0 {
		return false
	}
	w.limit.pause()
	defer w.limit.resume()
	timer := time.NewTimer(min(r.pause, left))
	defer timer.Stop()
	select {
	case <-w.sample.Context().Done():
		return false
	case <-timer.C:
	}
	r.pause = min(2*r.pause, longestPause)
	return true
}

// tried returns for how long the step has been tried again.
func (r *retry) tried() time.Duration {
	if r.pause == 0 {
		return 0
	}
	return time.Duration(now() - r.began)
}

// blame makes the error of the step at work a MachineError where it is one.
func (w *worker) blame(err error) error {
	if !fault.OfMachine(err) {
		return err
	}
	e := &fault.MachineError{Err: err}
	if w.retry.step == w.at {
		e.Tried = w.retry.tried()
	}
	return e
}
