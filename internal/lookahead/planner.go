package lookahead

import (
	"iter"

	"github.com/planktonml/plankton/pipeline/datum"
)

// rowBytes is about what a row takes beside its bytes.
const rowBytes = 128

// planner is what the planning goroutine knows.
type planner struct {
	r      *Run
	most   int64 // bytes of a request
	w      window
	bytes  int64 // of w
	group  int64 // of the row added last
	epoch  int64
	first  int64 // the place at which epoch begins
	ranges []Range
}

// plan is the planning goroutine. An order of the program's own may panic here; it panics again
// where the run asks for its batch.
func (r *Run) plan(coming iter.Seq[datum.Coming]) {
	defer r.end()
	defer func() { _ = recover() }()
	// Little memory makes small requests, so that there is room for several.
	p := planner{r: r, most: min(requestBytes, r.o.Bytes/8), epoch: -1}
	for c := range coming {
		if r.ctx.Err() != nil || !p.add(c) {
			return
		}
	}
	p.flush()
}

// add plans a sample; false means that the run is over.
func (p *planner) add(c datum.Coming) bool {
	if c.Epoch != p.epoch {
		if !p.flush() || p.epoch >= 0 && !p.r.reach(p.first) {
			return false
		}
		p.epoch, p.first = c.Epoch, c.Place
	}
	if c.Index == datum.Elsewhere {
		return true
	}
	p.ranges = p.r.o.Samples.AppendRanges(p.ranges[:0], c.Index)
	n := int64(rowBytes)
	for i := range p.ranges {
		n += p.ranges[i].Length
	}
	limit := p.r.o.Bytes / 4
	if c.Group != datum.NoGroup {
		limit = p.r.o.Bytes + p.r.o.Bytes/16 // with what lies between ranges
	}
	if (c.Group != p.group || p.bytes+n > limit) && !p.flush() {
		return false
	}
	p.group = c.Group
	p.w.add(c.Place, c.Index, p.ranges)
	p.bytes += n
	return true
}

// flush sends the window; false means that the run is over.
func (p *planner) flush() bool {
	if len(p.w.rows) == 0 {
		return true
	}
	w := p.w
	p.w, p.bytes = window{}, 0
	bound := p.r.o.Bytes // a group is in few objects, and in them it is all
	if p.group == datum.NoGroup {
		bound /= 2
	}
	w.join(p.most, bound)
	return p.r.send(&w)
}

// reach waits until reads have come to a place; false means that the run is over. So no more
// than the rest of an epoch and the next one are fetched, however small they are.
func (r *Run) reach(place int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && r.top < place {
		r.far = true
		r.wake()
		r.room.Wait()
	}
	r.far = false
	return !r.ended
}

// send makes a window known to reads, and sends its requests as there is memory for them and
// not too many are in flight. False means that the run is over.
func (r *Run) send(w *window) bool {
	r.publish(w)
	for _, q := range w.requests {
		wanted, ok := r.ready(q)
		if !ok {
			return false
		}
		if !wanted {
			continue
		}
		select {
		case r.slots <- struct{}{}:
		case <-r.ctx.Done():
			return false
		}
		r.all.Go(func() { r.fetch(q) })
	}
	return true
}

// publish makes a window known to reads.
func (r *Run) publish(w *window) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.planned = w.last() + 1
	for i := range w.pieces {
		p := &w.pieces[i]
		if _, ok := r.skip[w.rows[p.row].place]; ok {
			r.drop(w, p)
		}
	}
	for place := range r.skip {
		if place < r.planned {
			delete(r.skip, place)
		}
	}
	if w.left > 0 {
		r.windows = append(r.windows, w)
	}
	r.wake()
}

// wake has reads that wait for the planner look again; mu is held.
func (r *Run) wake() {
	if r.waiting > 0 {
		r.changed.Broadcast()
	}
}

// ready waits for the memory of a request. It is not wanted where no read will come for it; ok is
// false where the run is over.
func (r *Run) ready(q *request) (wanted, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.arena.fits(q.Length) {
		r.refuse(q)
		return false, !r.ended
	}
	for !r.ended && q.left > 0 {
		var room bool
		if q.begin, room = r.arena.take(q.Length); room {
			q.mem = r.arena.mem[q.begin : q.begin+q.Length : q.begin+q.Length]
			r.wake()
			return true, true
		}
		r.short = true
		r.wake()
		r.room.Wait()
	}
	r.short = false
	return false, !r.ended
}

// refuse leaves out a request that is larger than the memory; mu is held. Reads ask for what is
// in it themselves.
func (r *Run) refuse(q *request) {
	for _, w := range r.windows {
		for i := range w.pieces {
			if p := &w.pieces[i]; p.request == q && !p.taken {
				r.drop(w, p)
			}
		}
	}
	r.wake()
}
