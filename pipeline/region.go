package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/region"
)

// hostRegion is the sample region of a pipeline: all its per-sample operators,
// run as one node of the program. Its workers take the rows of the batches in
// flight in order.
type hostRegion struct {
	p       *Pipeline
	workers []*worker
	seqs    []*turnstile // by reader, nil where it is a source
	indices [][]int64    // by worker, by reader

	arbiter *arbiter // nil without a memory budget

	engine   *region.Engine // nil before the first start
	running  atomic.Bool    // the engine is there
	batches  []*Batch       // by slot of the loop; nil where Autotune has not needed it yet
	consumer consumer

	batchCounts []batchCounts // by operator for whole batches

	// Of the run that start began.
	ctx   context.Context
	feed  Feed
	calls []call // of the batches in flight, by batch modulo slots

	uses []*memoryUse // by slot; none without Options.EnableMemoryStats
}

// call is an unfinished run of the region's node.
type call struct {
	node  *executor.Call
	batch *Batch
	done  bool  // its rows are done, but an older batch's are not
	err   error // what ends the run in place of the batch
}

func newHostRegion(p *Pipeline) (*hostRegion, error) {
	r := &hostRegion{p: p, seqs: make([]*turnstile, len(p.readers))}
	operators := p.Operators()
	for i := range p.batchOps {
		r.batchCounts = append(r.batchCounts, batchCounts{operator: len(operators) - len(p.batchOps) + i, hook: p.opt.Events.Operator})
	}
	for i, rd := range p.readers {
		if rd.Sequence != nil {
			r.seqs[i] = newTurnstile(rd.Sequence)
		}
	}
	if p.opt.MemoryBudget > 0 {
		r.arbiter = newArbiter(r)
	}
	if p.opt.EnableMemoryStats {
		for range p.slots() {
			r.uses = append(r.uses, p.newMemoryUse())
		}
	}
	for i := range p.maxWorkers() {
		w, err := p.newWorker(i)
		if err != nil {
			return nil, err
		}
		r.workers = append(r.workers, w)
		if err := w.attach(r.arbiter, i); err != nil {
			r.close()
			return nil, err
		}
		r.indices = append(r.indices, make([]int64, len(p.readers)))
	}
	p.latest.Store(r)
	return r, nil
}

// start readies the region for a run from batch 0 of feed.
func (r *hostRegion) start(ctx context.Context, feed Feed) (err error) {
	r.ctx, r.feed = ctx, feed
	if r.engine == nil {
		slots := r.p.slots()
		r.batches = make([]*Batch, slots)
		for i := range r.p.opt.PrefetchDepth + 1 {
			if r.batches[i], err = newBatch(r); err != nil {
				r.freeBatches()
				return err
			}
		}
		r.calls = make([]call, slots)
		c := region.Config{
			Workers: len(r.workers), Slots: slots, Rows: r.p.opt.BatchSize, Grain: r.p.grain,
			Run: r.row, Finish: r.finish, Lost: r.lost,
		}
		if r.p.opt.Events.WorkerWaited != nil {
			c.Waited = r.waited
		}
		var pins *pinner
		if r.p.cpus != nil {
			pins = newPinner(r.p.cpus)
			c.Start = pins.pin
		}
		r.engine = region.New(c)
		if pins != nil {
			if err := pins.wait(); err != nil {
				r.engine.Close()
				r.engine = nil
				r.freeBatches()
				return err
			}
		}
		r.engine.SetWorkers(r.p.opt.Workers)
		r.running.Store(true)
	}
	r.resume()
	return nil
}

// resume lets the workers go on; the processor time counts from now on.
func (r *hostRegion) resume() {
	if r.arbiter != nil {
		r.arbiter.resume()
	}
	r.engine.Resume()
	r.consumer.resumed()
}

// park stops the workers after the samples in hand.
func (r *hostRegion) park() {
	if r.arbiter != nil {
		r.arbiter.park()
	}
	r.engine.Park()
	r.consumer.parked()
}

// begin is the node's kernel: it lets the workers make a batch. The node's
// output says whether the feed had one.
func (r *hostRegion) begin(_ context.Context, c *executor.Call) error {
	seq := c.Root()
	epoch, step, ok := r.feed.Locate(seq)
	c.Set(0, executor.Bool(ok))
	if !ok {
		c.Done(nil)
		return nil
	}
	b := r.batches[c.Slot()]
	if b == nil {
		var err error
		if b, err = newBatch(r); err != nil {
			return err
		}
	}
	if r.arbiter != nil {
		r.arbiter.use(c.Slot(), b)
	} else {
		r.batches[c.Slot()] = b
	}
	b.slot = c.Slot()
	b.begin(seq, epoch, step)
	b.tell(r.p.opt.Events.BatchBegun)
	if r.arbiter != nil {
		r.arbiter.armed(call{node: c, batch: b})
	} else {
		*r.call(seq) = call{node: c, batch: b}
	}
	r.engine.Arm()
	return nil
}

func (r *hostRegion) call(seq int64) *call { return &r.calls[seq%int64(len(r.calls))] }

// finish is called by the worker that made the last row of a batch.
func (r *hostRegion) finish(seq int64) {
	if a := r.arbiter; a != nil {
		a.finished(seq)
		for c, ok := a.pop(); ok; c, ok = a.pop() {
			r.complete(c)
		}
		return
	}
	c := *r.call(seq)
	*r.call(seq) = call{}
	r.complete(c)
}

// complete ends the node's run for a batch.
func (r *hostRegion) complete(c call) {
	c.batch.finish()
	if r.uses != nil {
		r.uses[c.batch.slot].noteBatch(c.batch)
	}
	c.batch.tell(r.p.opt.Events.BatchMade)
	c.node.Done(c.err)
}

// deliver hands a finished batch to the consumer.
func (r *hostRegion) deliver(res executor.Result) *Batch {
	b := r.batches[res.Slot()]
	b.result = res
	b.refs.Store(1)
	r.consumer.held.Add(1)
	return b
}

// abandon ends what is unfinished. The engine is parked, and stays so.
func (r *hostRegion) abandon() {
	r.engine.Reset()
	for i, c := range r.calls {
		if c.node != nil {
			r.calls[i] = call{}
			c.node.Done(errAbandoned)
		}
	}
	r.restartSequences()
	if r.arbiter != nil {
		r.arbiter.reset()
	}
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
	if r.engine != nil {
		r.engine.Close()
	}
	r.freeBatches()
	for _, w := range r.workers {
		w.release()
	}
	if r.arbiter != nil {
		r.arbiter.reset()
	}
}

func (r *hostRegion) freeBatches() {
	for _, b := range r.batches {
		if b != nil {
			b.free()
		}
	}
	r.batches = nil
}

// row makes one row; it runs on a worker.
func (r *hostRegion) row(worker int, seq int64, row int) {
	w, b, idx := r.workers[worker], r.call(seq).batch, r.indices[worker]
	b.mask[row], b.ids[row] = true, -1
	for i := range idx {
		if r.seqs[i] != nil {
			idx[i] = b.step*int64(r.p.opt.BatchSize) + int64(row)
			continue
		}
		index, ok := r.feed.Sample(i, b.epoch, b.step, row)
		if !ok {
			r.void(b, row)
			return
		}
		idx[i] = index
	}
	b.ids[row] = idx[0]
	if r.arbiter != nil && !r.arbiter.begin(w, b, row) {
		r.engine.Again(b.seq, row)
		return
	}
	err := w.run(r.ctx, b, row, idx, r.seqs)
	if r.arbiter != nil && r.arbiter.end(w, b, row, err == nil) {
		r.engine.Again(b.seq, row)
		return
	}
	switch {
	case err == nil:
		w.rec.made()
	case errors.Is(err, errEnd):
		b.ids[row] = -1
		r.void(b, row)
	default:
		n := &r.p.nodes[w.at]
		reader := max(n.reader, 0)
		w.rec.failed()
		r.failed(b, row, reader, idx[reader], n.op.Name, err)
	}
}

// lost is called for a row whose operator ended the worker's goroutine.
func (r *hostRegion) lost(worker int, seq int64, row int) {
	w := r.workers[worker]
	if w.rec.timing {
		w.rec.done(nil, errGoexit)
	}
	w.rec.failed()
	if r.arbiter != nil {
		r.arbiter.end(w, r.call(seq).batch, row, false)
	}
	r.failed(r.call(seq).batch, row, 0, r.indices[worker][0], r.p.nodes[w.at].op.Name, errGoexit)
}

// waited is called by a worker that waited for a free batch.
func (r *hostRegion) waited(worker int, since time.Time) {
	r.p.opt.Events.WorkerWaited(WaitEvent{Start: since, Duration: time.Since(since), Worker: worker})
}

// void makes a row not valid.
func (r *hostRegion) void(b *Batch, row int) {
	if r.arbiter != nil {
		r.arbiter.void(b, row)
	} else {
		b.void(row)
	}
}

// failed records the error of a row: of what a reader delivered, or of what an
// operator made of it. The row is void until a policy says otherwise.
func (r *hostRegion) failed(b *Batch, row, reader int, index int64, op string, err error) {
	b.errs[row] = &SampleError{Source: r.p.readers[reader].describe(index), Index: index, Op: op, Err: err}
	r.void(b, row)
}
