package streams_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/planktonml/plankton/streams"
)

// A diamond: 1 and 2 are independent and get streams of their own. One event
// of 0 and one of 2 put the rest in order.
func ExampleAssign() {
	g := &streams.Graph{N: 4, Edges: streams.DataEdges(0, 1, 0, 2, 1, 3, 2, 3)}
	plan, err := streams.Assign(g, streams.Optimal, streams.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan)
	fmt.Println("streams of the nodes:", plan.Streams)
	for _, w := range plan.Waits {
		fmt.Println(w.Consumer, "waits for", w.Producer)
	}
	// Output:
	// optimal: 2 streams, 2 waits, 2 events, makespan 3
	// streams of the nodes: [[0] [0] [1] [0]]
	// 2 waits for 0
	// 3 waits for 2
}

// With one stream less than the graph is wide, the longest path goes first.
func ExampleOptions() {
	g := &streams.Graph{
		N:     5,
		Edges: streams.DataEdges(0, 3, 1, 3, 2, 4),
		Cost:  []float64{1, 1, 4, 1, 2},
	}
	plan, err := streams.Assign(g, streams.Optimal, streams.Options{Budget: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan)
	fmt.Println("issued:", plan.Order, "on", plan.Streams)
	// Output:
	// optimal: 2 streams, 0 waits, 0 events, makespan 6
	// issued: [2 0 1 3 4] on [[1] [1] [0] [1] [0]]
}

// A plan that leaves an edge without order is found out.
func ExampleVerify() {
	g := &streams.Graph{N: 3, Edges: streams.DataEdges(0, 1, 0, 2)}
	plan, err := streams.Assign(g, streams.Optimal, streams.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(streams.Verify(g, plan))
	plan.Waits = nil
	err = streams.Verify(g, plan)
	fmt.Println(err)
	var edge *streams.EdgeError
	fmt.Println(errors.As(err, &edge), edge.Edge.From, edge.Edge.To)
	// Output:
	// <nil>
	// streams: bad plan: nothing orders the data edge 0→2 (distance 0)
	// true 0 2
}

// Two streams, and an event that puts their work in order.
func ExampleStream() {
	host := streams.NewHost()
	defer host.Close()
	load, err := host.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	compute, err := host.NewStream()
	if err != nil {
		log.Fatal(err)
	}

	var data []int
	load.Do(func(*streams.Context) error {
		data = []int{1, 2, 3}
		return nil
	})
	loaded := load.Record()
	compute.Wait(loaded)
	compute.Do(func(*streams.Context) error {
		for _, x := range data {
			fmt.Println(x)
		}
		return nil
	})
	if err := compute.Synchronize(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1
	// 2
	// 3
}

// A graph of Go functions, run on a planned set of streams.
func ExampleRunner() {
	g := &streams.Graph{N: 4, Edges: streams.DataEdges(0, 1, 0, 2, 1, 3, 2, 3)}
	plan, err := streams.Assign(g, streams.Optimal, streams.Options{})
	if err != nil {
		log.Fatal(err)
	}
	host := streams.NewHost()
	defer host.Close()
	runner, err := streams.NewRunner(plan, func(int) (streams.Device, error) { return host, nil })
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	main, err := host.NewStream()
	if err != nil {
		log.Fatal(err)
	}

	var read, twice, square, sum int
	nodes := []func(){
		func() { read = 5 },
		func() { twice = 2 * read },
		func() { square = read * read },
		func() { sum = twice + square },
	}
	done := runner.Run(context.Background(), main, func(node int) func(*streams.Context) error {
		return func(*streams.Context) error { nodes[node](); return nil }
	})
	if err := done.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 35
}
