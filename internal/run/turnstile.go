package run

import (
	"sync"

	"github.com/planktonml/plankton/pipeline/datum"
)

// turnstile lets workers take the samples of a sequence in the order of the
// rows that they are for.
type turnstile struct {
	seq datum.Sequence

	mu   sync.Mutex
	cond sync.Cond
	turn int64 // the row, counted over batches, whose turn it is
	pull *pull // nil before the first sample
}

func newTurnstile(s datum.Sequence) *turnstile {
	t := &turnstile{seq: s}
	t.cond.L = &t.mu
	return t
}

// take waits for the turn of a row and fills out with the next sample; datum.ErrNoSample
// when there is none. The recorder gets to know how long it waited. The wait needs no
// context: every row in front of this one comes here, also when the run is being ended.
func (t *turnstile) take(row int64, out []*datum.Tensor, rec *recorder) error {
	began := now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.turn != row {
		t.cond.Wait()
	}
	rec.waitedTurn(now() - began)
	defer t.cond.Broadcast()
	t.turn++
	if t.pull == nil {
		t.pull = newPull(t.seq)
	}
	s := t.pull.next()
	switch {
	case !s.ok:
		return datum.ErrNoSample
	case s.err != nil:
		return s.err
	}
	return s.fill(out)
}

// restart begins the sequence anew; no worker may be at work.
func (t *turnstile) restart() {
	if t.pull != nil {
		t.pull.stop()
	}
	t.pull, t.turn = nil, 0
}
