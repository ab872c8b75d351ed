package executor

import (
	"runtime"
	"time"

	"github.com/planktonml/plankton/streams"
)

// tagged is a node that is ready to run: TensorFlow's TaggedNode.
type tagged struct {
	iter     *iteration
	node     int32
	dead     bool
	admitted bool // its limiter has let it run
}

// session is one goroutine at work on one step: it runs a node, all cheap nodes
// that become ready by it, and so on until nothing is left. What it does with these nodes
// needs no lock, and no counter that other goroutines see.
//
// A session holds one unit of step.inflight. In delta it counts the nodes that have become
// ready in the iteration that it is in, less those that it has run. It adds delta to
// iteration.live when it leaves the iteration. Until then what it holds of live does not
// change, and is at least 1.
type session struct {
	st    *step
	alone bool // no other session of the step runs at the same time
	items []nodeItem
	edges []edge

	cur   *iteration
	delta int64

	ready     queue
	expensive []tagged // expensive nodes that the last node made ready

	call     Call    // of kernels that are not async
	now      *Call   // of the kernel that runs
	out      []Value // scratch: an array on the stack would escape through the kernel
	inKernel bool
	stops    bool // a failure has to stop the step
	woke     bool // a consumer has been woken
	foreign  bool // this goroutine belongs to a kernel, which has called Done
	borrowed bool // this goroutine is the program's, in a call that must return soon: what may take long goes to others
	tick     uint32
	context  streams.Context // for work of streams that is done here
}

// run works until nothing is left, and ends the session. When a kernel ends the
// goroutine, what is left is done on the way out, where another may do the same.
func (s *session) run() {
	over := false
	defer func() {
		if !over {
			s.run()
		}
	}()
	for !s.drain() {
	}
	over = true
	s.end()
}

// end gives up the session and its unit of inflight.
func (s *session) end() {
	st, yield := s.st, s.woke && s.foreign
	st.x.keepSession(s)
	if st.inflight.Add(-1) == 0 {
		st.quiesce()
	}
	if yield {
		// The consumer is next in the run queue of this thread, which the
		// kernel's goroutine could keep for milliseconds.
		runtime.Gosched()
	}
}

// startRoot queues the nodes that wait for nothing but the start of the root
// iteration it.
func (s *session) startRoot(it *iteration) {
	s.cur = it
	p := s.st.x.prog
	if it.index == 0 {
		for _, node := range p.ordered {
			s.arriveToken(it, node)
		}
	}
	for _, node := range p.roots {
		item := &s.items[node]
		if item.count < 0 {
			s.queue(tagged{iter: it, node: node}, item.mayBeShared())
			s.delta++
		} else if s.arriveControl(it, node) { // else its order token is missing
			s.delta++
		}
	}
	s.delta--
}

// endRoot is called when a root iteration has no node left.
func (s *session) endRoot(it *iteration) {
	st := s.st
	if st.loop == nil {
		st.ended.Store(true)
		return
	}
	woke, stop := st.loop.finished(it)
	s.woke = s.woke || woke
	s.stops = s.stops || stop
}

// drain processes ready nodes until there are none. It returns false if a
// kernel panicked; that node has then failed.
func (s *session) drain() (finished bool) {
	defer func() {
		if finished || !s.inKernel {
			return
		}
		s.inKernel = false
		s.failCall(s.now, notReturned(recover()))
	}()
	for {
		if len(s.expensive) > 0 {
			s.distribute()
		}
		if !s.ready.empty() {
			s.process(s.ready.pop())
			continue
		}
		if s.stops {
			s.stops = false
			s.st.life.stop()
		}
		if s.cur == nil {
			return true
		}
		s.leave()
	}
}

// leave hands the count of the current iteration over, and ends the iteration
// if that was the last of it.
func (s *session) leave() {
	it, delta := s.cur, s.delta
	s.cur, s.delta = nil, 0
	if delta != 0 && it.live.Add(delta) == 0 {
		s.endIteration(it)
	}
}

// queue keeps a ready node: an expensive one is for others, if there are any.
func (s *session) queue(t tagged, expensive bool) {
	if expensive && !t.dead && s.st.helpers > 0 && (s.borrowed || s.st.x.costs.expensive(t.node)) {
		s.expensive = append(s.expensive, t)
		return
	}
	s.ready.push(t)
}

// distribute gives the expensive nodes to other goroutines. It keeps the last one if there
// is nothing else to do here and this goroutine may be kept.
func (s *session) distribute() {
	n := len(s.expensive)
	if s.ready.empty() && !s.borrowed {
		n--
		s.ready.push(s.expensive[n])
	}
	for _, t := range s.expensive[:n] {
		if t.iter == s.cur { // delta may count it; in the others live does, one by one
			t.iter.live.Add(1)
			s.delta--
		}
	}
	s.st.share(s.expensive[:n])
	clear(s.expensive)
	s.expensive = s.expensive[:0]
}

// process runs one node.
func (s *session) process(t tagged) {
	it := t.iter
	if it != s.cur {
		if s.cur != nil {
			s.leave()
		}
		s.cur = it
	}
	s.delta--
	item := &s.items[t.node]
	if it.root.index >= s.st.life.failedAt.Load() {
		s.leaveLimiter(item, t.admitted)
		return
	}
	if s.st.lanes != nil && !t.dead && item.flags&nodeStream == 0 && s.park(item, t) {
		return
	}
	if item.kind == kindKernel || item.flags&nodeTransfer != 0 {
		s.kernel(item, t)
		return
	}
	s.control(item, t)
}

// kernel runs the kernel of a live node. A dead node only passes its death on; but a
// transfer runs even if it is dead. No limiter holds transfers up, since what they wait for
// may wait for the limiter.
func (s *session) kernel(item *nodeItem, t tagged) {
	it := t.iter
	if t.dead && item.flags&nodeTransfer == 0 {
		s.clearInputs(item, it)
		s.propagate(item, it, nil, true)
		s.passToken(item, it, nodeInOrder|nodeSerial)
		return
	}
	limited := s.st.limiters != nil && item.flags&(nodeTransfer|nodeUnlimited) == 0
	if limited && !t.admitted && !s.st.admit(t) {
		return
	}
	switch {
	case item.flags&nodeStream != 0:
		s.issue(item, t)
		return
	case item.flags&nodeAsync != 0:
		s.start(item, t)
		return
	}
	c := &s.call
	c.item, c.iter, c.dead, c.limited = item, it, t.dead, limited
	c.in = it.in[item.in : item.in+item.numIn]
	c.out = s.out[:item.outs]
	if err := s.invoke(item, c); err != nil {
		s.failCall(c, err)
		return
	}
	s.complete(item, c, nodeInOrder|nodeSerial)
}

// invoke calls a kernel, and measures it if it may be expensive.
func (s *session) invoke(item *nodeItem, c *Call) error {
	s.now, s.inKernel = c, true
	if item.flags&nodeExpensive == 0 || !s.st.x.costs.due(s, item.id) {
		err := item.run(s.st.ctx, c)
		s.inKernel = false
		return err
	}
	start := time.Now()
	err := item.run(s.st.ctx, c)
	s.st.x.costs.add(item.id, time.Since(start))
	s.inKernel = false
	return err
}

// start starts an async node. Until its kernel returns the node belongs to this
// session; if Done has been called by then, the session also finishes it.
func (s *session) start(item *nodeItem, t tagged) {
	it := t.iter
	c := s.st.newCall(item, t)
	if err := s.invoke(item, c); err != nil {
		s.failCall(c, err)
		s.st.keepCall(c)
		return
	}
	s.passToken(item, it, nodeInOrder)
	it.live.Add(1)
	s.st.inflight.Add(1)
	if !c.state.CompareAndSwap(callStarting, callParked) {
		s.st.inflight.Add(-1)
		it.live.Add(-1)
		s.finishCall(c)
	}
}

// finishCall goes on where an async node has been finished.
func (s *session) finishCall(c *Call) {
	s.stops = s.stops || c.stops.Load()
	if c.iter.root.index >= s.st.life.failedAt.Load() {
		s.giveUp(c)
	} else {
		s.complete(c.item, c, nodeSerial)
	}
	s.st.keepCall(c)
}

// complete sends on what a kernel has computed. tokens are the orders whose
// token is due now.
func (s *session) complete(item *nodeItem, c *Call, tokens nodeFlags) {
	s.clearInputs(item, c.iter)
	if !s.propagate(item, c.iter, c.out, false) && item.flags&nodeTransfer == 0 {
		s.fail(c.iter, item, ErrMissingOutput)
	}
	s.passToken(item, c.iter, tokens)
	s.giveUp(c)
}

// fail notes that a node has failed. The step is stopped later, between two nodes, where
// this goroutine holds no lock.
func (s *session) fail(it *iteration, item *nodeItem, err error) {
	if s.st.fail(it, item, err) {
		s.stops = true
	}
}

// failCall ends a call whose kernel has failed.
func (s *session) failCall(c *Call, err error) {
	s.fail(c.iter, c.item, err)
	s.stops = s.stops || c.stops.Load()
	s.giveUp(c)
}

// giveUp drops the outputs that nobody took, and lets the next node run that waits for the
// limiter.
func (s *session) giveUp(c *Call) {
	for i := range c.out {
		if c.out[i].ref != nil {
			c.out[i].clear()
		}
	}
	s.leaveLimiter(c.item, c.limited)
}

func (s *session) clearInputs(item *nodeItem, it *iteration) {
	in := it.in[item.in : item.in+item.numIn]
	for i := range in {
		if in[i].ref != nil {
			in[i].clear()
		}
	}
}

// passToken lets the node's call in the next root iteration go on.
func (s *session) passToken(item *nodeItem, it *iteration, orders nodeFlags) {
	if item.flags&orders != 0 && it.next != nil {
		s.arriveToken(it.next, item.id)
	}
}
