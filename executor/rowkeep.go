package executor

import "sync"

// Some takers make some rows better than others do, such as those that have what the row is made
// of in a cache. Who finds new rows asks Rows.Suits, and all of the iteration are kept for
// those that they suit best. A taker that has none of its own may relieve the one that has most, and workers
// take all rows as they come.

// taker is one of those who take rows beside the workers, or several of one number. RowPool.mu guards it.
type taker struct {
	kept     rowQueue // rows for it
	here     bool     // between Join and Leave
	enough   int      // it is relieved where so many rows are kept for it
	at       int      // its place in RowPool.ranks
	wake     sync.Cond
	waiting  int // goroutines in Wait that were not notified yet
	notified int // those that were, and have not run since
	idle     int // its place in RowPool.idlers, if waiting is not 0
}

// taker returns the taker of a number; mu is held.
func (e *RowPool) taker(number int) *taker {
	for len(e.takers) <= number {
		t := &taker{enough: 1, at: len(e.takers)}
		t.wake.L = &e.mu
		e.ranks = append(e.ranks, t)
		e.takers = append(e.takers, t)
	}
	return e.takers[number]
}

// Join lets rows be kept for the taker of a number from 1, until Leave.
func (e *RowPool) Join(number int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taker(number).here = true
}

// Leave says that there is nobody of a number any more: what was kept for it is for any taker.
func (e *RowPool) Leave(number int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.taker(number)
	x.here = false
	n := x.kept.len()
	for x.kept.len() > 0 {
		e.assign(0, e.takeKept(x))
	}
	e.came(n)
}

// Ease says how many rows a taker has more than enough with: others relieve it of some where so many are kept
// for it.
func (e *RowPool) Ease(number, enough int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taker(number).enough = max(1, enough)
	e.notifyRelief()
}

// keep keeps new rows for the takers of some numbers, one for each ticket, 0 for any taker; mu is held.
func (e *RowPool) keep(t Taken, suits []int) {
	for e.order.len() > 0 && e.keeper(e.order.first()) == nil {
		e.order.pop()
	}
	s := e.slot(t.seq)
	if s.kept == nil {
		s.kept = make([]int32, e.tickets)
	}
	anybody := 0
	for i, number := range suits {
		row := t.Row + i*e.grain
		one := t.Part(row, min(row+e.grain, t.End))
		x := e.taker(number)
		if !x.here {
			number = 0
			anybody++
		}
		e.order.push(one)
		e.assign(number, one)
		e.notify(x)
	}
	e.returned(t)
	e.came(anybody)
	if !e.held.Load() {
		e.wakeUp()
	}
	e.notifyRelief()
}

// assign keeps rows for a taker; mu is held.
func (e *RowPool) assign(number int, t Taken) {
	x := e.taker(number)
	e.slot(t.seq).kept[t.Row/e.grain] = int32(number) + 1
	x.kept.push(t)
	e.rank(x, 1)
}

// keeper returns the taker that rows in RowPool.order are kept for, nil if they were taken; mu is held.
func (e *RowPool) keeper(t *Taken) *taker {
	if after := e.slot(t.seq).kept[t.Row/e.grain]; after > 0 {
		return e.takers[after-1]
	}
	return nil
}

// takeKept takes the oldest row that is kept for a taker; mu is held.
func (e *RowPool) takeKept(x *taker) Taken {
	t := x.kept.pop()
	e.slot(t.seq).kept[t.Row/e.grain] = 0
	e.rank(x, -1)
	return t
}

// takeOrder takes the oldest row that is kept for anybody, if it is older than others; mu is held.
func (e *RowPool) takeOrder(than *Taken) (Taken, bool) {
	for e.order.len() > 0 {
		switch x := e.keeper(e.order.first()); {
		case x == nil:
			e.order.pop()
		case than == nil || x.kept.first().before(than):
			return e.takeKept(x), true // its oldest one is that of the order
		default:
			return Taken{}, false
		}
	}
	return Taken{}, false
}

// rank notes that a taker has got a row, or has one less: ranks are in order of the number of
// rows, and above says how many takers have more than so many. Mu is held.
func (e *RowPool) rank(x *taker, n int) {
	e.kept += n
	had := x.kept.len() - n
	for len(e.above) <= had+1 {
		e.above = append(e.above, 0)
	}
	var to int
	if n > 0 {
		to = e.above[had]
		e.above[had]++
	} else {
		e.above[had-1]--
		to = e.above[had-1]
	}
	other := e.ranks[to]
	e.ranks[to], e.ranks[x.at] = x, other
	other.at, x.at = x.at, to
}

// loaded returns the taker that has most rows kept for it, if those are enough to relieve it; mu is held.
func (e *RowPool) loaded() *taker {
	if e.kept == 0 || e.parked {
		return nil
	}
	if x := e.ranks[0]; x.kept.len() >= x.enough {
		return x
	}
	return nil
}

// notifyRelief has takers that wait look whether they can relieve one; mu is held.
func (e *RowPool) notifyRelief() {
	if x := e.loaded(); x != nil {
		e.notifyAny(x.kept.len() - x.enough + 1)
	}
}

// Relieve takes a row of the taker that has most rows kept for it, if those are enough and who asks is free, and adds it
// to picked. Where n is above 1 and all others have no more than a fifth of all rows that are kept, it takes up to n rows, and up
// to half of them, in any case: others have nothing to do then.
func (e *RowPool) Relieve(n int, free bool, picked []Taken) []Taken {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.loaded()
	if x == nil || e.closed {
		return picked
	}
	switch kept := x.kept.len(); {
	case n > 1 && 5*kept >= 4*e.kept:
		n = min(n, 1+(kept-1)/2)
	case free:
		n = 1
	default:
		return picked
	}
	for range n {
		t := e.takeKept(x)
		e.taken += t.End - t.Row
		picked = append(picked, t)
	}
	e.counted()
	return picked
}
