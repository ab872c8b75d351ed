package run

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/compiled"
)

// sampleRegion is the sample region of a pipeline: all its per-sample operators,
// run as one node of the program. Its workers take the rows of the batches in
// flight in order.
type sampleRegion struct {
	e       *Engine
	p       *compiled.Pipeline
	workers []*worker
	seqs    []*turnstile // by reader, nil where it is a source

	memory     keeper
	aheads     []*readAhead
	lookAheads []lookAhead // by reader, of the run that start began

	rows     *executor.RowPool
	pins     *pinner     // nil without Options.SetAffinity
	running  atomic.Bool // it has been started
	flights  []*Flight   // by slot of the loop; nil where Autotune has not needed it yet
	consumer consumer

	batchCounts []batchCounts // by operator for whole batches
	storage     storageCounts // before the first run
	watch       *streamWatch  // nil where no operator works on a stream
	house       *house        // nil without Options.Remote

	// Of the run that start began.
	ctx   context.Context
	feed  Feed
	mixed MixFeed // the feed, if it tells the visits of samples

	uses [compiled.Parts][]*memoryUse // by part and slab, those of batches by slot; none without Options.EnableMemoryStats

	// Where the parts have prefetch depths of their own:
	slabs      [compiled.Parts][]*slab
	dispensers [compiled.Parts]*slabDispenser // of the run that start began

	turns *dispenser[*executor.Call, turn] // of the run that start began
}

func newSampleRegion(e *Engine) (*sampleRegion, error) {
	p := e.p
	r := &sampleRegion{e: e, p: p, seqs: make([]*turnstile, len(p.Readers())), watch: watchStreams(p)}
	operators, _ := p.Operators()
	for i, op := range p.BatchOps() {
		r.batchCounts = append(r.batchCounts, batchCounts{
			operator: len(operators) - len(p.BatchOps()) + i, moves: op.Moves, hook: p.Options().Events.Operator,
		})
	}
	for i, rd := range p.Readers() {
		if rd.Sequence != nil {
			r.seqs[i] = newTurnstile(rd.Sequence)
		}
	}
	r.memory = newKeeper(r)
	r.aheads = newReadAheads(p)
	r.lookAheads = make([]lookAhead, len(p.Readers()))
	touchers := touchers(p)
	r.uses = newMemoryUses(p)
	for i := range p.Options().MaxWorkers {
		w, err := newWorker(p, i, 0, len(p.Nodes()))
		if err != nil {
			r.close()
			return nil, err
		}
		w.aheads, w.lookAheads, w.touchers = r.aheads, r.lookAheads, touchers
		r.workers = append(r.workers, w)
		if err := w.attach(r.memory); err != nil {
			r.close()
			return nil, err
		}
		w.gather = newGather(r, w)
	}
	if p.Options().Remote != nil {
		if err := r.newHouse(); err != nil {
			r.close()
			return nil, err
		}
	}
	if o := p.Options(); o.CPUs != nil {
		r.pins = newPinner(o)
	}
	r.storage = readStorage(p)
	e.latest.Store(r)
	return r, nil
}

// start readies the region for a run from batch 0 of feed.
func (r *sampleRegion) start(ctx context.Context, feed Feed) (err error) {
	r.ctx, r.feed = ctx, feed
	var mixed bool
	r.mixed, mixed = feed.(MixFeed)
	if first := r.p.Readers()[0]; first.Mixes && !mixed {
		return fmt.Errorf("pipeline: reader %q is a mix and needs a MixFeed, not %T", first.Name, feed)
	}
	if r.flights == nil {
		if err := r.newFlights(); err != nil {
			r.freeFlights()
			return err
		}
	}
	r.stopLookAhead() // of a run that could not begin
	if err := r.startLookAhead(ctx, feed); err != nil {
		r.stopLookAhead()
		return err
	}
	r.dispenseSlabs()
	r.turns = newTurns()
	for _, a := range r.aheads {
		a.start(ctx)
	}
	r.goOn()
	if r.house != nil {
		return r.house.start(ctx)
	}
	return nil
}

// newFlights allocates the flights that a run begins with.
func (r *sampleRegion) newFlights() (err error) {
	r.flights = make([]*Flight, r.p.Options().Slots())
	for i := range r.p.Options().PrefetchDepth + 1 {
		if r.flights[i], err = newFlight(r, i); err != nil {
			return err
		}
	}
	return r.newSlabs()
}

// rowWork returns what the executor's workers do for the region's node.
func (r *sampleRegion) rowWork() *executor.Rows {
	w := &executor.Rows{N: r.p.Options().BatchSize, Grain: r.grain(), Ran: r.ran}
	r.memory.work(w)
	if r.gathers() {
		w.Ticket = r.ticket
	}
	if r.p.Options().Events.WorkerWaited != nil {
		w.Waited = r.waited
	}
	if r.house != nil {
		w.Idle = r.house.idle
		if r.house.router != nil {
			w.Suits = r.suits
		}
	}
	if r.pins != nil {
		w.Start = r.pins.pin
	}
	return w
}

// started is called when the workers of a run have been started. It returns why they
// cannot be used.
func (r *sampleRegion) started() error {
	r.running.Store(true)
	if r.pins == nil {
		return nil
	}
	return r.pins.wait()
}

// resume lets the workers go on.
func (r *sampleRegion) resume() {
	r.goOn()
	r.rows.Resume()
}

// goOn readies what is around the workers to go on; the processor time counts from now
// on.
func (r *sampleRegion) goOn() {
	r.memory.park(false)
	for _, a := range r.aheads {
		a.park(false)
	}
	if r.house != nil {
		r.house.park(false)
	}
	r.consumer.resumed()
}

// pause stops the workers after the samples in hand, for which quiet waits.
func (r *sampleRegion) pause() {
	r.memory.park(true)
	for _, a := range r.aheads {
		a.park(true)
	}
	r.rows.Pause()
	if r.house != nil {
		r.house.park(true)
	}
	r.consumer.parked()
}

// quiet waits for the workers that were paused, or for the end of ctx.
func (r *sampleRegion) quiet(ctx context.Context) {
	r.rows.Quiet(ctx)
	r.consumer.parked()
}

// begin is the node's kernel: it lets the workers make a batch. The node's
// output says whether the feed had one.
func (r *sampleRegion) begin(ctx context.Context, c *executor.Call) error {
	seq := c.Root()
	epoch, step, ok := r.feed.Locate(seq)
	setOutputs(c, ok)
	if !ok {
		if f := r.flights[c.Slot()]; f != nil {
			f.returnSlab(compiled.OfHost)
		}
		c.Done(nil)
		return nil
	}
	f := r.flights[c.Slot()]
	if f == nil {
		var err error
		if f, err = newFlight(r, c.Slot()); err != nil {
			return err
		}
	}
	f.begin(seq, epoch, step)
	r.plan(f)
	f.tell(r.p.Options().Events.BatchBegun)
	r.memory.armed(ctx, f, c)
	for i, a := range r.aheads {
		a.begin(&f.fetches[i], seq, f.samples[a.reader])
	}
	if !c.Arm() {
		return executor.ErrClosed
	}
	return nil
}

// plan asks the feed for the samples of a batch, and marks its valid rows.
func (r *sampleRegion) plan(f *Flight) {
	plan := f.samples
	rows := len(f.ids)
	for i := range plan {
		plan[i] = plan[i][:0]
		if leader := r.p.Readers()[i].Leader; leader >= 0 {
			for _, id := range plan[leader] {
				plan[i] = append(plan[i], r.p.Readers()[leader].Index(id))
			}
			continue
		}
		if r.seqs[i] == nil {
			plan[i] = r.feed.AppendBatch(plan[i], i, f.epoch, f.step)
			rows = min(rows, len(plan[i]))
			continue
		}
		for row := range f.ids {
			plan[i] = append(plan[i], f.step*int64(len(f.ids))+int64(row))
		}
	}
	for i := range plan {
		plan[i] = plan[i][:rows]
	}
	for row := range f.ids {
		f.ids[row], f.mask[row] = -1, row < rows
	}
	copy(f.ids, plan[0])
	if r.mixed != nil {
		f.epochs = r.mixed.AppendEpochs(f.epochs[:0], f.epoch, f.step)
	}
}

// finish is called by the worker that made the last row of a batch.
func (r *sampleRegion) finish(c *executor.Call) { r.flights[c.Slot()].complete() }

// deliver hands a finished batch to the consumer.
func (r *sampleRegion) deliver(res executor.Result) *Flight {
	f := r.flights[res.Slot()]
	f.result = res
	f.refs.Store(1)
	r.consumer.held.Add(1)
	r.memory.delivered()
	return f
}

// abandon gives up what is left of a run whose loop is closed.
func (r *sampleRegion) abandon() {
	r.stopLookAhead()
	for _, a := range r.aheads {
		a.stop()
	}
	if r.house != nil {
		r.house.wait()
	}
	r.restartSequences()
	r.memory.reset()
}

func (r *sampleRegion) restartSequences() {
	for _, s := range r.seqs {
		if s != nil {
			s.restart()
		}
	}
}

// close joins the workers and frees the memory.
func (r *sampleRegion) close() {
	r.stopLookAhead()
	if r.house != nil {
		r.house.wait()
	}
	for _, a := range r.aheads {
		a.stop()
	}
	r.memory.reset()
	r.freeFlights()
	for _, w := range r.workers {
		w.limit.close()
		w.release()
	}
	if closed := r.p.Options().Closed; closed != nil {
		closed()
	}
}

func (r *sampleRegion) freeFlights() {
	for _, f := range r.flights {
		if f != nil {
			f.free()
		}
	}
	r.flights = nil
	r.freeSlabs()
	r.e.trim()
}
