package pipeline

import (
	"context"
	"errors"
	"sync/atomic"

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

	engine  *region.Engine // nil before the first start
	batches []*Batch       // by slot of the loop
	held    atomic.Int32   // batches with the consumer

	// Of the run that start began.
	ctx   context.Context
	feed  Feed
	calls []call // of the batches in flight, by batch modulo slots
}

// call is an unfinished run of the region's node.
type call struct {
	node  *executor.Call
	batch *Batch
}

func newHostRegion(p *Pipeline) (*hostRegion, error) {
	r := &hostRegion{p: p, seqs: make([]*turnstile, len(p.readers))}
	for i, rd := range p.readers {
		if rd.Sequence != nil {
			r.seqs[i] = newTurnstile(rd.Sequence)
		}
	}
	for range p.opt.Workers {
		w, err := p.newWorker()
		if err != nil {
			return nil, err
		}
		r.workers = append(r.workers, w)
		r.indices = append(r.indices, make([]int64, len(p.readers)))
	}
	return r, nil
}

// start readies the region for a run from batch 0 of feed.
func (r *hostRegion) start(ctx context.Context, feed Feed) {
	r.ctx, r.feed = ctx, feed
	if r.engine == nil {
		slots := r.p.opt.PrefetchDepth + 1
		for range slots {
			r.batches = append(r.batches, newBatch(r.p, &r.held))
		}
		r.calls = make([]call, slots)
		r.engine = region.New(region.Config{
			Workers: r.p.opt.Workers, Slots: slots, Rows: r.p.opt.BatchSize, Grain: r.p.grain,
			Run: r.row, Finish: r.finish, Lost: r.lost,
		})
	}
	r.engine.Resume()
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
	b.begin(seq, epoch, step)
	*r.call(seq) = call{c, b}
	r.engine.Arm()
	return nil
}

func (r *hostRegion) call(seq int64) *call { return &r.calls[seq%int64(len(r.calls))] }

// finish is called by the worker that made the last row of a batch.
func (r *hostRegion) finish(seq int64) {
	c := *r.call(seq)
	*r.call(seq) = call{}
	c.batch.finish()
	c.node.Done(nil)
}

// deliver hands a finished batch to the consumer.
func (r *hostRegion) deliver(res executor.Result) *Batch {
	b := r.batches[res.Slot()]
	b.result = res
	b.refs.Store(1)
	r.held.Add(1)
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
	for _, b := range r.batches {
		b.free()
	}
	for _, w := range r.workers {
		w.free()
	}
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
			b.void(row)
			return
		}
		idx[i] = index
	}
	b.ids[row] = idx[0]
	err := w.run(r.ctx, b, row, idx, r.seqs)
	switch {
	case err == nil:
	case errors.Is(err, errEnd):
		b.ids[row] = -1
		b.void(row)
	default:
		n := &r.p.nodes[w.at]
		reader := max(n.reader, 0)
		r.failed(b, row, reader, idx[reader], n.op.Name, err)
	}
}

// lost is called for a row whose operator ended the worker's goroutine.
func (r *hostRegion) lost(worker int, seq int64, row int) {
	r.failed(r.call(seq).batch, row, 0, r.indices[worker][0], r.p.nodes[r.workers[worker].at].op.Name, errGoexit)
}

// failed records the error of a row: of what a reader delivered, or of what an
// operator made of it. The row is void until a policy says otherwise.
func (r *hostRegion) failed(b *Batch, row, reader int, index int64, op string, err error) {
	b.errs[row] = &SampleError{Source: r.p.readers[reader].describe(index), Index: index, Op: op, Err: err}
	b.void(row)
}
