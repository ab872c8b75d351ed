package run

import (
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// pull ranges over a sequence in a goroutine of its own, one step at a time.
// iter.Pull2 would do the same without the channels, but its coroutine must not
// be resumed by goroutines that are locked to different threads, as the workers
// are under Options.SetAffinity.
type pull struct {
	ask     chan struct{}       // a step is wanted; closed: no more
	got     chan pulled         // closed when the goroutine ends
	failure *streams.PanicError // of a sequence that panicked while it was stopped
}

// pulled is one step.
type pulled struct {
	fill func([]*datum.Tensor) error
	err  error
	ok   bool // there was one
}

func newPull(s datum.Sequence) *pull {
	p := &pull{ask: make(chan struct{}), got: make(chan pulled)}
	go p.run(s)
	return p
}

func (p *pull) run(s datum.Sequence) {
	defer close(p.got)
	if _, ok := <-p.ask; !ok {
		return
	}
	stopped := false
	whole := false
	defer func() {
		var err error
		v := recover()
		switch {
		case v != nil:
			err = streams.NewPanicError(v)
		case !whole:
			err = errGoexit
		}
		switch {
		case !stopped && err != nil:
			p.got <- pulled{err: err, ok: true}
		case v != nil:
			p.failure = err.(*streams.PanicError)
		}
	}()
	for fill, err := range s.Samples() {
		p.got <- pulled{fill, err, true}
		if _, ok := <-p.ask; !ok {
			stopped = true
			break
		}
	}
	whole = true
}

// next returns the next step.
func (p *pull) next() pulled {
	select {
	case p.ask <- struct{}{}:
		return <-p.got
	case <-p.got: // closed: the sequence has ended before
		return pulled{}
	}
}

// stop ends the sequence and waits for it. It panics if the sequence does.
func (p *pull) stop() {
	close(p.ask)
	for range p.got {
	}
	if p.failure != nil {
		panic(p.failure)
	}
}
