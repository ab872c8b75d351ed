package executor

import "sync/atomic"

// A node that waits for more than one edge has a word per iteration:
//
//	bits  0–15  pending: edges that have not arrived
//	bits 16–30  dead: how many of the arrived ones were dead
//	bit  31     claimed: a live value has been promised to a Merge
//
// Every arrival changes the word by one atomic operation, so exactly one of
// them sees the last pending edge go, whatever the order.
//
// The pending count of a Merge starts at 1 + 2 × its control edges. Bit 0 goes
// with the first live value and each control edge takes 2: at 0 the Merge is
// alive, and at 1, all controls being there, it is dead if all its inputs
// are. Those are its inputs without back edges: a NextIteration sends
// nothing dead, and nothing at all in iteration 0, so a loop's Merge is dead
// as soon as its Enter is.
const (
	pendingMask = 1<<16 - 1
	deadOne     = 1 << 16
	deadShift   = 16
	deadMask    = 1<<15 - 1
	claimed     = 1 << 31

	arriveLive uint32 = 1<<32 - 1   // pending − 1
	arriveDead uint32 = deadOne - 1 // pending − 1, dead + 1
	mergeCtrl  uint32 = 1<<32 - 2   // pending − 2
)

// arriveMerge takes note of what comes along e and reports whether the Merge is
// ready, and dead.
func (s *session) arriveMerge(e *edge, it *iteration, v *Value, dead bool) (ready, isDead bool) {
	w := &it.counts[e.count]
	deadAt := uint32(s.items[e.dst].arg)
	var now uint32
	switch {
	case e.slot < 0:
		now = atomic.AddUint32(w, mergeCtrl)
		if now&pendingMask == 0 {
			return true, false
		}
	case dead:
		now = atomic.AddUint32(w, deadOne)
	default:
		if atomic.OrUint32(w, claimed)&claimed != 0 {
			s.fail(it, &s.items[e.dst], ErrTwoValues)
			return false, false
		}
		// Nobody reads or writes the slots before bit 0 goes.
		it.in[e.slot] = s.take(e, v)
		it.in[e.slot+1] = Int(int64(e.port))
		return atomic.AndUint32(w, ^uint32(1))&pendingMask == 1, false
	}
	return now&pendingMask == 1 && now>>deadShift&deadMask == deadAt, true
}

// take returns what e carries away from its output: the value itself if e is
// the last edge, else a copy with a reference of its own.
func (s *session) take(e *edge, v *Value) Value {
	got := *v
	if e.flags&edgeLast != 0 {
		v.ref = nil
	} else {
		got.retain()
	}
	return got
}
