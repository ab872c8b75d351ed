package executor

import (
	"fmt"
	"sync/atomic"
)

// frame is one instance of a loop: it is created by the first Enter that leads
// into it from one iteration of the frame around it. The root frame has no
// parent.
type frame struct {
	st     *step
	info   *frameInfo
	id     int32
	parent *iteration

	mu         frameMutex
	oldest     *iteration
	newest     *iteration
	alive      int
	deferred   []carried // values for the iteration after newest, which may not start yet
	invariants []carried // of constant Enters, for the iterations to come
	exited     []bool    // by ordinal: the Exit was live
	free       []*iteration
}

// carried is what a NextIteration or a constant Enter hands to later
// iterations.
type carried struct {
	item *nodeItem
	v    Value
	dead bool
}

// iteration is one pass through a frame: the input slots and the counts of its
// nodes.
type iteration struct {
	index int64
	root  *iteration // the iteration of the root frame that it belongs to
	frame *frame
	next  *iteration

	// live counts what keeps the iteration: its nodes that are ready or running, its
	// child frames, the iteration before it, in iteration 0 the Enters that are still to
	// come, and in the root frame what armRoot names. Whoever takes live to 0 ends the
	// iteration.
	live atomic.Int64

	counts   []uint32
	in       []Value
	children []*frame

	// Of the root frame only:
	outs     []Value
	slot     int
	holds    int  // under Loop.mu
	finished bool // under Loop.mu
}

func newIteration(f *frame) *iteration {
	it := &iteration{
		frame:    f,
		counts:   make([]uint32, len(f.info.counts)),
		in:       make([]Value, f.info.slots),
		children: make([]*frame, f.info.children),
	}
	it.root = it
	if f.parent != nil {
		it.root = f.parent.root
	}
	return it
}

// arm makes it ready to be iteration index of its frame.
func (it *iteration) arm(index, live int64) {
	it.index = index
	it.live.Store(live)
	copy(it.counts, it.frame.info.counts)
}

// armRoot is arm for the root frame. Of the units of live, one stands for the
// start, and one for each order token.
func (it *iteration) armRoot(index int64) {
	it.arm(index, 1+int64(len(it.frame.st.x.prog.ordered)))
}

// reset gives up what nodes that never ran have left.
func (it *iteration) reset() {
	it.next = nil
	for i := range it.in {
		if it.in[i].ref != nil {
			it.in[i].clear()
		}
	}
}

// path names the instance of the frame: the loops around it, each with its
// iteration.
func (f *frame) path() string {
	switch {
	case f.parent == nil:
		return ""
	case f.parent.frame.parent == nil:
		return f.info.name
	}
	return fmt.Sprintf("%s@%d/%s", f.parent.frame.path(), f.parent.index, f.info.name)
}

// newFrame takes a frame for the children of parent from the step's stock.
func (st *step) newFrame(id int32, parent *iteration) *frame {
	st.mu.Lock()
	var f *frame
	if stock := st.frames[id]; len(stock) > 0 {
		f = stock[len(stock)-1]
		st.frames[id] = stock[:len(stock)-1]
	} else {
		info := &st.x.prog.frames[id]
		f = &frame{st: st, info: info, id: id, exited: make([]bool, len(info.exits))}
	}
	st.mu.Unlock()
	f.parent = parent
	clear(f.exited)
	f.addIteration(0, int64(len(f.info.enters)))
	return f
}

// addIteration appends an iteration. f.mu is held, or f is new.
func (f *frame) addIteration(index, live int64) *iteration {
	var it *iteration
	if n := len(f.free); n > 0 {
		it = f.free[n-1]
		f.free = f.free[:n-1]
		it.root = f.parent.root
	} else {
		it = newIteration(f)
	}
	if f.oldest == nil {
		f.oldest = it
	} else {
		f.newest.next = it
	}
	it.arm(index, live)
	f.newest = it
	f.alive++
	return it
}

// enter brings a value into the frame that item, an Enter of iteration it,
// leads to.
func (s *session) enter(item *nodeItem, it *iteration, v Value, dead bool) {
	info := &s.st.x.prog.frames[item.arg]
	it.frame.mu.Lock()
	f := it.children[info.ordinal]
	if f == nil {
		f = s.st.newFrame(item.arg, it)
		it.children[info.ordinal] = f
		it.live.Add(1) // not s.delta: another goroutine may end the frame before the session hands delta over
	}
	it.frame.mu.Unlock()

	f.mu.Lock()
	first := f.oldest // iteration 0: it lasts until all Enters have come
	if item.flags&nodeConstant == 0 {
		s.deliver(carried{item, v, dead}, first)
	} else {
		c := carried{item, v, dead}
		f.invariants = append(f.invariants, c)
		for i := first; i != nil; i = i.next {
			s.deliverCopy(c, i)
		}
	}
	f.mu.Unlock()
	if first.live.Add(-1) == 0 {
		s.endIteration(first)
	}
}

// deliver sends the value of c along the edges of its node, into iteration it.
func (s *session) deliver(c carried, it *iteration) {
	out := [1]Value{c.v}
	s.propagate(c.item, it, out[:], c.dead)
	out[0].clear()
}

// deliverCopy is deliver for a value that is needed again.
func (s *session) deliverCopy(c carried, it *iteration) {
	c.v.retain()
	s.deliver(c, it)
}

// nextIteration hands v from iteration it to the one after it. A frame that
// has as many iterations as it may keeps the value until the oldest one ends.
func (s *session) nextIteration(item *nodeItem, it *iteration, v Value) {
	f := it.frame
	f.mu.Lock()
	defer f.mu.Unlock()
	c := carried{item: item, v: v}
	switch {
	case it.next != nil:
		s.deliver(c, it.next)
	case f.alive >= f.info.parallel:
		f.deferred = append(f.deferred, c)
	default:
		s.startIteration(f)
		s.deliver(c, it.next)
	}
}

// startIteration adds an iteration to f, which lasts until the one before it has
// ended, and delivers what waits for it. f.mu is held.
func (s *session) startIteration(f *frame) {
	it := f.addIteration(f.newest.index+1, 1)
	for _, c := range f.deferred {
		s.deliver(c, it)
	}
	clear(f.deferred)
	f.deferred = f.deferred[:0]
	for _, c := range f.invariants {
		s.deliverCopy(c, it)
	}
}

// endIteration deletes an iteration that nothing keeps any more, and the ones
// after it that only waited for that; with the last of them, the frame.
func (s *session) endIteration(it *iteration) {
	if it.frame.parent == nil {
		s.endRoot(it)
		return
	}
	for f := it.frame; ; {
		f.mu.Lock()
		f.oldest = it.next
		it.reset()
		f.free = append(f.free, it)
		f.alive--
		if len(f.deferred) > 0 {
			s.startIteration(f)
		}
		next := f.oldest
		f.mu.Unlock()
		if next == nil {
			s.endFrame(f)
			return
		}
		if next.live.Add(-1) != 0 {
			return
		}
		it = next
	}
}

// endFrame deletes a frame. An Exit that was never live is dead.
func (s *session) endFrame(f *frame) {
	outer := f.parent
	for i, node := range f.info.exits {
		if !f.exited[i] {
			s.propagate(&s.items[node], outer, nil, true)
		}
	}
	if f.info.ordered && outer.next != nil {
		for _, node := range f.info.enters {
			s.arriveToken(outer.next, node)
		}
	}
	outer.children[f.info.ordinal] = nil
	s.st.keepFrame(f)
	if outer == s.cur {
		s.delta--
	} else if outer.live.Add(-1) == 0 {
		s.endIteration(outer)
	}
}

// keepFrame puts a frame without iterations into the step's stock.
func (st *step) keepFrame(f *frame) {
	for i := range f.invariants {
		f.invariants[i].v.clear()
	}
	clear(f.invariants)
	f.invariants = f.invariants[:0]
	f.oldest, f.newest, f.parent = nil, nil, nil
	st.mu.Lock()
	st.frames[f.id] = append(st.frames[f.id], f)
	st.mu.Unlock()
}

// abandon gives up all that a failed step has left in the frame and in those below it.
func (it *iteration) abandon() {
	for i, f := range it.children {
		if f == nil {
			continue
		}
		for inner := f.oldest; inner != nil; {
			next := inner.next
			inner.abandon()
			f.free = append(f.free, inner)
			inner = next
		}
		for j := range f.deferred {
			f.deferred[j].v.clear()
		}
		clear(f.deferred)
		f.deferred, f.alive = f.deferred[:0], 0
		it.children[i] = nil
		f.st.keepFrame(f)
	}
	it.reset()
}
