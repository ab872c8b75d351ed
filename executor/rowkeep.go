package executor

import "context"

// Some takers make some rows better than others do, such as those that have what the row is made
// of in a cache. New rows are taken as a whole then, by whoever finds them first, and kept for
// those that they suit best (Keep). Nobody waits for a row that is kept: who has none of its own
// relieves the taker that has most, and workers take all rows as they come.

// TakeFor waits for rows as Take does, for the taker of a number from 1. It returns a row that is
// kept for that taker or was given back; or else, where fresh is true, all rows of an iteration
// that were not taken yet, which are to be given to Keep; or else a row that is kept for the
// taker that has most.
func (e *RowPool) TakeFor(ctx context.Context, taker int) (t Taken, fresh bool, err error) {
	t, err = e.await(ctx, func() (t Taken, ok bool) {
		fresh = false
		if t, ok = e.takeKept(taker); ok {
			return t, true
		}
		if t, fresh = e.takeNew(e.tickets); fresh {
			return t, true
		}
		return e.relieve()
	})
	return t, fresh, err
}

// TryFor takes another row that is kept for a taker or was given back, if there is one.
func (e *RowPool) TryFor(taker int) (Taken, bool) {
	return e.counted(func() (Taken, bool) { return e.takeKept(taker) })
}

// Relieve takes up to n more rows of the taker that has most rows kept for it, but at most half of
// those, and adds them to picked. It takes none where others have more than a fifth of all rows that
// are kept: each of them has some to do then.
func (e *RowPool) Relieve(picked []Taken, n int) []Taken {
	e.mu.Lock()
	defer e.mu.Unlock()
	most := e.fullest()
	if most == 0 {
		return picked
	}
	all := 0
	for _, kept := range e.kept {
		all += kept
	}
	if 5*e.kept[most] < 4*all {
		return picked
	}
	for range min(n, e.kept[most]/2) {
		t, ok := e.takeOldest(func(r *againRow) bool { return r.taker == most })
		if !ok {
			break
		}
		e.taken += t.End - t.Row
		picked = append(picked, t)
	}
	return picked
}

// Keep gives rows of Take back, which have not been made: each is kept for the taker that suits
// says of it, 0 for none.
func (e *RowPool) Keep(t Taken, suits []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, taker := range suits {
		row := t.Row + i*e.grain
		e.again = append(e.again, againRow{Taken{t.Call, row, min(row+e.grain, t.End), t.seq}, false, taker})
		if taker > 0 {
			for len(e.kept) <= taker {
				e.kept = append(e.kept, 0)
			}
			e.kept[taker]++
		}
	}
	e.returned(t)
}

// takeKept takes the oldest row that is kept for a taker or was given back.
func (e *RowPool) takeKept(taker int) (Taken, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.takeOldest(func(r *againRow) bool { return r.taker == taker || r.taker == 0 && !r.own })
}

// relieve takes the oldest row of the taker that has most rows kept for it.
func (e *RowPool) relieve() (Taken, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	most := e.fullest()
	return e.takeOldest(func(r *againRow) bool { return most > 0 && r.taker == most })
}

// fullest returns the taker that has most rows kept for it, 0 for none; mu is held.
func (e *RowPool) fullest() (most int) {
	for taker, n := range e.kept {
		if n > 0 && (most == 0 || n > e.kept[most]) {
			most = taker
		}
	}
	return most
}
