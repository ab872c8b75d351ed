package run

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

	// armed notes that the rows of a batch can be made in a call, of a run that ends with ctx.
	armed(ctx context.Context, f *Flight, c *executor.Call)
	// begin makes a worker begin a sample, and end ends it, as the arbiter's methods do.
	begin(w *worker, f *Flight, row int) bool
	end(w *worker, f *Flight, row int, good bool) (settled bool)
	// drop ends what begin began; the sample is made again (RowPool.Again).
	drop(w *worker, f *Flight, row int)
	// giveBack gives back a row that was taken (RowPool.Take) and not begun; own, if only the
	// run's workers may make it.
	giveBack(f *Flight, row int, t executor.Taken, own bool)
	// admit lets a sample go on that a sequence has delivered.
	admit(w *worker) error
	// void makes a row not valid.
	void(f *Flight, row int)

	ask(waits bool)     // the consumer begins or ends to wait for a batch
	delivered()         // it holds one more
	returned(f *Flight) // it has given a batch back
	park(parked bool)   // workers are being parked, or go on
	reset()             // the run is over, and the workers are parked
}

// newKeeper returns the keeper that the options ask for.
func newKeeper(r *sampleRegion) keeper {
	if r.p.Options().MemoryBudget > 0 {
		return newArbiter(r)
	}
	return unbounded{r}
}

// unbounded is the keeper of a run without a budget.
type unbounded struct{ r *sampleRegion }

func (u unbounded) work(rows *executor.Rows) {
	rows.Row, rows.Finish, rows.Lost = u.r.row, u.r.finish, u.r.lost
}

func (u unbounded) attach(w *worker) *memstats.Pool {
	w.pool = u.r.e.pool
	return w.pool
}

func (u unbounded) rowPools() (pool, presize *memstats.Pool) { return u.r.e.pool, u.r.e.pool }

func (u unbounded) armed(_ context.Context, f *Flight, c *executor.Call) { f.hold(c) }

func (u unbounded) begin(*worker, *Flight, int) bool { return true }

func (u unbounded) end(*worker, *Flight, int, bool) bool { return true }

func (u unbounded) drop(_ *worker, f *Flight, row int) { u.r.rows.Again(f.call, row) }

func (u unbounded) giveBack(_ *Flight, _ int, t executor.Taken, own bool) { u.r.rows.GiveBack(t, own) }

func (u unbounded) admit(*worker) error { return nil }

func (u unbounded) void(f *Flight, row int) { f.void(row) }

func (u unbounded) ask(bool) {}

func (u unbounded) delivered() {}

func (u unbounded) returned(*Flight) {}

func (u unbounded) park(bool) {}

func (u unbounded) reset() {}
