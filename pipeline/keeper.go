package pipeline

import (
	"context"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/memstats"
)

// keeper keeps a run within its memory: an arbiter if there is a budget, else unbounded.
// It is chosen once, when the region is made.
type keeper interface {
	// work sets what is done for each row, and when the rows of a batch are done.
	work(rows *executor.Rows)
	// attach gives a worker its pool, and returns the one from which it is presized.
	attach(w *worker) (presize *memstats.Pool)
	// rowPools returns the pools of ragged rows: in use, and when they are presized.
	rowPools() (pool, presize *memstats.Pool)

	// armed notes that the rows of a batch can be made, in a run that ends with ctx.
	armed(ctx context.Context, c call)
	// admit lets a sample go on that a sequence has delivered.
	admit(w *worker) error
	// void makes a row not valid.
	void(b *Batch, row int)

	ask(waits bool)    // the consumer begins or ends to wait for a batch
	delivered()        // it holds one more
	returned(b *Batch) // it has given a batch back
	park(parked bool)  // workers are being parked, or go on
	reset()            // the run is over, and the workers are parked
}

// newKeeper returns the keeper that the options ask for.
func newKeeper(r *hostRegion) keeper {
	if r.p.opt.MemoryBudget > 0 {
		return newArbiter(r)
	}
	return unbounded{r}
}

// unbounded is the keeper of a run without a budget.
type unbounded struct{ r *hostRegion }

func (u unbounded) work(rows *executor.Rows) {
	rows.Row, rows.Finish, rows.Lost = u.r.row, u.r.finish, u.r.lost
}

func (u unbounded) attach(w *worker) *memstats.Pool {
	w.pool = u.r.p.pool
	return w.pool
}

func (u unbounded) rowPools() (pool, presize *memstats.Pool) { return u.r.p.pool, u.r.p.pool }

func (u unbounded) armed(_ context.Context, c call) { u.r.hold(c) }
func (u unbounded) admit(*worker) error             { return nil }
func (u unbounded) void(b *Batch, row int)          { b.void(row) }
func (u unbounded) ask(bool)                        {}
func (u unbounded) delivered()                      {}
func (u unbounded) returned(*Batch)                 {}
func (u unbounded) park(bool)                       {}
func (u unbounded) reset()                          {}
