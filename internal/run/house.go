package run

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/pipeline/rows"
	"github.com/planktonml/plankton/pipeline/stats"
)

// house has rows of a run made elsewhere (Options.Remote). Whoever brings rows from a maker
// is a lane: it takes rows as workers do, several at a time, and asks for them. The house
// knows all rows that lanes hold, so that none of them is waited for in vain:
//
//   - a row is taken until its first byte arrives, and then arriving until it is whole.
//     Only a lane that has claimed a row so writes into the batch, and what is arriving is
//     nobody else's;
//   - an idle worker that the consumer waits for steals a row that is only taken;
//   - a request that brings nothing for too long is overdue: its rows are given back, and
//     the lane ends. How long that is follows from what a row costs in this process, or the
//     fastest lane, and never from the pace of the lane itself;
//   - a request that fails gives back what has not come.
//
// house.mu is taken before the locks of the memory budget and of the executor.RowPool, and
// never by who holds one of them.
type house struct {
	r      *sampleRegion
	makers rows.Makers
	plan   rows.Plan
	seats  chan *worker // of requests, free
	first  bool         // no run has begun
	router *router      // nil where no maker has a cache

	cost   atomic.Int64 // nanoseconds of a row in this process, 0 while not known
	checks atomic.Int32 // rows of compared

	mu        sync.Mutex
	run       context.Context
	lanes     []*lane // that have rows in hand, in no order
	at        int     // lanes that may take rows, with a seat or without
	left      int64   // when the last of them went, or the run began
	held      bool    // workers of this process take no new rows
	parked    bool
	trusts    map[string]*trust  // by instance
	probed    int64              // rows that their probations take
	compared  map[rowPlace]check // rows that this process makes as well
	addresses map[string]*address
	quickest  time.Duration // of their times between rows, 0 while not known

	group sync.WaitGroup
}

// rowPlace is a row of a flight.
type rowPlace struct {
	f   *Flight
	row int
}

// newHouse readies the region for makers elsewhere: each lane has a worker for what stands
// behind the cut.
func (r *sampleRegion) newHouse() error {
	m := r.p.Options().Remote
	h := &house{
		r: r, makers: m, plan: m.Plan(), first: true,
		trusts: map[string]*trust{}, compared: map[rowPlace]check{}, addresses: map[string]*address{},
	}
	if h.plan.Cached && r.p.Options().MemoryBudget == 0 { // under a budget rows are begun in order
		h.router = newRouter(r.p.Readers()[0].Source)
	}
	h.seats = make(chan *worker, h.plan.Lanes)
	for _, w := range r.workers {
		w.house = h
	}
	for range h.plan.Lanes {
		w, err := newWorker(r.p, len(r.workers), r.p.Cut(), len(r.p.Nodes()))
		if err != nil {
			return err
		}
		r.workers = append(r.workers, w)
		w.memory = r.memory
		r.memory.attach(w)
		for i := range w.tensors {
			w.tensors[i].pool = w.pool
		}
		h.seats <- w
	}
	r.house = h
	return nil
}

// start lets makers work for a run that ends with ctx.
func (h *house) start(ctx context.Context) error {
	h.wait()
	serve, err := h.makers.Open(ctx, h, h.first)
	if err != nil {
		return err
	}
	h.first = false
	h.mu.Lock()
	h.run, h.left = ctx, now()
	h.hold(true)
	h.mu.Unlock()
	h.group.Go(serve)
	h.group.Go(func() { h.watch(ctx) })
	return nil
}

// wait waits for the end of a run whose context has ended.
func (h *house) wait() {
	h.group.Wait()
	h.mu.Lock()
	clear(h.compared)
	h.checks.Store(0)
	for _, t := range h.trusts { // what was asked for and did not come is asked for anew
		t.asked = t.equal
	}
	h.mu.Unlock()
}

// Definition implements rows.House.
func (h *house) Definition() rows.Definition { return definition(h.r.p) }

// Note implements rows.House.
func (h *house) Note(name string, n rows.Note, err error) {
	h.mu.Lock()
	s := &h.address(name).counts
	events := &h.r.p.Options().Events
	told := events.WorkerUp
	switch n {
	case rows.Down:
		s.Downs++
		told = events.WorkerDown
	case rows.Refused:
		s.Refused++
		told = events.WorkerRefused
	}
	if err != nil {
		s.Because = err.Error()
	}
	h.mu.Unlock()
	if told != nil {
		told(stats.RemoteEvent{Time: time.Now(), Worker: name, Err: err})
	}
}

func (h *house) stats() []stats.Remote {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []stats.Remote{}
	for _, a := range h.addresses {
		all = append(all, a.shown())
	}
	slices.SortFunc(all, func(a, b stats.Remote) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// count has lanes count among those that may take rows; mu is held.
func (h *house) count(n int) {
	before := h.at
	h.at += n
	if (before == 0) != (h.at == 0) {
		h.r.rows.Share(h.at > 0)
	}
	if h.at > 0 {
		h.hold(true)
	}
}

// hold has the workers of this process leave new rows to lanes, or not, if the plan says so; mu is held.
func (h *house) hold(hold bool) {
	if hold = hold && h.plan.Only; hold != h.held {
		h.held = hold
		h.r.rows.Hold(hold)
	}
}

// park stops what lanes have in hand, or lets them go on.
func (h *house) park(parked bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parked = parked
	if parked {
		for _, l := range h.lanes {
			l.giveUp()
		}
	}
}

// made notes what this process needed for a row.
func (h *house) made(f *Flight, row int, took int64, err error) {
	if err != nil {
		h.spoiled(f, row)
		return
	}
	h.cost.Store(max(1, int64(least(time.Duration(h.cost.Load()), time.Duration(took)))))
}

// least returns what something takes when it waits for nothing, given what was known of it, 0 for nothing, and what it has
// taken now: what takes longer has waited for a processor, for a disk, or for others.
func least(known, took time.Duration) time.Duration {
	switch {
	case known == 0:
		return took
	case took < known:
		return known + (took-known)/4
	}
	return known + (took-known)/32
}

// rowCost returns what a row costs in this process, or if that is not known the time between
// rows of the fastest address; 0 if that is not known either. Mu is held.
func (h *house) rowCost() time.Duration {
	if c := h.cost.Load(); c > 0 {
		return time.Duration(c)
	}
	return h.quickest
}

const (
	lateFactor  = 8                     // a request is overdue when nothing came for so many times what its rows cost,
	longestLate = 2                     // or for so many times Plan.Patience if that is less, but more than one row
	unknown     = 10                    // or for so many times that where the cost is not known
	lookEvery   = 10 * time.Millisecond // how often the house looks for rows that do not come
	stealAfter  = 2 * time.Millisecond  // rows are not stolen from a request that is younger
	span        = 30 * time.Millisecond // of work in this process is what a request asks for at most
)

// watch looks for rows that do not come.
func (h *house) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		t, asked := now(), false
		h.findQuickest()
		h.ease(t)
		if h.at == 0 && time.Duration(t-h.left) > h.plan.Patience {
			h.hold(false)
		}
		for _, l := range h.lanes {
			asked = asked || len(l.rows) > 0
			if l.late(t) {
				l.overdue = true
				l.giveUp()
				l.stop()
			}
		}
		h.mu.Unlock()
		if asked && h.r.rows.Wanting() {
			h.r.rows.Nudge()
		}
	}
}

// idle is called by a worker, or if that is -1 by a lane, that finds no row: it gives back
// one that others were asked for and have not begun to send, if the consumer may need it
// before it comes. The last one of the oldest batch is the one that comes last.
func (h *house) idle(worker int) bool {
	if !h.r.rows.Wanting() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.parked || worker >= 0 == h.held {
		return false
	}
	if worker < 0 && h.r.p.Options().MemoryBudget > 0 { // the lane could not take the row (arbiter.giveBack)
		return false
	}
	due := max(stealAfter, 2*h.rowCost())
	if worker < 0 {
		due = h.slow()
	}
	t := now()
	var from *lane
	best := -1
	for _, l := range h.lanes {
		if time.Duration(t-l.began) < due {
			continue
		}
		for i := range l.rows {
			if x := &l.rows[i]; x.state == taken && (from == nil || x.older(&from.rows[best])) {
				from, best = l, i
			}
		}
	}
	if from == nil {
		return false
	}
	from.of.counts.Stolen++
	from.giveBack(best, worker >= 0)
	return true
}

// slow returns after what time a worker elsewhere is slow that sends nothing: a row takes as long as it costs, however
// many come at once. Mu is held.
func (h *house) slow() time.Duration { return max(span, 4*h.quickest, 2*h.rowCost()) }

// older reports whether a row is of an older batch than y, or a later one of the same.
func (x *laneRow) older(y *laneRow) bool {
	return x.t.Age() < y.t.Age() || x.t.Age() == y.t.Age() && x.t.Row > y.t.Row
}

// Lane implements rows.House. Each request needs a seat. Where there are more lanes, they take turns; who waits
// counts among those that may take rows all the same.
func (h *house) Lane(ctx context.Context, name, instance string, m rows.Maker) error {
	l := h.enter(name, instance)
	defer l.leave()
	for {
		n, err := l.wanted(ctx)
		if err == nil {
			err = l.serve(ctx, m, n)
		}
		if err != nil {
			return err
		}
	}
}

// serve has a lane make up to n rows with one request.
func (l *lane) serve(ctx context.Context, m rows.Maker, n int) error {
	if err := l.take(ctx, n); err != nil {
		h := l.h
		h.mu.Lock()
		h.refund(l)
		h.mu.Unlock()
		return err
	}
	defer l.end()
	return l.ask(ctx, m)
}

// take takes up to n rows for the next request, and a seat for it. Rows of others are only taken where a seat is
// free: who has rows of its own makes better use of it.
func (l *lane) take(ctx context.Context, n int) error {
	h, number := l.h, 0
	if h.router != nil {
		number = l.of.number
	}
	l.picked = l.picked[:0]
	for relieve := true; ; {
		own, err := h.r.rows.Wait(ctx, number, relieve)
		if err != nil {
			return err
		}
		if own {
			select {
			case l.w = <-h.seats:
			case <-ctx.Done():
				continue
			}
			l.picked = h.r.rows.Take(number, n, l.picked)
		} else {
			select {
			case l.w = <-h.seats:
			default:
				relieve = false
				continue
			}
			most := 1
			if h.router.shards != nil { // that are read in order: one maker owns all rows
				most = n
			}
			l.picked = h.r.rows.Relieve(most, l.of.free(h), l.picked)
		}
		if len(l.picked) > 0 {
			return nil
		}
		l.rise()
		relieve = own
	}
}

// rise gives the lane's seat to others.
func (l *lane) rise() {
	l.h.seats <- l.w
	l.w = nil
}

// end takes the request of a lane off the house.
func (l *lane) end() {
	h := l.h
	h.mu.Lock()
	h.refund(l)
	l.giveUp()
	if l.cancel != nil { // an operator has ended the goroutine
		h.paced(l)
	}
	if l.sits {
		last := len(h.lanes) - 1
		h.lanes[l.place], h.lanes[last].place = h.lanes[last], l.place
		h.lanes, l.sits = h.lanes[:last], false
	}
	h.mu.Unlock()
	l.cut() // a row that was arriving when the goroutine was ended
	l.rows, l.cancel = l.rows[:0], nil
	l.rise()
}

// wanted returns how many rows the lane is to ask for, and waits until it may.
func (l *lane) wanted(ctx context.Context) (n int, err error) {
	h := l.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for ctx.Err() == nil {
		t := h.trust(l.instance)
		if !t.proven {
			l.stop()
		}
		switch {
		case t.err != nil:
			return 0, t.err
		case t.proven:
			if !l.counted {
				l.counted = true
				h.count(1)
			}
			return l.rowsFor(h.plan.Rows), nil
		case t.asked < t.need:
			n = min(probeRows, t.need-t.asked)
			t.asked += n
			l.probing, l.charged, l.probed = n, t, l.instance
			return n, nil
		}
		stop := context.AfterFunc(ctx, func() {
			h.mu.Lock()
			t.changed.Broadcast()
			h.mu.Unlock()
		})
		t.changed.Wait()
		stop()
	}
	return 0, context.Cause(ctx)
}

// rowsFor returns how many rows, n at most, the lane is to ask for: what this process makes in
// span, less where the address is slower than others, and never so many that the lanes hold most
// of what may be made. Mu is held.
func (l *lane) rowsFor(n int) int {
	h := l.h
	if cost := h.rowCost(); cost > 0 {
		n = min(n, int(span/cost))
	}
	o := h.r.p.Options()
	n = min(n, (o.PrefetchDepth+1)*o.BatchSize/(2*max(1, min(h.at, h.plan.Lanes))))
	switch fastest, own := h.quickest, l.of.pace.row; {
	case own == 0:
		n = min(n, probeRows)
	case own > 2*fastest: // measured paces differ by as much without a reason
		n = int(int64(n) * 2 * int64(fastest) / int64(own))
	}
	return max(1, n)
}

var _ rows.House = (*house)(nil)
