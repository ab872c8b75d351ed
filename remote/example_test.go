package remote_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/remote"
)

// definition is what the worker and the training program have in common.
func definition(g *pipeline.Graph) {
	x := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]uint8{3, 6, 9, 12}))[0]
	g.Output("halves", ops.Mul(g, ops.Cast(g, x, datum.Float64), ops.Constant(g, 0.5)))
}

// A worker, here in the same process, makes rows of the training program's batches. What the
// batches are does not depend on it.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	same, err := pipeline.New(pipeline.Options{BatchSize: 1}, definition)
	if err != nil {
		log.Fatal(err)
	}
	worker, err := remote.NewServer(same, remote.ServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- worker.Serve(ctx, l) }()

	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Remote: &remote.Workers{Addresses: []string{"http://" + l.Addr().String()}}}, definition)
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	for b, err := range loader.Epoch(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Float64s("halves"))
	}
	fmt.Println(loader.Close())
	stop()
	fmt.Println(<-served)
	// Output:
	// [1.5 3]
	// [4.5 6]
	// <nil>
	// <nil>
}
