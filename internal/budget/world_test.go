package budget

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A world is a run without goroutines: workers, rows, a pool that hands rows out, a
// consumer. In each turn it makes one of the moves that are possible, chosen by chance.
type world struct {
	*rand.Rand
	m   *Machine
	cfg Config

	samples []sample // of the run
	count   int64    // of them; rows of the last batch beyond are void
	workers []maker
	slots   []slot
	kept    map[int64]int64 // bytes that a sequence has delivered for a sample

	// The pool.
	armed   int64
	ticket  int64
	again   []int64
	pending []int   // by batch: rows that are not done
	finish  []int64 // batches whose rows were made: RowsDone comes
	read    int64   // the sample whose turn it is in the sequence
	active  int     // workers above rest

	// The consumer.
	lent            []int64 // batches on their way
	ready           []int64 // batches in order, that the consumer may take
	taken           int64
	held            []int64
	most            int // batches that it holds while it asks
	asking          bool
	parked          bool
	quit            bool // it has given the run up
	mayQuit, scarce bool

	failed error // the batch that did not fit
	bad    int   // samples that failed for want of memory
	gaveUp int
	remade int
}

// sample is what making it takes: what a sequence delivers, then buffers one after the
// other, the first of which moves to the row.
type sample struct {
	read    int64
	buffers [3]int64
	ragged  bool
	broken  bool // it fails of itself in the end
}

func (s sample) alone() int64 { return s.read + s.buffers[0] + s.buffers[1] + s.buffers[2] }

// maker is a worker.
type maker struct {
	state  string // "", or "begin", "read", "delivering", "admit", "make", "want", "end"
	sample int64
	step   int
	record int64    // what the sequence has delivered
	held   [3]int64 // scratch
	need   int64
	err    bool
}

func (k *maker) scratch() int64 { return k.record + k.held[0] + k.held[1] + k.held[2] }

// slot is the memory of a batch.
type slot struct {
	seq  int64 // -1 while idle
	rows []int64
	good []bool // by row: it is made
	over []bool // by row: its sample has a result or an error
}

func (w *world) slot(seq int64) *slot {
	for i := range w.slots {
		if w.slots[i].seq == seq {
			return &w.slots[i]
		}
	}
	return nil
}

func (w *world) rowOf(s int64) *int64 {
	n := int64(w.cfg.Rows)
	return &w.slot(s / n).rows[s%n]
}

func (w *world) batchesInAll() int64 {
	n := int64(w.cfg.Rows)
	return (w.count + n - 1) / n
}

// move is one thing that can happen.
type move func()

// moves returns all that can happen now.
func (w *world) moves() (all []move) {
	rows := int64(w.cfg.Rows)
	for i := range w.slots {
		if w.slots[i].seq < 0 && w.armed < w.batchesInAll() && w.failed == nil && !w.quit {
			all = append(all, func() { w.arm(i) })
			break
		}
	}
	for i := range w.workers {
		k := &w.workers[i]
		switch k.state {
		case "":
			if !w.parked && !w.quit && i < w.active && (len(w.again) > 0 || w.ticket < w.armed*rows) {
				all = append(all, func() { w.take(i) })
			}
		case "read":
			if w.read == k.sample {
				all = append(all, func() { w.deliver(i) })
			}
		case "make":
			all = append(all, func() { w.make(i) })
		case "end":
			all = append(all, func() { w.end(i) })
		}
	}
	for i := range w.finish {
		all = append(all, func() { w.rowsDone(i) })
	}
	for i := range w.lent {
		all = append(all, func() { w.arrive(i) })
	}
	return append(all, w.consumer(len(all) > 0)...)
}

// consumer returns what the consumer can do. While it asks, another of its goroutines may
// release a batch, but nothing must depend on that: it needs others that move.
func (w *world) consumer(others bool) (all []move) {
	switch {
	case w.quit || w.failed != nil:
		return nil
	case w.parked:
		if !w.resting() { // it waits for that
			return nil
		}
		return []move{func() { w.parked = false; w.m.Park(false) }}
	case len(w.ready) > 0 && w.ready[0] == w.taken && w.asking:
		all = append(all, func() {
			w.asking = false
			w.m.Ask(false)
			w.held = append(w.held, w.taken)
			w.ready, w.taken = w.ready[1:], w.taken+1
			w.m.Delivered()
		})
	case !w.asking && len(w.held) <= w.most && w.taken < w.batchesInAll():
		all = append(all, func() { w.asking = true; w.m.Ask(true) })
	}
	if len(w.held) > 0 && (!w.asking || others && w.IntN(4) == 0) {
		all = append(all, func() { w.release(w.IntN(len(w.held))) })
	}
	if others && !w.asking && w.IntN(8) == 0 {
		all = append(all, func() { w.parked = true; w.m.Park(true) })
	}
	if w.mayQuit && w.IntN(64) == 0 {
		all = append(all, func() { w.quit = true; w.m.Abandon() })
	}
	if others && w.IntN(32) == 0 {
		all = append(all, func() { w.active = 1 + w.IntN(len(w.workers)) })
	}
	return all
}

// resting reports whether no worker is at work.
func (w *world) resting() bool {
	return !slices.ContainsFunc(w.workers, func(k maker) bool { return k.state != "" })
}

func (w *world) arm(i int) {
	s := &w.slots[i]
	s.seq = w.armed
	clear(s.good)
	clear(s.over)
	w.pending = append(w.pending, w.cfg.Rows)
	w.m.Armed(s.seq, i)
	w.armed++
}

func (w *world) take(i int) {
	k := &w.workers[i]
	var s int64
	if len(w.again) > 0 {
		slices.Sort(w.again)
		s, w.again = w.again[0], w.again[1:]
	} else {
		s = w.ticket
		w.ticket++
	}
	if s >= w.count { // void
		w.rowDone(s)
		return
	}
	_, read := w.kept[s]
	k.state, k.sample, k.step, k.err = "begin", s, 0, false
	w.m.Begin(i, s, read)
}

// deliver is the sequence at work.
func (w *world) deliver(i int) {
	k := &w.workers[i]
	w.read++
	w.free(&k.record)
	k.state, k.need = "delivering", w.samples[k.sample].read
	w.m.Want(i, k.need, k.scratch())
}

// make goes on to the next buffer, or to the end.
func (w *world) make(i int) {
	k := &w.workers[i]
	s := w.samples[k.sample]
	if k.step == len(s.buffers) {
		k.state, k.err = "end", k.err || s.broken
		return
	}
	n := s.buffers[k.step]
	if n <= k.held[k.step] && (k.step > 0 || n == k.held[0]) {
		k.step++
		return
	}
	w.m.Gave(k.held[k.step])
	k.held[k.step] = 0
	if n == 0 {
		k.step++
		return
	}
	k.state, k.need = "want", n
	w.m.Want(i, n, k.scratch())
}

func (w *world) end(i int) {
	k := &w.workers[i]
	s := k.sample
	if !k.err && w.samples[s].ragged {
		row := w.rowOf(s)
		*row, k.held[0] = k.held[0], *row
	}
	slot := w.slot(s / int64(w.cfg.Rows))
	good := !k.err
	end := w.m.End(i, good, k.scratch(), *w.rowOf(s) > 0)
	k.state = ""
	slot.good[s%int64(w.cfg.Rows)] = good && end == 0
	slot.over[s%int64(w.cfg.Rows)] = end != GiveUp
	w.carry() // before the row counts as done, as under the owner's lock
	w.rowDone(s)
}

func (w *world) rowDone(s int64) {
	b := s / int64(w.cfg.Rows)
	if w.pending[b]--; w.pending[b] == 0 {
		w.finish = append(w.finish, b)
	}
}

func (w *world) rowsDone(i int) {
	b := w.finish[i]
	w.finish = slices.Delete(w.finish, i, i+1)
	w.m.RowsDone(b)
}

func (w *world) arrive(i int) {
	w.ready = append(w.ready, w.lent[i])
	slices.Sort(w.ready)
	w.lent = slices.Delete(w.lent, i, i+1)
}

func (w *world) release(i int) {
	s := w.slot(w.held[i])
	w.held = slices.Delete(w.held, i, i+1)
	s.seq = -1
	w.m.Returned(slices.IndexFunc(w.slots, func(o slot) bool { return &o.rows[0] == &s.rows[0] }))
}

// carry does what the machine says.
func (w *world) carry() {
	for a, ok := w.m.Next(); ok; a, ok = w.m.Next() {
		w.do(a)
	}
	if w.m.Used() != w.bytes() {
		panic(fmt.Sprintf("the machine counts %d bytes, there are %d", w.m.Used(), w.bytes()))
	}
}

func (w *world) do(a Act) {
	k := &w.workers[a.Worker]
	w.placed(a)
	switch a.Kind {
	case Go:
		w.granted(a.Worker)
	case GiveUp:
		w.gaveUp++
		if k.state == "begin" {
			k.state = ""
			w.rowDone(k.sample) // the ticket; Again has brought another one
			return
		}
		w.refuse(k)
	case Refuse, Leave:
		w.refused(a)
		w.refuse(k)
	case Keep:
		if _, ok := w.kept[a.Sample]; !ok {
			w.kept[a.Sample], k.record = k.record, 0
		}
	case FreeScratch:
		if k.state != "" && k.state != "begin" && k.state != "end" {
			panic(fmt.Sprint("the scratch of a worker is freed that is at work: ", k.state))
		}
		w.m.Gave(k.scratch())
		k.held, k.record = [3]int64{}, 0
	case FreeRow:
		w.free(w.rowOf(a.Sample))
	case FreeBatch:
		s := &w.slots[a.Slot]
		if s.seq >= 0 {
			panic("the rows of a batch are freed that somebody has")
		}
		for i := range s.rows {
			w.free(&s.rows[i])
		}
	case Again:
		b := a.Sample / int64(w.cfg.Rows)
		w.slot(b).good[a.Sample%int64(w.cfg.Rows)], w.slot(b).over[a.Sample%int64(w.cfg.Rows)] = false, false
		w.again = append(w.again, a.Sample)
		w.pending[b]++
		w.remade++
		w.m.Remade(a.Sample, w.pending[b] == 1)
	case Complete:
		w.completed(a)
	}
}

// placed checks that an act names the slot of the batch that it is about.
func (w *world) placed(a Act) {
	batch := a.Batch
	switch a.Kind {
	case Keep, FreeRow, Again:
		batch = a.Sample / int64(w.cfg.Rows)
	case Complete:
	default:
		return
	}
	if s := w.slots[a.Slot]; s.seq != batch {
		panic(fmt.Sprintf("slot %d has batch %d; the machine says it has %d", a.Slot, s.seq, batch))
	}
}

func (w *world) free(n *int64) {
	w.m.Gave(*n)
	*n = 0
}

// granted goes on with what a worker waited for.
func (w *world) granted(i int) {
	k := &w.workers[i]
	switch k.state {
	case "begin":
		k.state = "make"
		if kept, ok := w.kept[k.sample]; ok {
			w.free(&k.record)
			k.record = kept
			delete(w.kept, k.sample)
		} else if w.cfg.Sequence {
			k.state = "read"
		}
	case "delivering":
		k.state, k.record = "admit", k.need
		w.m.Admit(i)
	case "want":
		k.held[k.step], k.state = k.need, "make"
		k.step++
		if w.m.Used() > w.m.limit {
			panic("memory was granted beyond the budget")
		}
	case "admit":
		k.state = "make"
	}
}
