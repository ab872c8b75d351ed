package executor

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/planktonml/plankton/streams"
)

// Options configures an Executor. The zero value is ready to use.
type Options struct {
	// Workers is how many goroutines may run expensive nodes of one run or loop at the
	// same time, the caller of Run included, and how many may make rows (Rows). Default
	// GOMAXPROCS. With 1, everything but rows runs on the goroutines that call.
	// Goroutines are started when they are first needed, and live until Close.
	Workers int

	// Concurrency limits how many operators run at once. Default no limit.
	Concurrency Concurrency

	// Allocator is where Call.Alloc gets memory from. Default Heap.
	Allocator Allocator

	// Devices run the work that kernels of mixed and device nodes issue; Op.Devices are
	// places in this list, which New refuses if it is too short. They stay the caller's.
	// Without any, that work is done on the spot.
	Devices []streams.Device

	// Plan gives those nodes their streams, for the graph of
	// Program.StreamGraph; New has streams.Verify prove it. Its order and its waits
	// are not used: nodes are issued as they become ready, and wait accordingly.
	// Default: the plan of StreamPolicy with at most StreamBudget streams (0 sets no
	// bound).
	Plan         *streams.Plan
	StreamPolicy streams.Policy
	StreamBudget int

	// Name is how other programs call this executor in a rendezvous.
	Name string
}

func (o *Options) setDefaults() error {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Allocator == nil {
		o.Allocator = Heap{}
	}
	if o.Workers < 0 {
		return fmt.Errorf("executor: Options.Workers is %d, expected 1 or more, or 0 for GOMAXPROCS", o.Workers)
	}
	if o.Concurrency > ConcurrencyNone {
		return fmt.Errorf("executor: Options.Concurrency is %d, expected one of the constants", o.Concurrency)
	}
	return nil
}

// Executor runs a program, any number of times and from any number of
// goroutines at once. It owns the program and the goroutines that work on it.
type Executor struct {
	prog    *Program
	opts    Options
	costs   costs
	maxOuts int

	mu       leafMutex
	work     sync.Cond // busy or closing changed
	busy     []*step   // steps with shared nodes, some perhaps taken meanwhile
	numbers  []int     // of workers for rows that no goroutine has
	idle     int       // goroutines that wait for work and have not been called
	started  int       // goroutines of the pool
	closing  bool
	steps    []*step    // stock
	sessions []*session // stock
	active   map[*step]handle
	inactive sync.Cond // active changed

	rows  *RowPool // nil for a program without rows
	pool  sync.WaitGroup
	async sync.WaitGroup // RunAsync
}

// New returns an executor for the program, which must not have one yet.
func New(p *Program, o Options) (*Executor, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	if err := o.planStreams(p); err != nil {
		return nil, err
	}
	if !p.taken.CompareAndSwap(false, true) {
		return nil, ErrInUse
	}
	x := &Executor{prog: p, opts: o, costs: newCosts(len(p.items)), active: make(map[*step]handle)}
	x.work.L, x.inactive.L = &x.mu, &x.mu
	if p.rows != nil {
		x.rows = newRowPool(x, p.rows)
	}
	for i := range p.items {
		x.maxOuts = max(x.maxOuts, int(p.items[i].outs))
	}
	return x, nil
}

// Program returns the program that the executor runs.
func (x *Executor) Program() *Program { return x.prog }

// Args is what one run works on.
type Args struct {
	// In holds the inputs of the graph, in the order in which they were
	// declared, and Out receives its outputs. Out may be shorter than the list
	// of outputs. A *Buffer in In stays the caller's; one in Out is the
	// caller's to release.
	In, Out []Value

	// Rendezvous connects Send and Recv nodes with other programs. It is
	// aborted if the run fails. Default: one of the run's own.
	Rendezvous *Rendezvous
}

// Run runs the program once and returns when nothing of the run is going on any more. The
// error is a *NodeError for the first node that failed, or the cause of ctx if that ended
// first. Where an output is dead, the error wraps ErrNoValue, and Out holds the outputs that
// have a value.
//
// The calling goroutine runs the nodes; other goroutines take expensive ones.
func (x *Executor) Run(ctx context.Context, a Args) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if x.rows != nil {
		return errNoRun
	}
	if err := x.checkArgs(a.In, a.Out); err != nil {
		return err
	}
	st, err := x.take()
	if err != nil {
		return err
	}
	st.helpers = x.opts.Workers - 1
	st.alone = !x.prog.async && (st.helpers == 0 || !x.prog.expensive)
	run := st.begin(ctx, a.In, a.Rendezvous)
	if err := x.activate(run); err != nil {
		run.end(err)
		st.over(a.Rendezvous == nil)
		st.close()
		return err
	}
	stop := run.watch(ctx)
	defer func() { // also if a kernel ends this goroutine
		x.await(st)
		stop()
		err = x.end(st, a.Out, a.Rendezvous == nil)
	}()
	st.root.armRoot(0)
	st.inflight.Store(1)
	s := x.newSession(st)
	s.startRoot(st.root)
	s.run()
	x.await(st)
	return nil
}

// RunAsync is Run on a goroutine of its own, which calls done with the outcome. The slices in
// a are used until then. Close waits for done, so done must not call Close.
func (x *Executor) RunAsync(ctx context.Context, a Args, done func(error)) {
	x.mu.Lock()
	if x.closing {
		x.mu.Unlock()
		done(ErrClosed)
		return
	}
	x.async.Add(1)
	x.mu.Unlock()
	go func() {
		defer x.async.Done()
		err := ErrGoexit // if Run does not return because a kernel ends this goroutine
		defer func() { done(err) }()
		err = x.Run(ctx, a)
	}()
}

// RunOn is Run as the next work of a stream, behind what was issued there
// before and ahead of what is issued later, whatever streams, loops and
// branches the program itself has. It returns at once. The event completes with
// the run, and carries its error, which becomes the stream's as well. The
// slices in a are used until then. A kernel cannot run another program on the
// stream that it is on itself: with the context of the kernel the error is
// streams.ErrOwnStream (see streams.Schedule).
func (x *Executor) RunOn(ctx context.Context, s streams.Stream, a Args) streams.Event {
	return streams.Schedule(ctx, s, func(ctx context.Context) error { return x.Run(ctx, a) })
}

// Close cancels what is running with ErrClosed, waits for it, stops the
// goroutines and closes the kernels, whose errors it joins. What a Loop's
// consumer still holds stays valid. Further calls return nil.
func (x *Executor) Close() error {
	x.mu.Lock()
	if x.closing {
		x.mu.Unlock()
		return nil
	}
	x.closing = true
	running := slices.Collect(maps.Values(x.active))
	x.mu.Unlock()
	for _, run := range running {
		run.end(ErrClosed)
	}
	for _, run := range running {
		if l := run.st.loop; l != nil {
			l.Close()
		}
	}
	x.mu.Lock()
	for len(x.active) > 0 {
		x.inactive.Wait()
	}
	x.work.Broadcast()
	x.mu.Unlock()
	if x.rows != nil {
		x.rows.close()
	}
	x.pool.Wait()
	x.async.Wait()
	for _, st := range x.steps {
		st.close()
	}
	return x.prog.closeKernels()
}

func (x *Executor) checkArgs(in, out []Value) error {
	if len(in) != len(x.prog.inputs) {
		return fmt.Errorf("executor: given %d inputs, expected %d: %q", len(in), len(x.prog.inputs), x.prog.inputs)
	}
	for i := range in {
		if in[i].IsEmpty() {
			return fmt.Errorf("executor: input %q has no value", x.prog.inputs[i])
		}
	}
	if len(out) > len(x.prog.outputs) {
		return fmt.Errorf("executor: room for %d outputs given, there are %d: %q", len(out), len(x.prog.outputs), x.prog.outputs)
	}
	return nil
}

// take takes a step for one run from the stock, or makes one.
func (x *Executor) take() (st *step, err error) {
	x.mu.Lock()
	if n := len(x.steps); n > 0 && !x.closing {
		st = x.steps[n-1]
		x.steps = x.steps[:n-1]
	}
	x.mu.Unlock()
	if st == nil { // without x.mu: events of the device take it
		if st, err = newStep(x); err != nil {
			return nil, err
		}
		st.root = st.newRoot()
	}
	return st, nil
}

// activate makes a run, which has begun, known to Close.
func (x *Executor) activate(run handle) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closing {
		return ErrClosed
	}
	x.active[run.st] = run
	return nil
}

// end collects the outcome of a run and puts its step back.
func (x *Executor) end(st *step, out []Value, ownRendezvous bool) error {
	err := st.over(ownRendezvous)
	outs := st.root.outs
	if err == nil {
		for i := range out {
			out[i], outs[i] = outs[i], Value{}
			out[i].unstage()
			if out[i].IsEmpty() && err == nil {
				err = &OutputError{Output: x.prog.outputs[i], Err: ErrNoValue}
			}
		}
		for i := range outs {
			outs[i].clear()
		}
	} else {
		clear(out)
		st.abandon(st.root)
	}
	x.mu.Lock()
	delete(x.active, st)
	x.inactive.Broadcast()
	x.steps = append(x.steps, st)
	x.mu.Unlock()
	return err
}
