package executor

import "sync/atomic"

// propagate sends the outputs of item along its edges into iteration it, and
// queues the nodes that become ready. If the node is dead, or an output was left empty, a
// dead value arrives. It reports false if a kernel left an output empty that
// somebody reads.
//
// A node is ready when a value has arrived on every edge, and dead if any of these is dead.
// Merge and ControlTrigger have rules of their own.
func (s *session) propagate(item *nodeItem, it *iteration, out []Value, dead bool) bool {
	return s.send(s.edges[item.edges:item.edges+item.numEd], it, out, dead)
}

// send is propagate for some of the edges.
func (s *session) send(edges []edge, it *iteration, out []Value, dead bool) bool {
	ready := int64(0)
	complete := true
	for i := range edges {
		e := &edges[i]
		d := dead
		var v *Value
		if e.slot >= 0 && !dead {
			if v = &out[e.src]; v.ref == nil {
				d, complete = true, false
			}
		}
		if e.flags&edgeMerge != 0 {
			var ok bool
			if ok, d = s.arriveMerge(e, it, v, d); !ok {
				continue
			}
		} else {
			if e.slot >= 0 && !d {
				it.in[e.slot] = s.take(e, v)
			}
			if e.flags&edgeOnly == 0 {
				delta := arriveLive
				if d {
					delta = arriveDead
				}
				var w uint32
				if s.alone {
					w = it.counts[e.count] + delta
					it.counts[e.count] = w
				} else {
					w = atomic.AddUint32(&it.counts[e.count], delta)
				}
				if w&pendingMask != 0 {
					continue
				}
				d = w>>deadShift&deadMask != 0
			}
			d = d && e.flags&edgeTrigger == 0
		}
		ready++
		s.queue(tagged{iter: it, node: e.dst, dead: d}, e.flags&edgeExpensive != 0)
	}
	s.count(it, ready)
	return complete
}

// count takes note of n more ready nodes in iteration it.
func (s *session) count(it *iteration, n int64) {
	if it == s.cur {
		s.delta += n
	} else if n != 0 {
		it.live.Add(n)
	}
}

// arriveToken tells a node of the root frame that its call in the iteration before is done.
// A token that is still to come is a unit of live; if the token makes the node ready, the
// unit becomes the node's.
func (s *session) arriveToken(it *iteration, node int32) {
	if s.arriveControl(it, node) {
		return
	}
	if it == s.cur {
		s.delta--
	} else if it.live.Add(-1) == 0 {
		s.endIteration(it)
	}
}

// arriveControl notes that a live edge without a value has come to a node. If that makes the
// node ready, the node is queued; the caller counts it.
func (s *session) arriveControl(it *iteration, node int32) (ready bool) {
	item := &s.items[node]
	w := atomic.AddUint32(&it.counts[item.count], arriveLive)
	if w&pendingMask != 0 {
		return false
	}
	s.queue(tagged{iter: it, node: node, dead: w>>deadShift&deadMask != 0}, item.mayBeShared())
	return true
}
