package executor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/streams"
)

var (
	chaosFor  = flag.Duration("chaos.for", 0, "for how long TestChaos draws graphs; 0 means 300 graphs")
	chaosSeed = flag.Int("chaos.seed", 1, "the seed of the first graph of TestChaos; the others follow")
)

// TestChaos runs random graphs from several goroutines at once, in runs and in
// loops, while kernels fail in every way there is, contexts end, and the executor
// is closed. What comes out has the values that the same program has in Go, or is
// an error that something has caused; nothing waits for ever, and nothing is left.
func TestChaos(t *testing.T) {
	begin := time.Now()
	var total tally
	seed := *chaosSeed
	for more := true; more; seed++ {
		chaosCase(t, seed, &total)
		more = seed+1 < *chaosSeed+300
		if *chaosFor > 0 {
			more = time.Since(begin) < *chaosFor
		}
		if t.Failed() {
			t.Fatalf("seed %d: run it alone with -run TestChaos -chaos.seed=%d -chaos.for=1ns", seed, seed)
		}
	}
	t.Logf("seeds %d to %d: %v", *chaosSeed, seed-1, &total)
	if *chaosFor > 0 {
		return
	}
	for _, n := range []*atomic.Int64{&total.right, &total.failed, &total.ended, &total.closed, &total.exited, &total.results} {
		require.NotZero(t, n.Load(), "%v: an outcome never came", &total)
	}
}

// tally counts how runs and loops ended, and the results that loops delivered.
type tally struct{ right, failed, ended, closed, exited, results atomic.Int64 }

func (t *tally) String() string {
	return fmt.Sprintf("%d were right, %d failed by a kernel, %d by a context, %d by Close, %d lost their goroutine; loops delivered %d results",
		t.right.Load(), t.failed.Load(), t.ended.Load(), t.closed.Load(), t.exited.Load(), t.results.Load())
}

// chaos is one case: an executor of a random graph, and what its outputs must
// be.
type chaos struct {
	t       *testing.T
	tally   *tally
	x       *Executor
	in      []Value
	want    []int64
	kernels sync.WaitGroup // goroutines of async nodes
	closed  atomic.Bool    // Close has been called, or is about to be
}

// drawnGraph is what a seed decides of a case.
type drawnGraph struct {
	program program
	start   []int64
	options Options
	devices int
}

// drawChaos draws a program whose kernels look for their run's fault.
func (c *chaos) drawChaos(t *rapid.T) drawnGraph {
	vars := rapid.IntRange(1, 3).Draw(t, "vars")
	devices := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}).Draw(t, "devices")
	return drawnGraph{
		program: drawProgram(t, vars, 4, func() Op {
			var op Op
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0:
				op.Expensive = true
				op.Run = func(ctx context.Context, call *Call) error {
					time.Sleep(time.Duration(rand.IntN(20)) * time.Microsecond)
					return commit(due(ctx), call)
				}
			case kind <= 2:
				op.Async = true
				op.Run = c.async
			case kind == 3 && devices > 0:
				op.Backend = Device
				for d := range devices {
					if d == devices-1 && op.Devices == nil || rapid.Bool().Draw(t, "on") {
						op.Devices = append(op.Devices, d)
					}
				}
				op.OutputDevices = op.Devices[:1]
				op.Run = c.onStream
			default:
				op.Run = func(ctx context.Context, call *Call) error { return commit(due(ctx), call) }
			}
			return op
		}),
		start: rapid.SliceOfN(rapid.Int64Range(0, 100), vars, vars).Draw(t, "start"),
		options: Options{
			Workers:      rapid.IntRange(1, 4).Draw(t, "workers"),
			Concurrency:  Concurrency(rapid.IntRange(0, 2).Draw(t, "concurrency")),
			StreamPolicy: streams.Policy(rapid.IntRange(0, 4).Draw(t, "policy")),
			StreamBudget: rapid.SampledFrom([]int{0, 3, 4}).Draw(t, "streams"),
		},
		devices: devices,
	}
}

// async finishes its node at once, from another goroutine or with a fault on
// either side.
func (c *chaos) async(ctx context.Context, call *Call) error {
	f := due(ctx)
	if f == failing && rand.IntN(2) == 0 || f == panicking || f == exiting || f == leavingEmpty {
		if err := commit(f, call); err != nil {
			return err
		}
	}
	var err error
	if f == failing {
		err = errBoom
	}
	if rand.IntN(4) == 0 {
		call.Done(err)
		return nil
	}
	c.kernels.Go(func() {
		time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
		call.Done(err)
	})
	return nil
}

// onStream fails in the kernel or in its work, on any of its devices or on all of them.
// What its cell holds it holds late, so the kernel leaves the output alone.
func (c *chaos) onStream(ctx context.Context, call *Call) error {
	f := due(ctx)
	if f == leavingEmpty || rand.IntN(2) == 0 {
		return commit(f, call)
	}
	n := call.st.x.prog.devicesOf(call.item.id)
	first := rand.IntN(n)
	for i := first; i < n; i++ {
		call.IssueOn(i, func(*streams.Context) error { return commit(f, nil) })
	}
	return nil
}

func chaosCase(t *testing.T, seed int, total *tally) {
	watchdog := time.AfterFunc(time.Minute, func() {
		stacks := make([]byte, 1<<20)
		panic(fmt.Sprintf("seed %d hangs\n%s", seed, stacks[:runtime.Stack(stacks, true)]))
	})
	defer watchdog.Stop()
	c := &chaos{t: t, tally: total}
	drawn := rapid.Custom(c.drawChaos).Example(seed)
	host := streams.NewHost()
	for range drawn.devices {
		drawn.options.Devices = append(drawn.options.Devices, streams.NewHost())
	}
	mem := new(countingAllocator)
	drawn.options.Allocator = mem
	c.open(drawn)

	rng := rand.New(rand.NewPCG(uint64(seed), 2))
	closeAt := time.Duration(-1)
	if rng.IntN(2) == 0 {
		closeAt = time.Duration(rng.IntN(2000)) * time.Microsecond
	}
	var all sync.WaitGroup
	for range 6 {
		own := rand.New(rand.NewPCG(rng.Uint64(), 3))
		on, err := host.NewStream()
		require.NoError(t, err)
		all.Go(func() { c.several(own, on) })
	}
	if closeAt >= 0 {
		time.Sleep(closeAt)
		c.closed.Store(true)
		require.NoError(t, c.x.Close())
	}
	all.Wait()
	if closeAt < 0 {
		c.run(context.Background(), nil, 0, nil) // nothing of what went wrong is left
		c.closed.Store(true)
		require.NoError(t, c.x.Close())
	}
	require.Equal(t, ErrClosed, c.x.Run(context.Background(), Args{In: c.in}), "after Close")
	c.kernels.Wait()
	for _, d := range append(drawn.options.Devices, host) {
		require.NoError(t, d.Close())
	}
	require.Zero(t, mem.live.Load(), "seed %d: buffers left behind", seed)
}

// open compiles the graph. A buffer goes through it beside the program.
func (c *chaos) open(drawn drawnGraph) {
	g := NewGraph()
	var v []Output
	for i, n := range drawn.start {
		c.in = append(c.in, Int(n))
		v = append(v, g.Input(fmt.Sprintf("in%d", i)))
	}
	// As in a pipeline: what is ordered stands outside of the loops.
	v[0] = g.Add("source", Op{Outputs: 1, Order: Serial, Run: identity}, v[0]).Out(0)
	v[0] = g.Add("region", Op{Outputs: 1, Async: true, Order: InOrder, Run: func(ctx context.Context, call *Call) error {
		call.Set(0, call.In(0))
		return c.async(ctx, call)
	}}, v[0]).Out(0)
	for i, o := range drawn.program.build(g, v) {
		g.Output(fmt.Sprintf("out%d", i), o)
	}
	c.want = drawn.program.eval(drawn.start)
	alloc := g.Add("alloc", Op{Outputs: 1, Run: func(_ context.Context, call *Call) error {
		_, err := call.Alloc(0, 16)
		return err
	}})
	held := g.While(LoopSpec{Name: "around"}, []Output{g.num(0), alloc.Out(0)}, g.upTo(0, 3), func(w []Output) []Output {
		return []Output{g.plus(w[0], 1), g.Add("forward", Op{Outputs: 1, Run: func(_ context.Context, call *Call) error {
			_, _, err := call.Forward(0, 0, 16)
			return err
		}}, w[1]).Out(0)}
	})
	g.Output("buffer", held[1])
	p, err := Compile(g, CompileOptions{})
	require.NoError(c.t, err)
	c.x, err = New(p, drawn.options)
	require.NoError(c.t, err)
}

// several does a few runs and loops, one after the other.
func (c *chaos) several(rng *rand.Rand, on streams.Stream) {
	for range 1 + rng.IntN(4) {
		s := &sabotage{what: fault(rng.IntN(int(faults))), at: 1 + rng.Int64N(40)}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), sabotageKey{}, s))
		if rng.IntN(3) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
		}
		returned := make(chan bool)
		mode := rng.IntN(4)
		go func() { // a kernel may end the goroutine
			over := false
			defer func() { returned <- over }()
			if mode < 3 {
				c.run(ctx, s, mode, on)
			} else {
				c.loop(ctx, s, rand.New(rand.NewPCG(rng.Uint64(), 4)))
			}
			over = true
		}()
		if !<-returned {
			c.tally.exited.Add(1)
			if s.what != exiting {
				c.t.Error("a goroutine was lost")
			}
		}
		cancel()
	}
}

// run is one Run, RunAsync or RunOn.
func (c *chaos) run(ctx context.Context, s *sabotage, mode int, on streams.Stream) {
	out := make([]Value, len(c.want)+1)
	var err error
	switch args := (Args{In: c.in, Out: out}); mode {
	case 0:
		err = c.x.Run(ctx, args)
	case 1:
		done := make(chan error, 1)
		c.x.RunAsync(ctx, args, func(err error) { done <- err })
		err = <-done
	case 2:
		err = c.x.RunOn(ctx, on, args).Wait(context.Background())
		if e := on.Synchronize(context.Background()); e != err {
			c.t.Errorf("the stream has the error %v, the event of the run %v", e, err)
		}
	}
	if c.judge(ctx, s, err) {
		c.compare(out)
		c.tally.right.Add(1)
	}
	for i := range out {
		out[i].clear()
	}
}

// judge says whether values are due, and fails the test where nothing explains
// the error.
func (c *chaos) judge(ctx context.Context, s *sabotage, err error) (right bool) {
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrClosed) && c.closed.Load():
		c.tally.closed.Add(1)
	case ctx.Err() != nil && err == context.Cause(ctx):
		c.tally.ended.Add(1)
	case s != nil && s.explains(err):
		c.tally.failed.Add(1)
	default:
		c.t.Errorf("nothing explains the error %v (sabotage %+v)", err, s)
	}
	return false
}

// compare fails the test where the outputs are not what the program computes.
func (c *chaos) compare(out []Value) {
	for i, want := range c.want {
		if got := out[i].Int(); got != want {
			c.t.Errorf("output %d is %d, expected %d", i, got, want)
		}
	}
	if n := len(out[len(c.want)].Buffer().Bytes()); n != 16 {
		c.t.Errorf("the buffer has %d bytes, expected 16", n)
	}
}

// loop runs a loop and gives it up at a random place.
func (c *chaos) loop(ctx context.Context, s *sabotage, rng *rand.Rand) {
	l, err := c.x.Loop(ctx, LoopOptions{In: c.in, Slots: 1 + rng.IntN(4), Limit: 1 + rng.Int64N(12)})
	if err != nil {
		c.judge(ctx, s, err)
		return
	}
	var held []Result
	defer func() {
		l.Close() // first: else a release may run a kernel that ends the goroutine
		for _, r := range held {
			r.Release()
		}
	}()
	for next := int64(0); rng.IntN(20) > 0; next++ {
		if rng.IntN(10) == 0 {
			l.Limit(rng.Int64N(12))
		}
		for len(held) > 0 && (rng.IntN(2) == 0 || len(held) == l.slots) {
			k := rng.IntN(len(held))
			r := held[k]
			held = append(held[:k], held[k+1:]...)
			r.Release()
		}
		r, err := l.Next(ctx)
		if err == io.EOF {
			c.tally.right.Add(1)
			return
		}
		if !c.judge(ctx, s, err) {
			var node *NodeError
			if errors.As(err, &node) && node.Root != next {
				c.t.Errorf("iteration %d failed and %d were delivered", node.Root, next)
			}
			return
		}
		held = append(held, r)
		c.tally.results.Add(1)
		if r.Index() != next {
			c.t.Errorf("iteration %d came in place of %d", r.Index(), next)
		}
		out := make([]Value, len(c.want)+1)
		for i := range out {
			out[i] = r.Output(i)
		}
		c.compare(out)
	}
}
