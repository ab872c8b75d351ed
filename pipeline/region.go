package pipeline

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/planktonml/plankton/executor"
)

// hostRegion is the sample region of a pipeline: all its per-sample operators,
// run as one node of the program. Its workers take the rows of the batches in
// flight in order.
type hostRegion struct {
	p       *Pipeline
	workers []*worker
	seqs    []*turnstile // by reader, nil where it is a source
	plans   [][][]int64  // by slot of the loop, by reader: the samples of the batch's valid rows

	memory keeper
	aheads []*readAhead

	rows     *executor.RowPool
	pins     *pinner     // nil without Options.SetAffinity
	running  atomic.Bool // it has been started
	batches  []*Batch    // by slot of the loop; nil where Autotune has not needed it yet
	consumer consumer

	batchCounts []batchCounts // by operator for whole batches
	watch       *streamWatch  // nil where no operator works on a stream

	// Of the run that start began.
	ctx   context.Context
	feed  Feed
	mixed MixFeed // the feed, if the first reader is a mix
	calls []call  // of the batches in flight, by batch modulo slots

	uses [parts][]*memoryUse // by part and slab, those of batches by slot; none without Options.EnableMemoryStats

	// Where the parts have prefetch depths of their own:
	slabs [parts][]*slab
	slots [parts]*slots // of the run that start began

	turn *turn // of the run that start began
}

// call is an unfinished run of the region's node.
type call struct {
	node  *executor.Call
	batch *Batch
	err   error // what ends the run in place of the batch
}

func newHostRegion(p *Pipeline) (*hostRegion, error) {
	r := &hostRegion{p: p, seqs: make([]*turnstile, len(p.readers)), watch: p.watchStreams()}
	operators := p.Operators()
	for i := range p.batchOps {
		r.batchCounts = append(r.batchCounts, batchCounts{
			operator: len(operators) - len(p.batchOps) + i, moves: p.batchOps[i].op.Moves, hook: p.opt.Events.Operator,
		})
	}
	for i, rd := range p.readers {
		if rd.Sequence != nil {
			r.seqs[i] = newTurnstile(rd.Sequence)
		}
	}
	r.memory = newKeeper(r)
	r.aheads = newReadAheads(p)
	touchers := p.touchers()
	r.uses = p.newMemoryUses()
	for i := range p.maxWorkers() {
		w, err := p.newWorker(i)
		if err != nil {
			r.close()
			return nil, err
		}
		w.aheads, w.touchers = r.aheads, touchers
		r.workers = append(r.workers, w)
		if err := w.attach(r.memory); err != nil {
			r.close()
			return nil, err
		}
	}
	if p.cpus != nil {
		r.pins = newPinner(p.cpus)
	}
	p.latest.Store(r)
	return r, nil
}

// start readies the region for a run from batch 0 of feed.
func (r *hostRegion) start(ctx context.Context, feed Feed) (err error) {
	r.ctx, r.feed = ctx, feed
	if first := r.p.readers[0]; first.Sources != nil {
		var ok bool
		if r.mixed, ok = feed.(MixFeed); !ok {
			return fmt.Errorf("pipeline: reader %q is a mix and needs a MixFeed, not %T", first.Name, feed)
		}
	}
	if r.batches == nil {
		slots := r.p.slots()
		r.batches = make([]*Batch, slots)
		for i := range r.p.opt.PrefetchDepth + 1 {
			if r.batches[i], err = newBatch(r, i); err != nil {
				r.freeBatches()
				return err
			}
		}
		if err := r.newSlabs(); err != nil {
			r.freeBatches()
			return err
		}
		r.calls = make([]call, slots)
		r.plans = make([][][]int64, slots)
		for i := range r.plans {
			r.plans[i] = make([][]int64, len(r.p.readers))
		}
	}
	r.startSlots()
	r.turn = &turn{}
	for _, a := range r.aheads {
		a.start(ctx)
	}
	r.goOn()
	return nil
}

// rowWork returns what the executor's workers do for the region's node.
func (r *hostRegion) rowWork() *executor.Rows {
	w := &executor.Rows{N: r.p.opt.BatchSize, Grain: r.p.grain, Ran: r.ran}
	r.memory.work(w)
	if r.p.opt.Events.WorkerWaited != nil {
		w.Waited = r.waited
	}
	if r.pins != nil {
		w.Start = r.pins.pin
	}
	return w
}

// started is called when the workers of a run have been started. It returns why they
// cannot be used.
func (r *hostRegion) started() error {
	r.running.Store(true)
	if r.pins == nil {
		return nil
	}
	return r.pins.wait()
}

// resume lets the workers go on.
func (r *hostRegion) resume() {
	r.goOn()
	r.rows.Resume()
}

// goOn readies what is around the workers to go on; the processor time counts from now
// on.
func (r *hostRegion) goOn() {
	r.memory.park(false)
	for _, a := range r.aheads {
		a.park(false)
	}
	r.consumer.resumed()
}

// pause stops the workers after the samples in hand, for which quiet waits.
func (r *hostRegion) pause() {
	r.memory.park(true)
	for _, a := range r.aheads {
		a.park(true)
	}
	r.rows.Pause()
	r.consumer.parked()
}

// quiet waits for the workers that were paused, or for the end of ctx.
func (r *hostRegion) quiet(ctx context.Context) {
	r.rows.Quiet(ctx)
	r.consumer.parked()
}

// begin is the node's kernel: it lets the workers make a batch. The node's
// output says whether the feed had one.
func (r *hostRegion) begin(ctx context.Context, c *executor.Call) error {
	seq := c.Root()
	epoch, step, ok := r.feed.Locate(seq)
	tell(c, ok)
	if !ok {
		if b := r.batches[c.Slot()]; b != nil {
			b.returnSlab(ofHost)
		}
		c.Done(nil)
		return nil
	}
	b := r.batches[c.Slot()]
	if b == nil {
		var err error
		if b, err = newBatch(r, c.Slot()); err != nil {
			return err
		}
	}
	b.begin(seq, epoch, step)
	r.plan(b)
	b.tell(r.p.opt.Events.BatchBegun)
	r.memory.armed(ctx, call{node: c, batch: b})
	for _, a := range r.aheads {
		a.begin(seq, r.plans[b.slot][a.reader])
	}
	if !c.Arm() {
		return executor.ErrClosed
	}
	return nil
}

// plan asks the feed for the samples of a batch, and marks its valid rows.
func (r *hostRegion) plan(b *Batch) {
	plan := r.plans[b.slot]
	rows := len(b.ids)
	for i := range plan {
		plan[i] = plan[i][:0]
		if leader := r.p.readers[i].leader; leader != nil {
			for _, id := range plan[leader.place] {
				plan[i] = append(plan[i], leader.WholeIndex(id))
			}
			continue
		}
		if r.seqs[i] == nil {
			plan[i] = r.feed.AppendBatch(plan[i], i, b.epoch, b.step)
			rows = min(rows, len(plan[i]))
			continue
		}
		for row := range b.ids {
			plan[i] = append(plan[i], b.step*int64(len(b.ids))+int64(row))
		}
	}
	for i := range plan {
		plan[i] = plan[i][:rows]
	}
	for row := range b.ids {
		b.ids[row], b.mask[row] = -1, row < rows
	}
	copy(b.ids, plan[0])
	if r.mixed != nil {
		b.epochs = r.mixed.AppendEpochs(b.epochs[:0], b.epoch, b.step)
	}
}

// hold makes a batch one whose rows are made.
func (r *hostRegion) hold(c call) {
	r.batches[c.batch.slot] = c.batch
	c.batch.trim()
	*r.call(c.batch.seq) = c
}

func (r *hostRegion) call(seq int64) *call { return &r.calls[seq%int64(len(r.calls))] }

// finish is called by the worker that made the last row of a batch.
func (r *hostRegion) finish(node *executor.Call) {
	c := *r.call(node.Root())
	*r.call(node.Root()) = call{}
	r.complete(c)
}

// complete ends the node's run for a batch.
func (r *hostRegion) complete(c call) {
	c.batch.finish()
	r.use(ofBatch, c.batch.slot).noteRagged(c.batch)
	c.batch.tell(r.p.opt.Events.BatchMade)
	c.node.Done(c.err)
}

// deliver hands a finished batch to the consumer.
func (r *hostRegion) deliver(res executor.Result) *Batch {
	b := r.batches[res.Slot()]
	b.result = res
	b.refs.Store(1)
	r.consumer.held.Add(1)
	r.memory.delivered()
	return b
}

// abandon gives up what is left of a run whose loop is closed.
func (r *hostRegion) abandon() {
	for _, a := range r.aheads {
		a.stop()
	}
	clear(r.calls)
	r.restartSequences()
	r.memory.reset()
}

func (r *hostRegion) restartSequences() {
	for _, s := range r.seqs {
		if s != nil {
			s.restart()
		}
	}
}

// close joins the workers and frees the memory.
func (r *hostRegion) close() {
	for _, a := range r.aheads {
		a.stop()
	}
	r.freeBatches()
	for _, w := range r.workers {
		w.limit.close()
		w.release()
	}
	r.memory.reset()
}

func (r *hostRegion) freeBatches() {
	for _, b := range r.batches {
		if b != nil {
			b.free()
		}
	}
	r.batches = nil
	r.freeSlabs()
	r.p.trim()
}
