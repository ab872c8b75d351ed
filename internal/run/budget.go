package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/budget"
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/fault"
)

// An arbiter keeps a run within Options.MemoryBudget. What is decided, and why nothing
// waits for ever, is budget.Machine's business. The arbiter tells it what happens, under
// one lock, carries out what it says, and has workers wait for its answers.
//
// Ragged rows go by the shrink threshold at every sample here, so that a batch takes what
// its samples need and not what the largest of them would.
type arbiter struct {
	r     *sampleRegion
	given atomic.Int64 // bytes that were given back, and the machine was not told

	mu      sync.Mutex
	machine *budget.Machine
	waits   []wait          // by worker
	ready   []*Flight       // of complete batches that nobody has ended yet
	run     context.Context // that the arbiter watches, nil before the first batch
}

// wait is where a worker waits for the machine's answer.
type wait struct {
	answered sync.Cond
	answer   budget.Act // its Kind is 0 until it is there
}

// errGaveUp ends the work on a sample that is made again later.
var errGaveUp = errors.New("the sample gives its memory to an older one and is made again")

func newArbiter(r *sampleRegion) *arbiter {
	p := r.p
	fixed, _ := p.DenseBytes()
	sequence := p.Readers()[0].Sequence != nil
	workers := p.Options().MaxWorkers
	if m := p.Options().Remote; m != nil {
		workers += m.Plan().Lanes
	}
	a := &arbiter{r: r, waits: make([]wait, workers)}
	a.machine = budget.New(budget.Config{
		Budget: p.Options().MemoryBudget, Fixed: compiled.AddCapped(fixed, compiled.AddCapped(p.Options().IndexBytes, p.LookAhead())), Workers: workers, Slots: p.Options().Slots(), Rows: p.Options().BatchSize, Sequence: sequence,
		OneByOne: sequence && slices.ContainsFunc(p.Outputs(), func(o compiled.Output) bool { return !o.Spec.Dense() }),
	})
	for i := range a.waits {
		a.waits[i].answered.L = &a.mu
	}
	return a
}

// sample returns the number of a row, counted over batches.
func (a *arbiter) sample(seq int64, row int) int64 {
	return seq*int64(a.r.p.Options().BatchSize) + int64(row)
}

// place returns the flight that an act is about, and the row of its sample.
func (a *arbiter) place(act budget.Act) (f *Flight, row int) {
	return a.r.flights[act.Slot], int(act.Sample % int64(a.r.p.Options().BatchSize))
}

// tell tells the machine of an event, and does what comes of it.
func (a *arbiter) tell(event func(*budget.Machine)) {
	a.mu.Lock()
	event(a.machine)
	a.act()
	a.mu.Unlock()
}

// act does all that the machine says; mu is held.
func (a *arbiter) act() {
	for {
		if n := a.given.Load(); n != 0 {
			a.given.Add(-n)
			a.machine.Gave(n)
		}
		act, ok := a.machine.Next()
		if !ok {
			return
		}
		a.do(act)
	}
}

// do does one thing that the machine says.
func (a *arbiter) do(act budget.Act) {
	switch act.Kind {
	case budget.Go, budget.GiveUp, budget.Refuse, budget.Leave:
		w := &a.waits[act.Worker]
		w.answer = act
		w.answered.Signal()
	case budget.Keep:
		if kept := a.r.workers[act.Worker].keep(); kept != nil {
			f, row := a.place(act)
			f.putAside(row, kept)
		}
	case budget.FreeScratch:
		a.r.workers[act.Worker].release()
	case budget.FreeRow:
		f, row := a.place(act)
		f.freeRow(row)
	case budget.FreeBatch:
		if f := a.r.flights[act.Slot]; f != nil { // else Autotune has not needed it yet
			f.freeRows()
		}
	case budget.Again:
		f, row := a.place(act)
		a.machine.Remade(act.Sample, a.r.rows.Again(f.call, row))
	case budget.Complete:
		f := a.r.flights[act.Slot]
		f.err = batchTooLarge(act.Err)
		a.ready = append(a.ready, f)
	}
}

// batchTooLarge makes a batch that does not fit the error of this package.
func batchTooLarge(err error) error {
	if e, ok := err.(*budget.BatchError); ok {
		own := fault.BatchBudgetError(*e)
		return &own
	}
	return err
}

// answer does what the machine says and waits for its answer to a worker; mu is held.
func (a *arbiter) answer(worker int) error {
	a.act()
	wait := &a.waits[worker]
	if wait.answer.Kind == 0 {
		w, began := a.r.workers[worker], now()
		w.limit.pause() // to wait for memory is not the sample's work
		for wait.answer.Kind == 0 {
			wait.answered.Wait()
		}
		w.limit.resume()
		w.rec.waitedMemory(now() - began)
	}
	act := wait.answer
	wait.answer = budget.Act{}
	switch act.Kind {
	case budget.Go:
		return nil
	case budget.GiveUp:
		return errGaveUp
	case budget.Leave:
		return errAbandoned
	default:
		return batchTooLarge(act.Err)
	}
}

// work implements keeper.
func (a *arbiter) work(rows *executor.Rows) {
	rows.Row, rows.Finish, rows.Lost = a.row, a.finish, a.lost
}

// row is sampleRegion.row under a budget.
func (a *arbiter) row(worker int, c *executor.Call, row int) {
	w, f, valid := a.r.open(worker, c, row)
	if !valid || !a.begin(w, f, row) {
		return
	}
	if err := a.r.try(w, f, row); a.end(w, f, row, err == nil) {
		a.r.settle(w, f, row, err)
	}
}

// lost is sampleRegion.lost under a budget.
func (a *arbiter) lost(worker int, c *executor.Call, row int) {
	w, f := a.r.lose(worker, c, row)
	if a.end(w, f, row, false) { // else the operator ended it when it was told to give up
		a.r.failed(w, f, row, errGoexit)
	}
}

// finish is sampleRegion.finish under a budget: batches are complete in order.
func (a *arbiter) finish(node *executor.Call) {
	a.tell(func(m *budget.Machine) { m.RowsDone(node.Root()) })
	a.completeAll()
}

// completeAll completes the batches that the machine lets go, also those behind one whose
// operator for whole batches ends this goroutine.
func (a *arbiter) completeAll() {
	a.mu.Lock()
	if len(a.ready) == 0 {
		a.mu.Unlock()
		return
	}
	f := a.ready[0]
	a.ready = slices.Delete(a.ready, 0, 1)
	a.mu.Unlock()
	defer a.completeAll()
	f.complete()
}

// begin makes a worker begin a sample of a batch, once it may. False means that the sample
// is begun later.
func (a *arbiter) begin(w *worker, f *Flight, row int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept, read := f.setAside[row]
	w.at = 0
	a.machine.Begin(w.number, a.sample(f.seq, row), read)
	if a.answer(w.number) != nil {
		return false
	}
	if read {
		w.kept = kept
		delete(f.setAside, row)
	}
	return true
}

// admit implements keeper.
func (a *arbiter) admit(w *worker) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.machine.Admit(w.number)
	return a.answer(w.number)
}

// end ends what begin began. It reports whether the sample has come to a result or an error
// of its own; else the row is seen to.
func (a *arbiter) end(w *worker, f *Flight, row int, good bool) (settled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	end := a.machine.End(w.number, good, w.reserved(), f.holds(row))
	a.act()
	if end == budget.Leave {
		f.void(row)
	}
	return end == 0
}

// drop implements keeper: the sample gives up, as one does that an older one needs the memory
// of.
func (a *arbiter) drop(w *worker, f *Flight, row int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.machine.Drop(w.number)
	a.machine.End(w.number, false, w.reserved(), f.holds(row))
	a.act()
}

// giveBack implements keeper: samples that wait behind this one make room for it. One
// of the executor's workers makes it. The machine is told before a worker can begin the sample:
// later it would wait for a sample that is made.
func (a *arbiter) giveBack(f *Flight, row int, t executor.Taken, _ bool) {
	a.tell(func(m *budget.Machine) { m.Remake(a.sample(f.seq, row)) })
	a.r.rows.GiveBack(t, true)
}

// void implements keeper: the memory of the row may be wanted by others.
func (a *arbiter) void(f *Flight, row int) {
	a.mu.Lock()
	f.void(row)
	a.mu.Unlock()
}

// armed implements keeper. Until then the batch is idle, so that at any time what it has
// left from earlier can be freed.
func (a *arbiter) armed(ctx context.Context, f *Flight, c *executor.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != ctx {
		a.run = ctx
		context.AfterFunc(ctx, func() { a.abandon(ctx) })
	}
	f.hold(c)
	a.machine.Armed(f.seq, f.slot)
	a.act()
}

// abandon ends all waiting for memory in a run whose context has ended, such as by an
// operator for whole batches that failed: the memory of its batch does not come back
// before the samples behind it have ended.
func (a *arbiter) abandon(run context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == run {
		a.machine.Abandon()
		a.act()
	}
}

func (a *arbiter) ask(waits bool) { a.tell(func(m *budget.Machine) { m.Ask(waits) }) }

func (a *arbiter) delivered() { a.tell((*budget.Machine).Delivered) }

func (a *arbiter) returned(f *Flight) { a.tell(func(m *budget.Machine) { m.Returned(f.slot) }) }

func (a *arbiter) park(parked bool) { a.tell(func(m *budget.Machine) { m.Park(parked) }) }

// reset implements keeper.
func (a *arbiter) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.r.flights {
		if f != nil {
			f.freeAside()
		}
	}
	a.ready, a.run = a.ready[:0], nil
	a.machine.Reset()
}
