package iterator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

// loaderOf returns the loader of one rank over the numbers 0 to n-1.
func loaderOf(n, batch, rank, ranks int, o iterator.Options) *iterator.Loader {
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: batch}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{NumShards: ranks, ShardID: rank}, readers.Rows(numbers))
		g.Output("x", v[0])
	})
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(o, p)
	if err != nil {
		log.Fatal(err)
	}
	return loader
}

func Example() {
	loader := loaderOf(7, 3, 0, 1, iterator.Options{})
	defer loader.Close()
	for batch, err := range loader.Epochs(context.Background(), 2) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Epoch(), batch.Step(), batch.Int64s("x")[:batch.NumValid()])
	}
	// Output:
	// 0 0 [0 1 2]
	// 0 1 [3 4 5]
	// 0 2 [6]
	// 1 0 [0 1 2]
	// 1 1 [3 4 5]
	// 1 2 [6]
}

// A run of two ranks is interrupted and goes on with one, which reads what the
// two have left of the epoch, and all of the next one.
func ExampleLoader_Restore() {
	ctx := context.Background()
	var checkpoint []byte
	for rank := range 2 {
		loader := loaderOf(10, 2, rank, 2, iterator.Options{})
		for batch, err := range loader.Epoch(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("rank %d of 2: %v\n", rank, batch.IDs())
			state, err := loader.State() // behind this batch
			if err != nil {
				log.Fatal(err)
			}
			checkpoint, err = json.Marshal(state)
			if err != nil {
				log.Fatal(err)
			}
			break
		}
		loader.Close()
	}

	loader := loaderOf(10, 2, 0, 1, iterator.Options{})
	defer loader.Close()
	var state iterator.State
	if err := json.Unmarshal(checkpoint, &state); err != nil {
		log.Fatal(err)
	}
	if err := loader.Restore(state); err != nil {
		log.Fatal(err)
	}
	fmt.Println("restored:", state)
	for batch, err := range loader.Epoch(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("rank 0 of 1: %v\n", batch.IDs())
	}
	// Output:
	// rank 0 of 2: [0 1]
	// rank 1 of 2: [5 6]
	// restored: epoch 0, 1 steps of 2×2 rows
	// rank 0 of 1: [2 3]
	// rank 0 of 1: [4 7]
	// rank 0 of 1: [8 9]
}

// What the epoch of a program is need not be what the data set's is.
func ExampleLoader_Steps() {
	loader := loaderOf(6, 2, 0, 1, iterator.Options{})
	defer loader.Close()
	for round := range 2 {
		for batch, err := range loader.Steps(context.Background(), 4) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("round", round, batch.Int64s("x"))
		}
	}
	// Output:
	// round 0 [0 1]
	// round 0 [2 3]
	// round 0 [4 5]
	// round 0 [0 1]
	// round 1 [2 3]
	// round 1 [4 5]
	// round 1 [0 1]
	// round 1 [2 3]
}

// DALI's epochs, with what is peculiar to them: the second one is shorter, since
// the first has already shown its sample 0.
func ExampleOptions() {
	loader := loaderOf(7, 2, 0, 1, iterator.Options{Mode: shard.DALI, LastBatch: shard.Fill})
	defer loader.Close()
	for batch, err := range loader.Epochs(context.Background(), 2) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(batch.Epoch(), batch.Int64s("x"), " ")
	}
	// Output:
	// 0 [0 1] 0 [2 3] 0 [4 5] 0 [6 0] 1 [1 2] 1 [3 4] 1 [5 6]
}

// A program that ends at the first error, as panics are.
func ExampleOf() {
	loader := iterator.Must(iterator.Of(iterator.Options{}, pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1, 2, 3, 4, 5}))[0])
	}))
	defer loader.Close()
	for b := range iterator.MustEach(loader.Epochs(context.Background(), 1)) {
		fmt.Println(b.Float32s("x")[:b.NumValid()])
	}
	// Output:
	// [1 2 3]
	// [4 5]
}
