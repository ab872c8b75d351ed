package cuda

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// poller asks the driver about events that somebody waits for. It is one
// goroutine, which sleeps while there are none.
type poller struct {
	context *driverContext
	ended   chan struct{}

	mu      sync.Mutex
	wake    *sync.Cond
	watched []*event // new ones
	closed  bool
}

func newPoller(c *driverContext) *poller {
	p := &poller{context: c, ended: make(chan struct{})}
	p.wake = sync.NewCond(&p.mu)
	go p.loop()
	return p
}

// watch completes the event, which has been recorded, once the driver has.
func (p *poller) watch(e *event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched = append(p.watched, e)
	p.wake.Signal()
}

// close ends the goroutine. All events have completed by now.
func (p *poller) close() {
	p.mu.Lock()
	p.closed = true
	p.wake.Signal()
	p.mu.Unlock()
	<-p.ended
}

func (p *poller) loop() {
	defer close(p.ended)
	var open []*event
	var pace pace
	for p.collect(&open) {
		n := len(open)
		if err := p.context.do(func() error {
			open = slices.DeleteFunc(open, (*event).poll)
			return nil
		}); err != nil { // the context is gone, and what ran in it with it
			for _, e := range open {
				e.fail(err)
			}
			open = open[:0]
		}
		if len(open) < n {
			pace.reset()
		}
		if len(open) > 0 {
			pace.rest()
		}
	}
}

// collect adds the new events to open. It blocks while there is nothing to
// watch and reports false at the end.
func (p *poller) collect(open *[]*event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(*open) == 0 && len(p.watched) == 0 && !p.closed {
		p.wake.Wait()
	}
	*open = append(*open, p.watched...)
	clear(p.watched)
	p.watched = p.watched[:0]
	return len(*open) > 0
}

// pace is how often the driver is asked: at once for what takes microseconds,
// then at growing distances.
type pace struct{ asked int }

const (
	askAtOnce = 20
	firstRest = 10 * time.Microsecond
	longRest  = 100 * time.Microsecond
)

func (p *pace) reset() { p.asked = 0 }

func (p *pace) rest() {
	p.asked++
	if p.asked <= askAtOnce {
		runtime.Gosched()
		return
	}
	time.Sleep(min(firstRest<<min(p.asked-askAtOnce, 10), longRest))
}
