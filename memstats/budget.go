package memstats

import (
	"fmt"
	"sync/atomic"
)

// Budget is a Gate that refuses what would exceed a number of bytes. It never waits. It is
// for programs that make pools themselves, such as for executor.Pools: a pipeline keeps to
// its MemoryBudget with gates of its own, at which samples wait for each other.
type Budget struct {
	limit      int64
	used, peak atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Limit returns the bytes that may be held.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns the bytes that are held.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak returns the most bytes that were held at a time.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// Try takes n bytes if they fit and reports whether they did.
func (b *Budget) Try(n int64) bool {
	for {
		used := b.used.Load()
		if n > b.limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			b.notePeak(used + n)
			return true
		}
	}
}

// Take is Try with a *BudgetError for what does not fit.
func (b *Budget) Take(n int64) error {
	if b.Try(n) {
		return nil
	}
	return &BudgetError{Need: n, Used: b.Used(), Limit: b.limit}
}

// Give implements Gate.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

func (b *Budget) notePeak(used int64) {
	for {
		peak := b.peak.Load()
		if used <= peak || b.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// BudgetError says that memory does not fit into a budget.
type BudgetError struct {
	Need  int64 // bytes that were asked for
	Used  int64 // bytes that had to stay beside them
	Limit int64 // the budget
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%d bytes do not fit into the memory budget of %d with %d in use; raise it to at least %d, or use smaller batches or pictures",
		e.Need, e.Limit, e.Used, e.Used+e.Need)
}
