package run

import "github.com/planktonml/plankton/memstats"

// The gates through which memory is taken under a budget: by a worker's sample, which
// waits; before the run, where what does not fit is an error; and for rows that the workers
// have handed over, which cannot wait. What is given back passes no lock, and the machine
// gets to know of it with the next event.

// attach implements keeper.
func (a *arbiter) attach(w *worker) (presize *memstats.Pool) {
	w.exact = true
	w.pool = a.r.e.pool.With(workerGate{a, w})
	return a.r.e.pool.With(presizeGate{a})
}

// rowPools implements keeper.
func (a *arbiter) rowPools() (pool, presize *memstats.Pool) {
	return a.r.e.pool.With(forcedGate{a}), a.r.e.pool.With(presizeGate{a})
}

// workerGate is the gate of one worker's samples.
type workerGate struct {
	a *arbiter
	w *worker
}

// Take implements memstats.Gate.
func (g workerGate) Take(n int64) error {
	held := g.w.reserved()
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	g.a.machine.Want(g.w.number, n, held)
	return g.a.answer(g.w.number)
}

// Give implements memstats.Gate.
func (g workerGate) Give(n int64) { g.a.given.Add(n) }

// presizeGate is the gate of buffers before they are used.
type presizeGate struct{ a *arbiter }

// Take implements memstats.Gate.
func (g presizeGate) Take(n int64) error {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	g.a.act() // first what was given back
	return g.a.machine.Reserve(n)
}

// Give implements memstats.Gate.
func (g presizeGate) Give(n int64) { g.a.given.Add(n) }

// forcedGate is the gate of rows that the workers have handed over.
type forcedGate struct{ a *arbiter }

// Take implements memstats.Gate.
func (g forcedGate) Take(n int64) error {
	g.a.given.Add(-n)
	return nil
}

// Give implements memstats.Gate.
func (g forcedGate) Give(n int64) { g.a.given.Add(n) }
