package executor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Key names one value that is handed from one program to another: who sends
// it, who receives it, what it is, and the frame and iteration it belongs to.
type Key struct {
	From        string // name of the sending executor
	Incarnation uint64 // of the sender, so that a restarted one is told apart
	To          string // name of the receiving executor
	Name        string
	Frame       string // path of the frame, "" for the root frame
	Iteration   int64  // within Frame; in the root frame of a Loop, the batch
}

// String formats the key in five parts:
// from;incarnation;to;name;frame:iteration. The incarnation has 16 hexadecimal
// digits.
func (k Key) String() string {
	return fmt.Sprintf("%s;%016x;%s;%s;%s:%d", k.From, k.Incarnation, k.To, k.Name, k.Frame, k.Iteration)
}

// ParseKey parses what Key.String wrote.
func ParseKey(s string) (Key, error) {
	wrong := func(what string) (Key, error) {
		return Key{}, fmt.Errorf("executor: rendezvous key %q %s; expected from;incarnation;to;name;frame:iteration", s, what)
	}
	parts := strings.Split(s, ";")
	if len(parts) != 5 {
		return wrong(fmt.Sprintf("has %d parts", len(parts)))
	}
	if parts[0] == "" || parts[2] == "" || parts[3] == "" {
		return wrong("has an empty part")
	}
	incarnation, err := strconv.ParseUint(parts[1], 16, 64)
	if err != nil || len(parts[1]) != 16 {
		return wrong("has an incarnation that is not 16 hexadecimal digits")
	}
	colon := strings.LastIndexByte(parts[4], ':')
	if colon < 0 {
		return wrong("has no iteration")
	}
	iteration, err := strconv.ParseInt(parts[4][colon+1:], 10, 64)
	if err != nil || iteration < 0 {
		return wrong("has an iteration that is not a number")
	}
	return Key{
		From: parts[0], Incarnation: incarnation, To: parts[2], Name: parts[3],
		Frame: parts[4][:colon], Iteration: iteration,
	}, nil
}

// Rendezvous is where values are handed over. Per key it is a queue: what is
// sent first is received first. A send never waits; a receive waits for its
// send. Its methods may be called from any goroutine.
type Rendezvous struct {
	mu      leafMutex
	pending map[Key]*meeting
	aborted error
}

// meeting holds the sends or the receives of one key that wait for the other
// side; never both are there.
type meeting struct {
	sends    []sent
	receives []*receive
}

type sent struct {
	v    Value
	dead bool
}

type receive struct {
	done func(v Value, dead bool, err error)
	stop func() bool // takes the cancellation back
}

// NewRendezvous returns an empty rendezvous.
func NewRendezvous() *Rendezvous { return &Rendezvous{pending: make(map[Key]*meeting)} }

// Send hands v over, or the news that it is dead. If v holds a *Buffer, Send
// takes over one reference, and the receiver gets it. It fails only after
// Abort.
func (r *Rendezvous) Send(key Key, v Value, dead bool) error {
	r.mu.Lock()
	if r.aborted != nil {
		defer r.mu.Unlock()
		v.clear()
		return r.aborted
	}
	m := r.at(key)
	if len(m.receives) == 0 {
		m.sends = append(m.sends, sent{v, dead})
		r.mu.Unlock()
		return nil
	}
	first := m.receives[0]
	m.receives = m.receives[1:]
	r.tidy(key, m)
	r.mu.Unlock()
	first.stop()
	first.done(v, dead, nil)
	return nil
}

// RecvAsync receives the next value of key and calls done with it, at once if
// it is there already, else from the goroutine that sends it. After Abort, or
// when ctx is cancelled first, done is called with the reason; a receive that
// was cancelled takes no value from the others.
func (r *Rendezvous) RecvAsync(ctx context.Context, key Key, done func(v Value, dead bool, err error)) {
	r.mu.Lock()
	if err := r.aborted; err != nil {
		r.mu.Unlock()
		done(Value{}, false, err)
		return
	}
	m := r.at(key)
	if len(m.sends) > 0 {
		s := m.sends[0]
		m.sends = m.sends[1:]
		r.tidy(key, m)
		r.mu.Unlock()
		done(s.v, s.dead, nil)
		return
	}
	self := &receive{done: done}
	m.receives = append(m.receives, self)
	self.stop = context.AfterFunc(ctx, func() {
		if r.withdraw(key, self) {
			done(Value{}, false, context.Cause(ctx))
		}
	})
	r.mu.Unlock()
}

// Recv is RecvAsync for a caller that waits.
func (r *Rendezvous) Recv(ctx context.Context, key Key) (v Value, dead bool, err error) {
	ready := make(chan struct{})
	r.RecvAsync(ctx, key, func(rv Value, rd bool, re error) {
		v, dead, err = rv, rd, re
		close(ready)
	})
	<-ready
	return v, dead, err
}

// Abort fails all receives that wait, and all that is called later, with err;
// nil means ErrAborted. Values that nobody received are dropped. Only the first
// Abort counts.
func (r *Rendezvous) Abort(err error) {
	if err == nil {
		err = ErrAborted
	}
	r.mu.Lock()
	if r.aborted != nil {
		r.mu.Unlock()
		return
	}
	r.aborted = err
	pending := r.pending
	r.pending = nil
	r.mu.Unlock()
	for _, m := range pending {
		for _, s := range m.sends {
			s.v.clear()
		}
		for _, w := range m.receives {
			w.stop()
			w.done(Value{}, false, err)
		}
	}
}

func (r *Rendezvous) at(key Key) *meeting {
	m := r.pending[key]
	if m == nil {
		m = new(meeting)
		r.pending[key] = m
	}
	return m
}

func (r *Rendezvous) tidy(key Key, m *meeting) {
	if len(m.sends) == 0 && len(m.receives) == 0 {
		delete(r.pending, key)
	}
}

// withdraw removes a receive; it reports false if it was served already.
func (r *Rendezvous) withdraw(key Key, w *receive) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.pending[key]
	if m == nil {
		return false
	}
	for i, other := range m.receives {
		if other == w {
			m.receives = append(m.receives[:i:i], m.receives[i+1:]...)
			r.tidy(key, m)
			return true
		}
	}
	return false
}
