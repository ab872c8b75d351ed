package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Lanes are the streams of a plan, and the waits between them. The plan says
// which streams a node runs on. What a node waits for follows from the order in
// which nodes are really issued, which may be another one than Plan.Order: it
// waits for what it is to come after, except for what its streams, or another of
// its waits, come after already. So everything that a node is to come after is
// waited for or covered, whatever the order of issue. Issued in Plan.Order, with
// the producers of its edges, every node waits for what Plan.Waits says.
//
// Plan.Waits alone would not do in another order. With the edges 0→2 and 1→2, and
// with 0 and 1 on one stream, the plan has node 2 wait for node 1, since that comes
// after node 0. If 1 is issued before 0, node 2 has to wait for 0.
//
// Make Lanes with NewLanes and close them. They may be used from any goroutine.
type Lanes struct {
	on  [][]int // by node: its lanes
	mu  sync.Mutex
	all []lane
}

// lane is one stream. behind says, by lane, how much of it has completed before
// anything that is issued on the stream from now on starts.
type lane struct {
	stream Stream
	behind []int64
}

// NewLanes makes the streams of the plan on the devices that the function returns
// for the plan's device numbers. Of the plan it keeps Streams alone, which it only
// reads. A plan that cannot be carried out, such as one with a wait for what is issued
// later, is refused with an error that matches ErrPlan; Verify proves more.
func NewLanes(plan *Plan, device func(number int) (Device, error)) (*Lanes, error) {
	if _, err := plan.check(); err != nil {
		return nil, err
	}
	l := &Lanes{on: plan.Streams}
	for _, number := range plan.Device {
		s, err := newStream(number, device)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.all = append(l.all, lane{stream: s, behind: make([]int64, len(plan.Device))})
	}
	return l, nil
}

func newStream(number int, device func(int) (Device, error)) (Stream, error) {
	d, err := device(number)
	if err != nil {
		return nil, fmt.Errorf("streams: no device %d: %w", number, err)
	}
	s, err := d.NewStream()
	if err != nil {
		return nil, fmt.Errorf("streams: no stream on device %d (%s): %w", number, d.Name(), err)
	}
	return s, nil
}

// Issue issues work of a node, which must be one with streams, behind everything
// in after, and returns at once. Calls made one after the other are issued in that
// order. A mark in after that is nil or of other Lanes makes ErrMark the error of the
// stream, and the work is skipped: what it was to come after has not been issued here.
//
// The work of a node on several streams starts when all of them have come to it, and
// they go on when all of it has completed. work[i] runs on the i-th of them and
// receives the Context of that stream; nil is no work, and so is what is left out.
// What a node does on its different streams runs side by side, in no order, and must
// not wait for each other before it returns.
func (l *Lanes) Issue(node int, after []*Mark, work ...func(*Context) error) *Mark {
	return l.issue(node, after, true, work)
}

// issue is Issue. Unless record is set nobody will wait for the work, and its mark
// may have no event.
func (l *Lanes) issue(node int, after []*Mark, record bool, work []func(*Context) error) *Mark {
	on := l.on[node]
	l.mu.Lock()
	defer l.mu.Unlock()
	first := &l.all[on[0]]
	if l.foreign(after) {
		first.stream.Wait(noMark)
		after = nil
	}
	for i, m := range after {
		if !l.passed(on, m) && !coveredByOther(after, i) {
			first.stream.Wait(m.event)
		}
	}
	for _, m := range after {
		join(first.behind, m.behind)
	}
	for _, k := range on[1:] {
		l.meet(first, &l.all[k])
	}
	if len(work) > 1 {
		l.beside(first, on[1:], work[1:])
	}
	if len(work) > 0 && work[0] != nil {
		first.stream.Do(work[0])
	}
	for i := 1; i < len(work); i++ {
		if work[i] != nil {
			first.stream.Wait(l.all[on[i]].stream.Record())
		}
	}
	first.behind[on[0]]++
	m := &Mark{lanes: l, lane: on[0], number: first.behind[on[0]]}
	m.behind = append(m.few[:0], first.behind...)
	if record || len(on) > 1 {
		m.event = first.stream.Record()
	}
	for _, k := range on[1:] {
		l.all[k].stream.Wait(m.event)
		copy(l.all[k].behind, first.behind)
	}
	return m
}

// beside issues the work of a node on its other streams, which starts where that on
// the first does: when all of the node's streams have come to it.
func (l *Lanes) beside(first *lane, others []int, work []func(*Context) error) {
	var start Event
	for i, fn := range work {
		if fn == nil {
			continue
		}
		other := &l.all[others[i]]
		if !covers(other.behind, first.behind) {
			if start == nil {
				start = first.stream.Record()
			}
			other.stream.Wait(start)
		}
		other.stream.Do(fn)
	}
}

// passed reports whether each of the lanes comes after the mark already. What the
// host has done has completed by now.
func (l *Lanes) passed(on []int, m *Mark) bool {
	if m.lane < 0 {
		return true
	}
	for _, k := range on {
		if l.all[k].behind[m.lane] < m.number {
			return false
		}
	}
	return true
}

// meet has the first stream of a node wait until another one has come to it.
func (l *Lanes) meet(first, other *lane) {
	if covers(first.behind, other.behind) {
		return
	}
	first.stream.Wait(other.stream.Record())
	join(first.behind, other.behind)
}

// Await blocks until everything in after has completed. It returns the mark of what
// the caller does next on the host, for nodes that are to come after that: the
// caller has done it when it issues them. The error is the first of the events, the
// cause of ctx if that ends first, or ErrMark.
func (l *Lanes) Await(ctx context.Context, after []*Mark) (*Mark, error) {
	if l.foreign(after) {
		return nil, ErrMark
	}
	here := &Mark{lanes: l, event: reached, lane: -1, behind: make([]int64, len(l.all))}
	for i, m := range after {
		join(here.behind, m.behind)
		if m.lane < 0 || coveredByOther(after, i) {
			continue
		}
		if err := m.event.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return here, nil
}

// Synchronize waits until everything issued so far has completed, and returns the
// first error of a stream since the last Synchronize. When ctx ends first, it
// returns the cause, and streams that it has not come to keep their errors.
func (l *Lanes) Synchronize(ctx context.Context) error {
	var first error
	for i := range l.all {
		if err := l.all[i].stream.Synchronize(ctx); first == nil {
			first = err
		}
	}
	return first
}

// Close waits until everything issued has completed and closes the streams. It
// returns the first error that no Synchronize has returned.
func (l *Lanes) Close() error {
	var first error
	for i := range l.all {
		if err := l.all[i].stream.Close(); first == nil {
			first = err
		}
	}
	return first
}
