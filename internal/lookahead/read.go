package lookahead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planktonml/plankton/storage"
)

// Read fills dst with a range of the sample that is read at a place, if that was fetched. Where
// held is false it was not, and the caller asks the store.
func (r *Run) Read(ctx context.Context, place, sample, off int64, dst []byte) (held bool, err error) {
	w, p := r.claim(ctx, place, sample, off, int64(len(dst)))
	if p == nil {
		return false, nil
	}
	q := p.request
	err = r.await(ctx, q)
	if err == nil && q.err == nil {
		copy(dst, q.mem[p.Offset-q.Offset:][:p.Length])
	}
	r.mu.Lock()
	r.release(q)
	r.forget(w)
	if held = err != nil || q.err == nil; held {
		r.counts.Hits++
	} else {
		r.counts.Misses++
	}
	if r.reading--; r.reading == 0 {
		r.idle.Signal()
	}
	r.mu.Unlock()
	if err == nil && errors.Is(q.err, storage.ErrUnavailable) { // it is for all samples
		return true, fmt.Errorf("%s: %w", r.o.Samples.Object(q.Object), q.err)
	}
	return held, err
}

// claim takes the piece of a range; nil where there is none, for whatever reason.
func (r *Run) claim(ctx context.Context, place, sample, off, length int64) (*window, *piece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reached(place)
	for {
		w, p := r.find(place, sample, off, length)
		switch {
		case place >= r.planned && r.stuck():
			if !r.ended {
				r.skip[place] = struct{}{}
			}
			fallthrough
		case place < r.planned && p == nil:
			r.counts.Misses++
			return nil, nil
		case p != nil && p.request.mem != nil:
			r.reading++
			p.taken = true
			w.left--
			return w, p
		case p != nil && r.stuck():
			r.drop(w, p)
			r.forget(w)
			r.counts.Misses++
			return nil, nil
		}
		if !r.hold(ctx) {
			return nil, nil
		}
	}
}

// reached notes the highest place that reads have come to; mu is held.
func (r *Run) reached(place int64) {
	if place <= r.top {
		return
	}
	if r.top = place; r.far {
		r.far = false
		r.room.Signal()
	}
}

// stuck reports whether the planner may not get on before reads do; mu is held.
func (r *Run) stuck() bool { return r.short || r.far || r.ended }

// hold waits for the planner, which is at work; false means that ctx ends first. mu is held.
func (r *Run) hold(ctx context.Context) bool {
	defer r.waited(time.Now())
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		r.changed.Broadcast()
		r.mu.Unlock()
	})
	defer stop()
	r.waiting++
	r.changed.Wait()
	r.waiting--
	return ctx.Err() == nil
}

// await waits for a request that was sent.
func (r *Run) await(ctx context.Context, q *request) error {
	select {
	case <-q.done:
		return nil
	default:
	}
	began := time.Now()
	defer func() {
		r.mu.Lock()
		r.waited(began)
		r.mu.Unlock()
	}()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// find returns the piece of a range that nobody has taken, and its window; mu is held. A piece
// of another sample than the one that is read is none: the plan has changed.
func (r *Run) find(place, sample, off, length int64) (*window, *piece) {
	w := r.windowOf(place)
	if w == nil {
		return nil, nil
	}
	planned, pieces := w.of(place)
	if planned != sample {
		return nil, nil
	}
	for i := range pieces {
		if p := &pieces[i]; !p.taken && p.Offset == off && p.Length == length {
			return w, p
		}
	}
	return nil, nil
}

// windowOf returns the window of a place, nil where there is none; mu is held.
func (r *Run) windowOf(place int64) *window {
	i, _ := slices.BinarySearchFunc(r.windows, place, func(w *window, at int64) int { return cmp.Compare(w.last(), at) })
	if i == len(r.windows) {
		return nil
	}
	return r.windows[i]
}

// drop gives up a piece that nobody has taken; mu is held.
func (r *Run) drop(w *window, p *piece) {
	p.taken = true
	w.left--
	r.release(p.request)
}

// forget leaves out a window whose pieces were all taken; mu is held. Reads that have one keep
// what they need of it.
func (r *Run) forget(w *window) {
	if w.left > 0 {
		return
	}
	if i := slices.Index(r.windows, w); i >= 0 {
		r.windows = slices.Delete(r.windows, i, i+1)
	}
}

// Done says that the rows of the places from first to before end are not read any more.
func (r *Run) Done(first, end int64) {
	r.mu.Lock()
	r.reached(end - 1)
	for place := max(first, r.planned); place < end && !r.ended; place++ {
		r.skip[place] = struct{}{}
	}
	for i := 0; i < len(r.windows); i++ {
		w := r.windows[i]
		if w.rows[0].place >= end {
			break
		}
		if w.last() < first {
			continue
		}
		r.done(w, first, end)
		if r.forget(w); w.left == 0 {
			i--
		}
	}
	told := r.take()
	r.mu.Unlock()
	r.tell(told)
}

// done gives up the pieces of a window that are left of some places; mu is held.
func (r *Run) done(w *window, first, end int64) {
	at, _ := slices.BinarySearchFunc(w.rows, first, func(r row, at int64) int { return cmp.Compare(r.place, at) })
	for i := w.piecesFrom(int32(at)); i < len(w.pieces) && w.rows[w.pieces[i].row].place < end; i++ {
		if p := &w.pieces[i]; !p.taken {
			r.drop(w, p)
		}
	}
}
