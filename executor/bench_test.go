package executor

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planktonml/plankton/streams"
)

// identity is a trivial kernel: it hands its first input on.
func identity(_ context.Context, c *Call) error {
	c.Set(0, c.In(0))
	return nil
}

// chain returns a graph of n nodes in a row.
func chain(n int, op Op) *Graph {
	g := NewGraph()
	o := g.Const("start", Int(1))
	for range n - 1 {
		o = g.Add("", op, o).Out(0)
	}
	return g
}

// layers returns a graph of depth layers of width nodes, each of which reads
// fanIn neighbours of the layer before.
func layers(width, depth, fanIn int, op Op) *Graph {
	g := NewGraph()
	last := make([]Output, width)
	for i := range last {
		last[i] = g.Const("", Int(int64(i)))
	}
	for range depth - 1 {
		next := make([]Output, width)
		for i := range next {
			in := make([]Output, fanIn)
			for k := range in {
				in[k] = last[(i+k)%width]
			}
			next[i] = g.Add("", op, in...).Out(0)
		}
		last = next
	}
	return g
}

// diamonds returns n times a Switch, a node on either side, and a Merge.
func diamonds(n int) *Graph {
	g := NewGraph()
	o, pred := g.Const("start", Int(1)), g.Const("pred", Bool(true))
	for range n {
		no, yes := g.Switch("", o, pred)
		op := Op{Run: identity, Outputs: 1}
		o = g.Merge("", g.Add("", op, no).Out(0), g.Add("", op, yes).Out(0)).Out(0)
	}
	return g
}

// counting returns a loop that counts to n.
func counting(n int64) *Graph {
	g := NewGraph()
	limit := g.Const("n", Int(n))
	out := g.While(LoopSpec{Name: "loop"}, []Output{g.Const("zero", Int(0))},
		func(v []Output) Output { return g.less(v[0], limit) },
		func(v []Output) []Output { return []Output{g.plus(v[0], 1)} })
	g.Output("count", out[0])
	return g
}

func benchRun(b *testing.B, g *Graph, nodes int, o Options) {
	x := newExecutor(b, g, o)
	ctx := context.Background()
	run := func() {
		if err := x.Run(ctx, Args{}); err != nil {
			b.Fatal(err)
		}
	}
	run()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}

func BenchmarkTrivial(b *testing.B) {
	cheap := Op{Run: identity, Outputs: 1}
	marked := Op{Run: identity, Outputs: 1, Expensive: true}
	for _, workers := range []int{1, 2} {
		o := Options{Workers: workers}
		b.Run(fmt.Sprintf("chain10000/workers=%d", workers), func(b *testing.B) { benchRun(b, chain(10000, cheap), 10000, o) })
		b.Run(fmt.Sprintf("layers100x100x1/workers=%d", workers), func(b *testing.B) { benchRun(b, layers(100, 100, 1, cheap), 10000, o) })
		b.Run(fmt.Sprintf("layers100x100x3/workers=%d", workers), func(b *testing.B) { benchRun(b, layers(100, 100, 3, cheap), 10000, o) })
		b.Run(fmt.Sprintf("layers100x100x3marked/workers=%d", workers), func(b *testing.B) { benchRun(b, layers(100, 100, 3, marked), 10000, o) })
		b.Run(fmt.Sprintf("diamonds1666/workers=%d", workers), func(b *testing.B) { benchRun(b, diamonds(1666), 1666*4+2, o) })
		// Merge, less, LoopCond, Switch, pivot, add, next, and the limit's
		// share.
		b.Run(fmt.Sprintf("while1000/workers=%d", workers), func(b *testing.B) { benchRun(b, counting(1000), 1001*7, o) })
	}
}

// spin keeps the processor busy for d.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

func BenchmarkKernel10us(b *testing.B) {
	op := Op{Outputs: 1, Expensive: true, Run: func(_ context.Context, c *Call) error {
		spin(10 * time.Microsecond)
		c.Set(0, c.In(0))
		return nil
	}}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("layers20x50x3/workers=%d", workers), func(b *testing.B) {
			benchRun(b, layers(20, 50, 3, op), 1000, Options{Workers: workers})
		})
	}
}

// The same graph, 100 layers of 100 nodes with three inputs each, in the two
// ways in which one would write it by hand.
func BenchmarkByHand(b *testing.B) {
	const width, depth, fanIn = 100, 100, 3
	perNode := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(width*depth), "ns/node")
	}
	b.Run("channels", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			last := make([][]chan Value, width) // by node and consumer
			for i := range last {
				last[i] = make([]chan Value, fanIn)
				for k := range last[i] {
					last[i][k] = make(chan Value, 1)
					last[i][k] <- Int(int64(i))
				}
			}
			for range depth - 1 {
				next := make([][]chan Value, width)
				for i := range next {
					in := make([]chan Value, fanIn)
					for k := range in {
						in[k] = last[(i+k)%width][k]
					}
					out := make([]chan Value, fanIn)
					for k := range out {
						out[k] = make(chan Value, 1)
					}
					next[i] = out
					go func() {
						var v Value
						for _, c := range in {
							v = <-c
						}
						for _, c := range out {
							c <- v
						}
					}()
				}
				last = next
			}
			for i := range last {
				for _, c := range last[i] {
					<-c
				}
			}
		}
		perNode(b)
	})
	b.Run("errgroup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			last := make([]Value, width)
			for range depth - 1 { // a barrier per layer: errgroup knows no edges
				var eg errgroup.Group
				next := make([]Value, width)
				for i := range next {
					eg.Go(func() error {
						for k := range fanIn {
							next[i] = last[(i+k)%width]
						}
						return nil
					})
				}
				if err := eg.Wait(); err != nil {
					b.Fatal(err)
				}
				last = next
			}
		}
		perNode(b)
	})
}

// BenchmarkStreams issues nodes without work on three streams of the host.
func BenchmarkStreams(b *testing.B) {
	d := streams.NewHost()
	defer d.Close()
	op := Op{Backend: Device, Outputs: 1, HostOutputs: []int{0}, Run: identity}
	benchRun(b, layers(10, 20, 3, op), 200, Options{Workers: 1, Devices: []streams.Device{d}, StreamPolicy: streams.Optimal, StreamBudget: 3})
}

func BenchmarkLoop(b *testing.B) {
	// A pipeline in small: an async node that is finished at once by another
	// goroutine, a node behind it, and three slots.
	g := NewGraph()
	jobs := make(chan *Call, 16)
	var in Output = g.Add("source", Op{Outputs: 1, Order: Serial, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(c.Root()))
		return nil
	}}).Out(0)
	region := g.Add("region", Op{Outputs: 1, Async: true, Order: InOrder, Run: func(_ context.Context, c *Call) error {
		jobs <- c
		return nil
	}}, in).Out(0)
	g.Output("batch", g.Add("finish", Op{Outputs: 1, Run: identity}, region).Out(0))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c := range jobs {
			c.Set(0, c.In(0))
			c.Done(nil)
		}
	}()
	x := newExecutor(b, g, Options{Workers: 1})
	l, err := x.Loop(context.Background(), LoopOptions{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	for range 10 {
		r, err := l.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		r.Release()
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := l.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		r.Release()
	}
	l.Close()
	close(jobs)
	<-done
}
