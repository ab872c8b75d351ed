package pipeline

import "context"

// What an arbiter is told of the run: of batches, the consumer, and pauses.

// park makes samples that wait give up; resume lets samples wait again.
func (a *arbiter) park() { a.set(&a.parked, true) }

func (a *arbiter) resume() { a.set(&a.parked, false) }

// ask notes whether the consumer waits for a batch.
func (a *arbiter) ask(waits bool) { a.set(&a.asking, waits) }

func (a *arbiter) set(flag *bool, to bool) {
	a.mu.Lock()
	*flag = to
	a.changed.Broadcast()
	a.mu.Unlock()
}

// void is Batch.void, for a row whose memory may be wanted by others.
func (a *arbiter) void(b *Batch, row int) {
	a.mu.Lock()
	b.void(row)
	a.mu.Unlock()
}

// armed notes that the rows of a batch can be made, in a run that ends with ctx. Until
// then the batch is idle, so that at any time what it has left from earlier can be
// freed.
func (a *arbiter) armed(ctx context.Context, c call) {
	a.mu.Lock()
	if a.run != ctx {
		a.run = ctx
		context.AfterFunc(ctx, func() { a.abandon(ctx) })
	}
	b := c.batch
	a.r.batches[b.slot] = b
	b.idle = false
	b.trim()
	clear(b.settled)
	*a.r.call(b.seq) = c
	a.mu.Unlock()
}

// abandon ends all waiting for memory in a run whose context has ended, such as by an
// operator for whole batches that failed: the memory of its batch does not come back
// before the samples behind it have ended.
func (a *arbiter) abandon(run context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == run && a.failure == nil {
		a.failure = errAbandoned
		a.changed.Broadcast()
	}
}

// finished notes that the rows of a batch are done, for now.
func (a *arbiter) finished(seq int64) {
	a.mu.Lock()
	a.r.call(seq).done = true
	a.mu.Unlock()
}

// pop returns the oldest batch if it is finished, and takes it off.
func (a *arbiter) pop() (call, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := *a.r.call(a.next)
	if c.node == nil || !c.done {
		return call{}, false
	}
	*a.r.call(a.next) = call{}
	a.next++
	a.changed.Broadcast()
	if c.err == nil {
		a.lent++
	}
	return c, true
}

// returned notes that a batch came back.
func (a *arbiter) returned(b *Batch) {
	a.mu.Lock()
	a.lent--
	b.idle = true
	a.changed.Broadcast()
	a.mu.Unlock()
}

// wake has samples that wait look again at what the consumer holds.
func (a *arbiter) wake() {
	a.mu.Lock()
	a.changed.Broadcast()
	a.mu.Unlock()
}

// gate is the memstats.Gate of one worker.
type gate struct {
	a      *arbiter
	worker int
	forced bool // what is taken now must not wait
}

// Take implements memstats.Gate.
func (g *gate) Take(n int64) error {
	if g.forced {
		g.a.free.Force(n)
		return nil
	}
	limit := g.a.r.workers[g.worker].limit
	limit.pause() // to wait for memory is not the sample's work
	defer limit.resume()
	return g.a.take(g.worker, n)
}

// Give implements memstats.Gate. Nobody is told until the sample ends.
func (g *gate) Give(n int64) { g.a.free.Give(n) }

// forcedGate is the gate of rows that the workers have handed over.
type forcedGate struct{ a *arbiter }

// Take implements memstats.Gate.
func (g forcedGate) Take(n int64) error { g.a.free.Force(n); return nil }

// Give implements memstats.Gate.
func (g forcedGate) Give(n int64) { g.a.free.Give(n) }
