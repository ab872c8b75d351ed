package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/planktonml/plankton/memstats"
)

// An arbiter keeps a run within Options.MemoryBudget. The memory of the dense
// outputs is set aside when the run begins; what remains is taken by samples, as
// they are made, and by ragged outputs.
//
// A sample that asks for memory that is not free waits. It cannot wait for
// ever, whatever others hold, because samples have an order, that of their rows,
// and the oldest unfinished one always moves:
//
//   - While a sample waits, younger ones get no more memory and none begins. So
//     others either finish, or wait as well.
//   - When all wait, everybody but the oldest gives up: a sample is a pure
//     function of its index, so its scratch is freed and it is made again later.
//     Scratch of idle workers, and rows of batches that were given back, are
//     freed too, and in the end finished rows younger than the oldest sample,
//     which are made again as well.
//   - If it still does not fit, the oldest itself begins anew, without
//     the memory that its worker kept from earlier samples.
//   - What is left then is its own need, older rows of its batch, and older
//     batches. Those are with the consumer or on their way to it, where nothing waits
//     for this batch (see turn), and come back; if
//     they do not because the consumer waits for this one, that is an error, as it
//     is if nothing is left to come back. A sample that does not fit alone fails by
//     itself, under Options.OnError, whatever the others do.
//
// For that, batches are finished in order: one whose rows are done stays open
// while an older one is at work.
//
// Ragged rows go by the shrink threshold at every sample here, so that a batch
// takes what its samples need and not what the largest of them would.
//
// A sequence cannot be read again. What its reader delivers is taken whether it
// fits or not, and kept for a sample that gives up. As finished rows cannot be
// made again either, no batch of ragged outputs begins before the one in front of
// it is finished.
type arbiter struct {
	r     *hostRegion
	fixed int64 // bytes of dense outputs, page-locked ones included
	free  *memstats.Budget
	share int64 // bytes of scratch that a worker may keep from sample to sample

	sequence bool // samples cannot be read again
	oneByOne bool // no batch begins before the one in front of it is finished

	mu      sync.Mutex
	changed sync.Cond
	claims  []claim // by worker
	parked  bool
	asking  bool           // the consumer waits for a batch
	next    int64          // the oldest unfinished batch
	lent    int64          // batches that were finished and have not come back
	fresh   int64          // the sample that begins anew, -1 for none
	again   map[int64]bool // samples that are to be made again and are not begun
	kept    map[int64][]cell
	failure error           // ended the run
	run     context.Context // that the arbiter watches, nil before the first batch
}

// claim is what a worker is doing about memory.
type claim struct {
	sample  int64 // by its row, counted over batches; -1 for none
	want    int64 // it waits for so many bytes; 0 if it does not
	yield   bool  // it is told to give up
	outcome outcome
}

// outcome says how the work on a sample ended, as far as memory is concerned.
type outcome uint8

const (
	settled   outcome = iota // with a result or an error of its own
	gaveUp                   // it is to be made again
	abandoned                // the run is over, and nobody waits for it
)

// errGaveUp ends the work on a sample that is made again later.
var errGaveUp = errors.New("the sample gives its memory to an older one and is made again")

func newArbiter(r *hostRegion) *arbiter {
	p := r.p
	fixed, _ := p.denseBytes()
	a := &arbiter{r: r, fixed: fixed, claims: make([]claim, p.maxWorkers()), again: map[int64]bool{}, kept: map[int64][]cell{}}
	a.free = memstats.NewBudget(p.opt.MemoryBudget - a.fixed)
	a.share = a.free.Limit() / int64(2*len(a.claims))
	a.changed.L = &a.mu
	a.sequence = p.readers[0].Sequence != nil
	a.oneByOne = a.sequence && slices.ContainsFunc(p.outputs, func(o output) bool { return !o.spec.Dense() })
	a.reset()
	return a
}

// reset readies the arbiter for a run from batch 0 on. The workers are parked.
func (a *arbiter) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.claims {
		a.claims[i] = claim{sample: -1}
	}
	a.next, a.lent, a.fresh, a.failure, a.run = 0, 0, -1, nil, nil
	clear(a.again)
	for _, b := range a.r.batches {
		if b != nil {
			b.idle = true
		}
	}
	for sample := range a.kept {
		a.forget(sample)
	}
}

// sample returns the number of a row, counted over batches.
func (a *arbiter) sample(seq int64, row int) int64 {
	return seq*int64(a.r.p.opt.BatchSize) + int64(row)
}

// begin makes a worker begin a sample of a batch, once no older sample waits.
// False means that the workers are being parked.
func (a *arbiter) begin(w *worker, b *Batch, row int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	sample := a.sample(b.seq, row)
	kept, read := a.kept[sample]
	w.gate.forced = a.sequence && !read
	if !w.gate.forced { // else the samples behind it wait for their turn
		if a.mustWait(sample) {
			began := now()
			for !a.parked && a.mustWait(sample) {
				a.changed.Wait()
			}
			w.at = 0
			w.rec.waitedMemory(now() - began)
		}
		if a.parked {
			a.again[sample] = true
			return false
		}
	}
	delete(a.again, sample)
	a.claims[w.gate.worker] = claim{sample: sample}
	if sample == a.fresh {
		w.release()
		b.freeRow(row)
	}
	if read {
		w.kept = kept
		delete(a.kept, sample)
	}
	return true
}

// admit lets a sample go on that a sequence has delivered, once no older one
// waits.
func (a *arbiter) admit(w *worker) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.gate.forced = false
	c := &a.claims[w.gate.worker]
	if a.mustWait(c.sample) {
		began := now()
		c.want = 1 // whatever it is going to be
		a.changed.Broadcast()
		for !a.parked && !c.yield && a.mustWait(c.sample) {
			a.changed.Wait()
		}
		c.want = 0
		w.rec.waitedMemory(now() - began)
	}
	if a.parked || c.yield {
		c.outcome = gaveUp
		return errGaveUp
	}
	return nil
}

// mustWait reports whether a sample may not begin yet.
func (a *arbiter) mustWait(sample int64) bool {
	return a.olderWaits(sample) || a.oneByOne && sample/int64(a.r.p.opt.BatchSize) != a.next
}

// end ends what begin began. The memory of a sample that gave up is free.
func (a *arbiter) end(w *worker, b *Batch, row int, good bool) outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.claims[w.gate.worker]
	sample, ended := c.sample, c.outcome
	*c = claim{sample: -1}
	switch {
	case ended == gaveUp:
		a.again[sample] = true
		if kept := w.keep(); kept != nil {
			a.kept[sample] = kept
		}
		w.release()
		b.freeRow(row)
	case w.reserved() > a.share:
		w.release()
	}
	if ended != gaveUp {
		b.settled[row] = good
		if sample == a.fresh {
			a.fresh = -1
		}
	}
	a.changed.Broadcast()
	return ended
}

// take lets a worker's sample hold n more bytes. It waits for them if need be.
func (a *arbiter) take(worker int, n int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.claims[worker]
	var began int64
	defer func() {
		if began != 0 {
			a.r.workers[worker].rec.waitedMemory(now() - began)
			c.want = 0
			a.changed.Broadcast()
		}
	}()
	for {
		switch {
		case a.parked, c.yield:
			c.outcome = gaveUp
			return errGaveUp
		case !a.olderWaits(c.sample) && a.free.Try(n):
			return nil
		case a.failure != nil:
			if a.failure == errAbandoned {
				c.outcome = abandoned
			}
			return a.failure
		case a.freeIdle():
			continue
		}
		if began == 0 {
			began = now()
			c.want = n
			a.changed.Broadcast() // an older one may now be the last that waits
		}
		if moved, err := a.settle(worker); err != nil {
			return err
		} else if !moved {
			a.changed.Wait()
		}
	}
}

// olderWaits reports whether a sample older than this one waits for memory.
func (a *arbiter) olderWaits(sample int64) bool {
	for i := range a.claims {
		if c := &a.claims[i]; c.want > 0 && c.sample < sample {
			return true
		}
	}
	return false
}

// settle does what can be done for a worker's sample that waits while no other one
// moves. It reports whether it is worth trying again at once.
func (a *arbiter) settle(worker int) (moved bool, err error) {
	c := &a.claims[worker]
	others := false
	for i := range a.claims {
		switch o := &a.claims[i]; {
		case o == c || o.sample < 0:
		case o.want == 0 || o.sample < c.sample:
			return false, nil // it moves, or this is its business
		default:
			others = true
		}
	}
	if others {
		for i := range a.claims {
			if o := &a.claims[i]; o != c && o.sample >= 0 {
				o.yield = true
			}
		}
		a.changed.Broadcast()
		return false, nil
	}
	if a.revoke(c.sample) {
		return true, nil
	}
	for sample := range a.again {
		if sample < c.sample { // for whom this worker may be the only one that is left
			c.yield = true
			return true, nil
		}
	}
	if c.sample != a.fresh {
		a.fresh = c.sample
		c.yield = true
		return true, nil
	}
	if alone := a.r.workers[worker].reserved(); alone+c.want > a.free.Limit() {
		return false, a.whole(memstats.BudgetError{Need: c.want, Used: alone, Limit: a.free.Limit()})
	}
	seq := c.sample / int64(a.r.p.opt.BatchSize)
	if seq != a.next || a.lent > 0 && !(a.asking && int64(a.r.consumer.held.Load()) == a.lent) {
		return false, nil // an older batch is about to be finished or to come back
	}
	a.failure = a.tooLarge(worker)
	a.r.call(seq).err = a.failure
	return false, a.failure
}

// tooLarge returns the error of a batch that does not fit, at a worker's sample.
func (a *arbiter) tooLarge(worker int) *BatchBudgetError {
	c, rows := &a.claims[worker], int64(a.r.p.opt.BatchSize)
	made := c.sample % rows
	used := a.free.Used()
	least := a.fixed + used + c.want
	if known := a.lent*rows + made; known > 0 { // rows that hold all but what the worker has
		perRow := max(0, used-a.r.workers[worker].reserved()) / known
		least += perRow * (rows - made - 1)
	}
	return &BatchBudgetError{
		Held: int(a.lent), Made: int(made), Rows: int(rows),
		Estimate: least + least/4, // batches differ, and a later one must not fail by a little
		Err:      a.whole(memstats.BudgetError{Need: c.want, Used: used, Limit: a.free.Limit()}),
	}
}

// explain is whole for an error that may be one of the budget.
func (a *arbiter) explain(err error) error {
	var over *memstats.BudgetError
	if errors.As(err, &over) {
		return a.whole(*over)
	}
	return err
}

// whole adds what was set aside to an error of the budget.
func (a *arbiter) whole(over memstats.BudgetError) *memstats.BudgetError {
	over.Used += a.fixed
	over.Limit += a.fixed
	return &over
}

// freeIdle frees the scratch of workers without a sample and the rows of
// batches that nobody has. It reports whether there was anything to free.
func (a *arbiter) freeIdle() bool {
	used := a.free.Used()
	for i, w := range a.r.workers {
		if a.claims[i].sample < 0 {
			w.release()
		}
	}
	for _, b := range a.r.batches {
		if b != nil && b.idle {
			b.freeRows()
		}
	}
	return a.free.Used() < used
}

// revoke frees the rows that no worker has begun, which hold what an earlier batch
// has left there, and finished ones that are younger than the only sample at work;
// those it puts back to be made again. It reports whether there was anything to
// free.
func (a *arbiter) revoke(sample int64) (any bool) {
	for i := range a.r.calls {
		c := &a.r.calls[i]
		if c.node == nil {
			continue
		}
		for row, settled := range c.batch.settled {
			at := a.sample(c.batch.seq, row)
			if at == sample || settled && (at < sample || a.sequence) || !c.batch.freeRow(row) {
				continue
			}
			any = true
			if settled {
				c.batch.settled[row], c.done = false, false
				a.again[at] = true
				a.r.rows.Again(c.node, row)
			}
		}
	}
	return any
}

// forget frees what was kept for a sample.
func (a *arbiter) forget(sample int64) {
	for i := range a.kept[sample] {
		a.kept[sample][i].buf.Free()
	}
	delete(a.kept, sample)
}
