package executor_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/streams"
)

// op returns a node that computes f of one integer.
func op(f func(n int64) int64) executor.Op {
	return executor.Op{Outputs: 1, Run: func(_ context.Context, c *executor.Call) error {
		c.Set(0, executor.Int(f(c.In(0).Int())))
		return nil
	}}
}

func start(g *executor.Graph, o executor.Options) *executor.Executor {
	p, err := executor.Compile(g, executor.CompileOptions{})
	if err != nil {
		panic(err)
	}
	x, err := executor.New(p, o)
	if err != nil {
		panic(err)
	}
	return x
}

func Example() {
	g := executor.NewGraph()
	x := g.Input("x")
	double := g.Add("double", op(func(n int64) int64 { return 2 * n }), x)
	square := g.Add("square", op(func(n int64) int64 { return n * n }), x)
	sum := g.Add("sum", executor.Op{Outputs: 1, Run: func(_ context.Context, c *executor.Call) error {
		c.Set(0, executor.Int(c.In(0).Int()+c.In(1).Int()))
		return nil
	}}, double.Out(0), square.Out(0))
	g.Output("y", sum.Out(0))

	e := start(g, executor.Options{})
	defer e.Close()
	y := make([]executor.Value, 1)
	err := e.Run(context.Background(), executor.Args{In: []executor.Value{executor.Int(5)}, Out: y})
	fmt.Println(y[0], err)
	// Output: 35 <nil>
}

// Double until the number is large enough.
func ExampleGraph_While() {
	g := executor.NewGraph()
	small := executor.Op{Outputs: 1, Run: func(_ context.Context, c *executor.Call) error {
		c.Set(0, executor.Bool(c.In(0).Int() < 100))
		return nil
	}}
	out := g.While(executor.LoopSpec{Name: "grow"}, []executor.Output{g.Input("x")},
		func(v []executor.Output) executor.Output { return g.Add("small", small, v[0]).Out(0) },
		func(v []executor.Output) []executor.Output {
			return []executor.Output{g.Add("double", op(func(n int64) int64 { return 2 * n }), v[0]).Out(0)}
		})
	g.Output("y", out[0])

	e := start(g, executor.Options{})
	defer e.Close()
	y := make([]executor.Value, 1)
	err := e.Run(context.Background(), executor.Args{In: []executor.Value{executor.Int(3)}, Out: y})
	fmt.Println(y[0], err)
	// Output: 192 <nil>
}

// The selector chooses a branch; −1 hands the argument on as it is.
func ExampleGraph_Case() {
	g := executor.NewGraph()
	x := g.Input("x")
	sign := g.Add("sign", op(func(n int64) int64 {
		switch {
		case n < 0:
			return 0
		case n > 9:
			return 1
		}
		return -1
	}), x)
	branch := func(name string, f func(n int64) int64) func([]executor.Output) []executor.Output {
		return func(v []executor.Output) []executor.Output {
			return []executor.Output{g.Add(name, op(f), v[0]).Out(0)}
		}
	}
	y := g.Case("clamp", sign.Out(0), []executor.Output{x},
		branch("zero", func(int64) int64 { return 0 }),
		branch("nine", func(int64) int64 { return 9 }))
	g.Output("y", y[0])

	e := start(g, executor.Options{})
	defer e.Close()
	for _, n := range []int64{-3, 4, 12} {
		out := make([]executor.Value, 1)
		err := e.Run(context.Background(), executor.Args{In: []executor.Value{executor.Int(n)}, Out: out})
		fmt.Println(out[0], err)
	}
	// Output:
	// 0 <nil>
	// 4 <nil>
	// 9 <nil>
}

// Two batches ahead of the consumer, which sees them in order.
func ExampleExecutor_Loop() {
	g := executor.NewGraph()
	load := g.Add("load", executor.Op{Outputs: 1, Async: true, Order: executor.InOrder,
		Run: func(_ context.Context, c *executor.Call) error {
			go func() { // decode batch c.Root() into the memory of c.Slot()
				c.Set(0, executor.Int(100*c.Root()))
				c.Done(nil)
			}()
			return nil
		}})
	g.Output("batch", load.Out(0))

	e := start(g, executor.Options{})
	defer e.Close()
	ctx := context.Background()
	l, err := e.Loop(ctx, executor.LoopOptions{Slots: 3, Limit: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	for {
		r, err := l.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Index(), r.Output(0))
		r.Release()
	}
	// Output:
	// 0 0
	// 1 100
	// 2 200
	// 3 300
}

// A kernel on a stream sets its output at once and writes it later.
func ExampleCall_Issue() {
	d := streams.NewHost()
	defer d.Close()
	g := executor.NewGraph()
	n := g.Add("on-device", executor.Op{Outputs: 1, Backend: executor.Device,
		Run: func(_ context.Context, c *executor.Call) error {
			result := new(executor.Cell)
			c.Set(0, executor.Ref(result))
			c.Issue(func(*streams.Context) error {
				result.Store(executor.Int(42))
				return nil
			})
			return nil
		}})
	g.Output("n", n.Out(0))

	e := start(g, executor.Options{Devices: []streams.Device{d}, StreamPolicy: streams.Optimal})
	defer e.Close()
	out := make([]executor.Value, 1)
	err := e.Run(context.Background(), executor.Args{Out: out})
	fmt.Println(out[0], err)
	// Output: 42 <nil>
}

// An all-reduce works on two devices: each of them adds up what both have made.
func ExampleCall_IssueOn() {
	devices := []streams.Device{streams.NewHost(), streams.NewHost()}
	for _, d := range devices {
		defer d.Close()
	}
	g := executor.NewGraph()
	var halves []executor.Output
	for i := range devices {
		half := executor.Op{Outputs: 1, Backend: executor.Device, Devices: []int{i},
			Run: func(_ context.Context, c *executor.Call) error {
				result := new(executor.Cell)
				c.Set(0, executor.Ref(result))
				c.Issue(func(*streams.Context) error {
					result.Store(executor.Int(int64(20 + i)))
					return nil
				})
				return nil
			}}
		halves = append(halves, g.Add(fmt.Sprint("half", i), half).Out(0))
	}
	reduce := g.Add("reduce", executor.Op{Outputs: 2, Backend: executor.Device, Devices: []int{0, 1}, OutputDevices: []int{0, 1},
		Run: func(_ context.Context, c *executor.Call) error {
			a, b := c.In(0), c.In(1)
			for i := range devices {
				sum := new(executor.Cell)
				c.Set(i, executor.Ref(sum))
				c.IssueOn(i, func(*streams.Context) error { // side by side
					sum.Store(executor.Int(a.Int() + b.Int()))
					return nil
				})
			}
			return nil
		}}, halves...)
	g.Output("on device 0", reduce.Out(0))
	g.Output("on device 1", reduce.Out(1))

	e := start(g, executor.Options{Devices: devices})
	defer e.Close()
	out := make([]executor.Value, 2)
	err := e.Run(context.Background(), executor.Args{Out: out})
	fmt.Println(out[0], out[1], err)
	// Output: 41 41 <nil>
}
