package run

import (
	"context"

	"github.com/planktonml/plankton/executor"
)

// turn is what a dispenser of one grants to one batch at a time. A batch has it from before
// its samples are made until those of its operators are done that share a limit with the
// sample region.
//
// Options.Concurrency limits how many of the region and the operators for whole batches
// run at once. The region counts until all samples of its batch are made, and under a
// memory budget a sample may wait for the memory of older batches. Those must be able to
// get to the consumer meanwhile, so none of them may wait for that limit. Hence the order:
// a batch takes its turn before the region asks for the limit, and passes the turn on when
// nothing of the batch will ask for it any more. What shares a limit runs one at a time
// anyway, so turns take no time.
type turn struct{}

func newTurns() *dispenser[*executor.Call, turn] {
	return newDispenser(func(c *executor.Call, _ turn) {
		setOutputs(c, true)
		c.Done(nil)
	}, turn{})
}

// takeTurn is the kernel of an async node that is finished when it is the batch's turn.
func (r *sampleRegion) takeTurn(ctx context.Context, c *executor.Call) error {
	return r.turns.take(ctx, c)
}

// passTurn is the kernel of the node behind the operators that share the region's limit.
func (r *sampleRegion) passTurn(context.Context, *executor.Call) error {
	r.turns.give(turn{})
	return nil
}
