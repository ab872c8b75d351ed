package pipeline

import (
	"context"
	"sync"

	"github.com/planktonml/plankton/executor"
)

// A turn is held by one batch at a time, from before its samples are made until its
// operators that share a gate with the sample region are done.
//
// Options.Concurrency puts gates in front of the region and of the operators for whole
// batches. The region is inside its gate until all samples of the batch are made, and
// under a memory budget a sample may wait for the memory of older batches. Those must
// be able to get to the consumer meanwhile, so none of them may stand in front of that
// gate. Hence the order: a batch takes its turn before the region comes to the gate,
// and the turn passes on when nothing of the batch will need that gate any more. What
// shares a gate runs one at a time anyway, so this costs no time.
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting *executor.Call // of the next batch; the node is Serial, so there is one at most
	watched bool
	over    bool
}

// takeTurns reports whether batches take turns, in a pipeline with so many operators
// for whole batches.
func (o *Options) takeTurns(batchOps int) bool {
	return o.MemoryBudget > 0 && o.Concurrency != executor.ConcurrencyFull && batchOps > 0
}

// sharesGate reports whether operator i for whole batches and the sample region have a
// gate in common.
func (p *Pipeline) sharesGate(i int) bool {
	return p.opt.Concurrency == executor.ConcurrencyNone || p.batchOps[i].op.Backend == executor.Host
}

// takeTurn is the kernel of an async node that is finished when it is the batch's turn.
func (r *hostRegion) takeTurn(ctx context.Context, c *executor.Call) error {
	tell(c, true)
	t := r.turn
	mine, err := t.take(ctx, c)
	if mine {
		c.Done(nil)
	}
	return err
}

// passTurn is the kernel of the node behind the operators that share the region's gate.
func (r *hostRegion) passTurn(context.Context, *executor.Call) error {
	if c := r.turn.pass(); c != nil {
		c.Done(nil)
	}
	return nil
}

// take reports whether the turn is the caller's at once; else it keeps the call until
// it is.
func (t *turn) take(ctx context.Context, c *executor.Call) (mine bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false, errAbandoned
	}
	if !t.watched {
		t.watched = true
		context.AfterFunc(ctx, t.abandon)
	}
	if t.taken {
		t.waiting = c
		return false, nil
	}
	t.taken = true
	return true, nil
}

// pass ends a turn and returns who has the next one, if somebody waits for it.
func (t *turn) pass() *executor.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.waiting
	t.waiting, t.taken = nil, c != nil
	return c
}

// abandon ends what waits when the run ends.
func (t *turn) abandon() {
	t.mu.Lock()
	c := t.waiting
	t.waiting, t.over = nil, true
	t.mu.Unlock()
	if c != nil {
		c.Done(errAbandoned)
	}
}
