package run

import (
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// address is what is known of the makers of one name, over all their lanes. house.mu guards it.
type address struct {
	counts   stats.Remote // but for Up
	pace     pace
	number   int           // from 1, for good; RowPool knows it as a taker, where rows are routed
	lanes    int           // with a seat or without
	left     int64         // when the last one ended
	requests int           // in flight
	progress int64         // when the first of them was sent, or its last row came
	hand     int           // rows that it was asked for and that have not come
	first    time.Duration // from sending a request to its first row, where few others are in flight
	enough   int           // rows that are kept for it, for others to relieve it
}

// lingers is how long an address is said to be up when its last lane has ended: a lane may begin anew at
// once.
const lingers = time.Second

// address returns what is known of a name; mu is held.
func (h *house) address(name string) *address {
	a := h.addresses[name]
	if a == nil {
		a = &address{counts: stats.Remote{Name: name}, number: len(h.addresses) + 1, left: now() - int64(lingers)}
		a.pace.since = now()
		h.addresses[name] = a
	}
	return a
}

// shown returns the counts; mu is held.
func (a *address) shown() stats.Remote {
	s := a.counts
	s.Up = a.lanes > 0 || time.Duration(now()-a.left) < lingers
	return s
}

// enter returns a lane of an address, which leave ends.
func (h *house) enter(name, instance string) *lane {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &lane{h: h, of: h.address(name), instance: instance, at: -1}
	if l.of.lanes++; l.of.lanes == 1 && h.router != nil {
		h.router.add(l.of.number, name)
		h.r.rows.Join(l.of.number)
	}
	return l
}

func (l *lane) leave() {
	h := l.h
	h.mu.Lock()
	defer h.mu.Unlock()
	l.stop()
	l.of.left = now()
	if l.of.lanes--; l.of.lanes == 0 && h.router != nil {
		h.router.remove(l.of.number)
		h.r.rows.Leave(l.of.number)
	}
}

// free reports whether an address is through with the rows that it was asked for before the first row of another request
// could come.
func (a *address) free(h *house) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Duration(a.hand)*a.pace.row <= a.first
}

// pace is how fast rows come from an address, over all lanes: what a single request takes says
// more of how many rows it asks for.
type pace struct {
	row   time.Duration // between rows; 0 while not known
	came  int           // rows since then
	since int64         // later by the time in which no request was in flight
	ended int64         // when the last request ended
}

// paceOver is the time over which a pace is taken.
const paceOver = 200 * time.Millisecond

// asked notes that a request begins; mu is held.
func (a *address) asked(rows int, t int64) {
	a.hand += rows
	if a.requests == 0 {
		a.progress = t
		a.pace.since += t - max(a.pace.ended, a.pace.since) // nobody asked meanwhile, so that time says nothing
	}
	a.requests++
}

// paced notes that a request of a lane has ended; mu is held.
func (h *house) paced(l *lane) {
	a := l.of
	a.requests--
	a.hand -= len(l.rows) - l.came
	p, t := &a.pace, now()
	p.came, p.ended = p.came+l.came, t
	if d := time.Duration(t - p.since); d >= paceOver && p.came > 0 {
		p.row = d / time.Duration(p.came)
		p.came, p.since = 0, t
		if h.quickest == 0 || p.row < h.quickest {
			h.quickest = p.row
		}
	}
}

// findQuickest looks which of the addresses that have lanes is the fastest; mu is held.
func (h *house) findQuickest() {
	h.quickest = 0
	for _, a := range h.addresses {
		if row := a.pace.row; a.lanes > 0 && row > 0 && (h.quickest == 0 || row < h.quickest) {
			h.quickest = row
		}
	}
}
