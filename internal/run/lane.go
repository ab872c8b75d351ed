package run

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
)

// lane is one request at a time to a maker elsewhere. It is the rows.Answer of the request
// and the rows.Row of the row that is arriving.
type lane struct {
	h  *house
	w  *worker // for what stands behind the cut, while the lane has a seat for a request; nobody else's
	of *address

	// house.mu guards these.
	instance string    // the process that answered last
	rows     []laneRow // of the request
	sits     bool      // among house.lanes,
	place    int       // where it is there
	cancel   context.CancelFunc
	began    int64 // when the request was sent
	progress int64 // when its last row or bytes of it came
	came     int   // rows that have come
	counted  bool  // among the lanes that may take rows
	overdue  bool
	gaveUp   bool   // its rows were given back
	probing  int    // rows asked for on probation
	charged  *trust // of the process that they were counted for
	probed   string // that process
	waits    atomic.Bool

	// The lane's goroutine has these to itself.
	picked   []executor.Taken // rows for the next request
	next     []laneRow        // the rows of the next request
	q        rows.Request
	ids      []int64
	at       int   // the row that is arriving, -1 for none
	first    int64 // when its first byte came, later by what it has waited for memory
	value    int   // of its values, the next one
	checking bool
	sum      maphash.Hash
	scratch  []byte // of a value that is only compared
	shown    []byte // the part of scratch that is the last value
}

// laneRow is a row that a lane holds.
type laneRow struct {
	t     executor.Taken
	f     *Flight
	state rowState
}

type rowState uint8

const (
	taken    rowState = iota // nothing of it has come; others may make it
	arriving                 // it is being written, by this lane alone
	done                     // it is made
	gone                     // others make it, or have made it
)

// ask has m make what was taken.
func (l *lane) ask(ctx context.Context, m rows.Maker) error {
	h := l.h
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !l.hold(cancel) {
		return nil
	}
	err := m.Make(rctx, &l.q, l)
	l.cut()
	h.mu.Lock()
	defer h.mu.Unlock()
	l.of.counts.Asked += time.Duration(now() - l.began)
	whole := l.came == len(l.rows)
	h.paced(l)
	h.refund(l)
	gaveUp := l.gaveUp
	l.giveUp()
	l.rows, l.cancel = l.rows[:0], nil
	switch {
	case l.overdue:
		return rows.ErrOverdue
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case gaveUp:
		return nil
	case err == nil && !whole:
		return errShort
	}
	return err
}

var errShort = errors.New("the answer has fewer rows than were asked for")

// flight returns the flight of what was taken, and takes the rows that no sample is for off it. It returns
// nil if none are left: the call of the rows may be another iteration's then.
func (l *lane) flight(t *executor.Taken) *Flight {
	r := l.h.r
	f := r.flights[t.Call.Slot()]
	for end := max(t.Row, len(f.samples[0])); t.End > end; t.End-- {
		r.memory.void(f, t.End-1)
		r.rows.Done(t.Part(t.End-1, t.End))
	}
	if t.Row == t.End {
		return nil
	}
	return f
}

// hold makes what was picked the rows of the lane and of its next request. It reports false if
// there is none, or if the run is parked.
func (l *lane) hold(cancel context.CancelFunc) bool {
	h := l.h
	l.q.Seed = h.r.p.Options().Seed
	l.q.Keys, l.ids, l.next = l.q.Keys[:0], l.ids[:0], l.next[:0]
	for i := range l.picked {
		t := &l.picked[i]
		f := l.flight(t)
		if f == nil {
			continue
		}
		for row := t.Row; row < t.End; row++ {
			at := len(l.ids)
			for _, samples := range f.samples {
				l.ids = append(l.ids, samples[row])
			}
			l.q.Keys = append(l.q.Keys, rows.Key{Epoch: f.visit(row), IDs: l.ids[at:len(l.ids):len(l.ids)]})
			l.next = append(l.next, laneRow{t: t.Part(row, row+1), f: f})
		}
	}
	if len(l.next) == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l.rows, l.next = l.next, l.rows[:0]
	l.began = now()
	l.progress, l.came, l.overdue, l.gaveUp, l.at = l.began, 0, false, false, -1
	if h.parked {
		l.giveUp()
		l.rows = l.rows[:0]
		return false
	}
	l.cancel = cancel // from now on the request counts among those of its address (asked, paced)
	l.sits, l.place = true, len(h.lanes)
	h.lanes = append(h.lanes, l)
	l.of.counts.Requests++
	l.of.asked(len(l.rows), l.began)
	return true
}

// visit returns the epoch that the random numbers of a row depend on.
func (f *Flight) visit(row int) int64 {
	if f.epochs != nil {
		return f.epochs[row]
	}
	return f.epoch
}

// giveBack gives row i back, which is only taken; mu is held.
func (l *lane) giveBack(i int, own bool) {
	x := &l.rows[i]
	x.state = gone
	l.h.r.memory.giveBack(x.f, x.t.Row, x.t, own)
}

// giveUp gives back all rows that are only taken, and ends the request; mu is held.
func (l *lane) giveUp() {
	for i := range l.rows {
		if l.rows[i].state == taken {
			l.giveBack(i, false)
			l.lost()
		}
	}
	l.gaveUp = true
	if l.cancel != nil {
		l.cancel()
	}
}

// lost counts a row that was asked for and does not come, unless the run wants no more of it; mu is
// held.
func (l *lane) lost() {
	if !l.h.parked && l.h.run.Err() == nil {
		l.of.counts.Lost++
	}
}

// stop has the lane take no more rows; mu is held.
func (l *lane) stop() {
	if !l.counted {
		return
	}
	l.h.left = now()
	if l.overdue { // it has not worked since then
		l.h.left = l.progress
	}
	l.counted = false
	l.h.count(-1)
}

// late reports whether the lane's request is overdue; mu is held.
func (l *lane) late(t int64) bool {
	if len(l.rows) == 0 || l.gaveUp || l.waits.Load() {
		return false
	}
	due := unknown * l.h.plan.Patience
	if cost := l.h.rowCost(); cost > 0 {
		longest := max(longestLate*l.h.plan.Patience, lateFactor*cost)
		due = max(l.h.plan.Patience, min(longest, lateFactor*cost*time.Duration(max(1, len(l.rows)-l.came))))
	}
	return time.Duration(t-l.progress) > due
}

// From implements rows.Answer.
func (l *lane) From(instance string) error {
	h := l.h
	h.mu.Lock()
	defer h.mu.Unlock()
	l.instance, l.progress = instance, now()
	return h.trust(instance).err
}

// Received implements rows.Answer. Bytes that come are progress: a large row on a slow line
// is not overdue.
func (l *lane) Received(n int64) {
	l.h.mu.Lock()
	if n > 0 {
		l.progress = now()
	}
	l.of.counts.Bytes += n
	l.h.mu.Unlock()
}

// comes notes that row i has come; mu is held.
func (l *lane) comes(i int) {
	l.of.hand -= i + 1 - l.came
	l.progress, l.came = now(), i+1
	l.of.progress = l.progress
	if i == 0 {
		wait := time.Duration(l.progress - l.began)
		l.of.counts.Wait += wait
		l.of.first = least(l.of.first, wait)
	}
}

// Failed implements rows.Answer: the process makes the row, and finds its error.
func (l *lane) Failed(i int, why string) {
	h := l.h
	h.mu.Lock()
	defer h.mu.Unlock()
	l.comes(i)
	if l.rows[i].state == taken {
		l.of.counts.Failed++
		l.giveBack(i, true)
	}
	h.couldNot(l.instance, why)
}

// Row implements rows.Answer.
func (l *lane) Row(i int) rows.Row {
	h := l.h
	h.mu.Lock()
	l.comes(i)
	x := &l.rows[i]
	if x.state != taken {
		h.mu.Unlock()
		return nil
	}
	x.state = arriving
	l.checking = h.audits(l)
	h.mu.Unlock()
	l.value, l.at = 0, i
	if l.checking {
		l.sum.SetSeed(sumSeed)
		l.shown = nil
		return l
	}
	l.waits.Store(true)
	begun := h.r.memory.begin(l.w, x.f, x.t.Row)
	l.resume()
	if !begun {
		l.over(gone)
		return nil
	}
	l.w.bind(x.f, x.t.Row)
	for _, v := range h.r.p.Crossing() {
		datum.Begin([]*datum.Tensor{&l.w.tensors[v].Tensor})
	}
	l.first = now()
	return l
}

// resume says that the lane does not wait for this process any more: for memory, or for what
// stands behind the cut.
func (l *lane) resume() {
	l.h.mu.Lock()
	l.progress = now()
	l.h.mu.Unlock()
	l.waits.Store(false)
}

// over ends the row that was arriving.
func (l *lane) over(s rowState) {
	x := &l.rows[l.at]
	l.at = -1
	l.h.mu.Lock()
	x.state = s
	if s == done {
		l.of.counts.Rows++
	}
	l.h.mu.Unlock()
	l.h.r.rows.Done(x.t)
}

// cut has a row made again that was arriving when its request ended.
func (l *lane) cut() {
	if l.at >= 0 {
		l.h.mu.Lock()
		l.lost()
		l.h.mu.Unlock()
		l.drop()
	}
}

// drop has a row that was arriving made again.
func (l *lane) drop() {
	if l.at < 0 {
		return
	}
	x := &l.rows[l.at]
	if l.checking {
		l.h.mu.Lock()
		l.giveBack(l.at, true)
		l.h.mu.Unlock()
		l.at = -1
		return
	}
	l.h.r.memory.drop(l.w, x.f, x.t.Row)
	l.over(gone)
}

// Value implements rows.Row.
func (l *lane) Value(t datum.DType, layout datum.Layout, shape []int) ([]byte, error) {
	crossing := l.h.r.p.Crossing()
	if l.value == len(crossing) {
		l.drop()
		return nil, errors.New("there is no such value")
	}
	v := crossing[l.value]
	l.value++
	if l.checking {
		return l.compareValue(t, layout, shape)
	}
	c := &l.w.tensors[v]
	l.waits.Store(true)
	before := now()
	mem, err := c.ResizeAs(t, shape...)
	l.first += now() - before
	l.resume()
	if err != nil {
		l.drop()
		return nil, err
	}
	c.SetLayout(layout)
	return mem, nil
}

// End implements rows.Row.
func (l *lane) End() {
	h, r := l.h, l.h.r
	switch {
	case l.at < 0:
		return
	case l.value < len(r.p.Crossing()):
		l.drop()
		return
	case l.checking:
		l.compareRow()
		return
	}
	l.waits.Store(true)
	defer l.resume()
	received := time.Duration(now() - l.first)
	x := &l.rows[l.at]
	f, row := x.f, x.t.Row
	if err := r.try(l.w, f, row); err != nil {
		l.drop()
		return
	}
	h.spoiled(f, row)
	state := gone
	if r.memory.end(l.w, f, row, true) {
		r.settle(l.w, f, row, nil)
		l.w.rec.show()
		state = done
		h.mu.Lock()
		l.of.counts.Receive += received
		h.mu.Unlock()
	}
	l.over(state)
}
