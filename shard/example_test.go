package shard_test

import (
	"fmt"
	"os"

	"github.com/planktonml/plankton/shard"
)

// Seven samples on two ranks: each rank takes two steps, and the valid rows are
// the data set. In the next epoch the shards have rotated.
func Example() {
	plan, err := shard.New(shard.Config{Samples: 7, Batch: 2, Shards: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for epoch := range int64(2) {
		for rank := range 2 {
			fmt.Printf("epoch %d rank %d:", epoch, rank)
			for step := range plan.Len(epoch) {
				fmt.Print(" ", plan.AppendBatch(nil, epoch, step, rank))
			}
			fmt.Println()
		}
	}
	// Output:
	// epoch 0 rank 0: [0 1] [2]
	// epoch 0 rank 1: [3 4] [5 6]
	// epoch 1 rank 0: [3 4] [5 6]
	// epoch 1 rank 1: [0 1] [2]
}

// By step, the same global batches come out of any world that divides them.
func ExamplePartition() {
	for _, ranks := range []int{1, 2, 3} {
		plan, err := shard.New(shard.Config{
			Samples: 10, Batch: 6 / ranks, Shards: ranks, Partition: shard.ByStep, Shuffle: true, Seed: 1,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for step := range plan.Len(0) {
			fmt.Printf("%d ranks, step %d:", ranks, step)
			for rank := range ranks {
				fmt.Print(" ", plan.AppendBatch(nil, 0, step, rank))
			}
			fmt.Println()
		}
	}
	// Output:
	// 1 ranks, step 0: [5 0 8 1 7 3]
	// 1 ranks, step 1: [4 9 2 6]
	// 2 ranks, step 0: [5 0 8] [1 7 3]
	// 2 ranks, step 1: [4 9] [2 6]
	// 3 ranks, step 0: [5 0] [8 1] [7 3]
	// 3 ranks, step 1: [4] [9] [2 6]
}

// Three ranks stop after two steps; two ranks read what is left.
func ExamplePlan_Resume() {
	three, err := shard.New(shard.Config{Samples: 16, Batch: 2, Shards: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	position := three.Position(0, 2)

	two, err := shard.New(shard.Config{Samples: 16, Batch: 2, Shards: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	two, err = two.Resume(position)
	if err != nil {
		fmt.Println(err)
		return
	}
	epoch, step := two.Start()
	for ; step < two.Len(epoch); step++ {
		fmt.Println(two.AppendBatch(nil, epoch, step, 0), two.AppendBatch(nil, epoch, step, 1))
	}
	// Output:
	// [4 9] [14 15]
}

func ExampleNewPermutation() {
	p := shard.NewPermutation(1_000_000_000_000, 7)
	place := p.IndexOf(42)
	fmt.Println(p.At(place))
	// Output: 42
}

// Seven of ten draws come from source 0.
func ExampleMix() {
	mix, err := shard.NewMix(70, 20, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for k := range int64(10) {
		source, draw := mix.At(k)
		fmt.Printf("source %d, its sample %d\n", source, draw)
	}
	// Output:
	// source 0, its sample 0
	// source 0, its sample 1
	// source 0, its sample 2
	// source 1, its sample 0
	// source 0, its sample 3
	// source 0, its sample 4
	// source 1, its sample 1
	// source 0, its sample 5
	// source 0, its sample 6
	// source 2, its sample 0
}

func ExampleFromEnv() {
	env := map[string]string{"PLANKTON_RANK": "1", "PLANKTON_WORLD_SIZE": "4"}
	world, err := shard.FromEnv(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
	fmt.Println(world, err)

	// In a program:
	if _, err := shard.FromEnv(os.LookupEnv); err != nil {
		fmt.Println(err)
	}
	// Output: PLANKTON: rank 1 of 4 <nil>
}
