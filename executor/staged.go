package executor

import (
	"context"
	"sync/atomic"

	"github.com/planktonml/plankton/streams"
)

// Cell is a number or a truth value that is computed on a stream. The kernel of a node with
// a stream sets its output to Ref(cell), and its work stores the value into the cell later.
// Whoever reads the output reads the value; a node of the host that does so runs when the
// work is finished. A Cell belongs to one call.
type Cell struct{ v Value }

// Store sets the value, once.
func (c *Cell) Store(v Value) { c.v = v }

// staged is an output of a node with a stream, on its way to the readers: a value whose
// contents are there when the stream has come to the mark. Control flow passes it on as it
// is. A kernel of a stream reads it behind the mark. A kernel of the host, a selector or a
// predicate waits for the mark.
type staged struct {
	v    Value
	mark *streams.Mark
	refs atomic.Int32
	held atomic.Bool // the producer is unfinished and has one of refs
}

// plain returns what v stands for: the value that is staged, or that of a cell.
func (v Value) plain() Value {
	switch r := v.ref.(type) {
	case *staged:
		return r.v.plain()
	case *Cell:
		return r.v
	}
	return v
}

// unstage replaces v, which has been reached, by what it stands for.
func (v *Value) unstage() {
	switch r := v.ref.(type) {
	case *staged:
		r.v.retain()
		*v = r.v.plain()
		r.release()
	case *Cell:
		*v = r.v
	}
}

func (s *staged) release() {
	if s.refs.Add(-1) == 0 {
		s.v.clear()
	}
}

// sole reports whether the caller's reference is the only one besides the
// producer's. The producer gives up held before its reference, so with held read
// last, a reference that has gone is never taken for the producer's once more.
func (s *staged) sole() bool {
	refs := s.refs.Load()
	if s.held.Load() {
		refs--
	}
	return refs == 1
}

// streamCall is the part of a Call that only a node with a stream needs.
type streamCall struct {
	issued []issued
	held   []*staged // outputs; their memory stays while the work is on its way
	err    error     // of the event
}

// issued is work on one of the devices of a node, by their order.
type issued struct {
	device int
	work   func(*streams.Context) error
}

// issue runs the kernel of a node with a stream, and puts the work that the kernel has
// issued on the stream. Nodes that only need to know that the work is issued go on at
// once; the node is finished when the stream has come to the end of the work. Without a
// device the work is done here and now.
func (s *session) issue(item *nodeItem, t tagged) {
	st := s.st
	c := st.newCall(item, t)
	err := s.invoke(item, c)
	if err == nil && st.lanes == nil {
		err = s.workInline(c)
	}
	if err != nil {
		s.failCall(c, err)
		st.keepCall(c)
		return
	}
	c.out = c.own[:item.outs+1]
	c.out[item.outs] = Bool(true) // for control edges to other nodes with a stream
	if st.lanes != nil {
		s.issueOn(st.lanes, item, c)
		return
	}
	s.complete(item, c, nodeInOrder|nodeSerial)
	st.keepCall(c)
}

// workInline does the work of a node with a stream on this goroutine.
func (s *session) workInline(c *Call) error {
	s.inKernel = true
	var err error
	for _, w := range c.issued {
		if err = w.work(&s.context); err != nil {
			break
		}
	}
	s.inKernel = false
	return err
}

func (s *session) issueOn(l *streams.Lanes, item *nodeItem, c *Call) {
	it, st := c.iter, s.st
	var few [4]*streams.Mark
	after := few[:0]
	for _, v := range it.in[item.in : item.in+item.numIn] {
		if in, ok := v.ref.(*staged); ok {
			after = append(after, in.mark)
		}
	}
	it.live.Add(1)
	st.inflight.Add(1)
	var m *streams.Mark
	if item.flags&nodeSeveral == 0 {
		m = l.Issue(int(item.id), after, c.work)
	} else {
		m = l.Issue(int(item.id), after, c.parts()...)
	}

	for i, v := range c.out {
		if v.ref == nil {
			continue
		}
		g := &staged{v: v, mark: m}
		g.refs.Store(2)
		g.held.Store(true)
		c.out[i] = Value{ref: g}
		c.held = append(c.held, g)
	}
	if !s.send(item.early(s.edges), it, c.out, false) {
		s.fail(it, item, ErrMissingOutput)
	}
	for i := range c.out {
		c.out[i].clear()
	}
	s.passToken(item, it, nodeInOrder|nodeSerial)
	m.Event().Then(func(err error) {
		c.err = err
		st.post(sharedWork{call: c})
	})
}

// parts returns what the streams of a node on several devices run.
func (c *Call) parts() []func(*streams.Context) error {
	parts := make([]func(*streams.Context) error, c.st.x.prog.devicesOf(c.item.id))
	for _, w := range c.issued {
		if parts[w.device] == nil {
			parts[w.device] = func(sc *streams.Context) error { return c.workOn(w.device, sc) }
		}
	}
	return parts
}

// work is what the stream of a node on one device runs.
func (c *Call) work(sc *streams.Context) error { return c.workOn(0, sc) }

// workOn is what a stream runs for a node. The executor keeps the failure to
// itself: one that stuck to the stream would spread to iterations that have
// nothing to do with it.
func (c *Call) workOn(device int, sc *streams.Context) error {
	if c.iter.root.index >= c.st.life.failedAt.Load() {
		return nil
	}
	returned := false
	defer func() {
		if !returned {
			c.noteFailure(notReturned(recover()))
		}
	}()
	for _, w := range c.issued {
		if w.device != device {
			continue
		}
		if err := w.work(sc); err != nil {
			c.noteFailure(err)
			break
		}
	}
	returned = true
	return nil
}

// finishStream goes on where a stream has finished a node.
func (s *session) finishStream(c *Call) {
	it, item := c.iter, c.item
	s.cur, s.delta = it, -1
	s.stops = s.stops || c.stops.Load()
	if c.err != nil {
		s.fail(it, item, c.err)
	}
	for i, g := range c.held {
		g.held.Store(false)
		g.release()
		c.held[i] = nil
	}
	s.clearInputs(item, it)
	if it.root.index < s.st.life.failedAt.Load() {
		s.send(item.late(s.edges), it, nil, false)
	}
	s.giveUp(c)
	s.st.keepCall(c)
}

// park keeps a node of the host until the streams have written what it reads, and nothing
// else. No goroutine waits meanwhile. A node whose input was never written, because a stream
// has failed, is dropped: the node that was to write the input reports the failure.
func (s *session) park(item *nodeItem, t tagged) bool {
	in := t.iter.in[item.in : item.in+item.numIn]
	switch item.kind {
	case kindKernel, kindSend:
	case kindLoopCond:
	case kindSwitch:
		in = in[1:] // the selector; the data are passed on
	default:
		return false
	}
	var waiting *parked
	for _, v := range in {
		g, ok := v.ref.(*staged)
		if !ok {
			continue
		}
		if e := g.mark.Event(); e.Query() {
			if e.Wait(context.Background()) != nil {
				return true
			}
			continue
		}
		if waiting == nil {
			waiting = new(parked)
		}
		waiting.marks = append(waiting.marks, g.mark)
	}
	if waiting == nil {
		return false
	}
	t.iter.live.Add(1)
	s.st.inflight.Add(1)
	waiting.left.Store(int32(len(waiting.marks)))
	for _, m := range waiting.marks {
		m.Event().Then(func(error) {
			if waiting.left.Add(-1) == 0 {
				t.iter.frame.st.post(sharedWork{tagged: t})
			}
		})
	}
	return true
}

// parked is a node of the host that waits for streams.
type parked struct {
	marks []*streams.Mark
	left  atomic.Int32 // marks not reached
}
