package shard_test

import (
	"fmt"

	"github.com/planktonml/plankton/shard"
)

// printEpochs prints the batches of one rank.
func printEpochs(epochs int64, c shard.Config) {
	plan, err := shard.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	for epoch := range epochs {
		fmt.Printf("epoch %d:", epoch)
		for step := range plan.Len(epoch) {
			fmt.Print(" ", plan.AppendBatch(nil, epoch, step, 0))
		}
		fmt.Println()
	}
}

// Of nine draws the weights of 6, 2 and 1 get 6, 2 and 1.
func ExampleWeighted() {
	printEpochs(2, shard.Config{Samples: 3, Batch: 9, Shards: 1, Shuffle: true, Sampler: shard.Weighted{Weights: []float64{6, 2, 1}, Draws: 9}})
	_, err := shard.New(shard.Config{Samples: 3, Batch: 9, Shards: 1, Shuffle: true, Sampler: shard.Weighted{Weights: []float64{6, -2, 1}}})
	fmt.Println(err)
	// Output:
	// epoch 0: [0 1 0 0 2 0 0 1 0]
	// epoch 1: [0 0 2 0 0 0 1 0 1]
	// shard: Weighted.Weights[1] is -2; want 0 or more, and finite
}

// Class 1 has a single sample, which comes as often as the three of class 0 together.
func ExampleClassBalanced() {
	printEpochs(2, shard.Config{Samples: 4, Batch: 2, Shards: 1, Sampler: shard.ClassBalanced{Labels: []int32{0, 0, 0, 1}}})
	// Output:
	// epoch 0: [0 3] [1 3]
	// epoch 1: [2 3] [0 3]
}

func ExampleSubset() {
	printEpochs(2, shard.Config{Samples: 100, Batch: 2, Shards: 1, Shuffle: true, Seed: 2, Sampler: shard.Subset{Samples: []int64{90, 91, 95}}})
	// Output:
	// epoch 0: [90 95] [91]
	// epoch 1: [91 95] [90]
}

// Two copies of each sample are in one batch of four.
func ExampleRepeated() {
	printEpochs(1, shard.Config{Samples: 4, Batch: 4, Shards: 1, Sampler: shard.Repeated{Times: 2, Apart: 2}})
	// Output:
	// epoch 0: [0 1 0 1] [2 3 2 3]
}

// The first epoch draws from the easier half alone.
func ExampleCurriculum() {
	printEpochs(2, shard.Config{
		Samples: 4, Batch: 4, Shards: 1, Shuffle: true,
		Sampler: shard.Curriculum{Keys: []float64{0.9, 0.1, 0.8, 0.2}, Start: 0.5, Epochs: 1},
	})
	// Output:
	// epoch 0: [1 1 3 3]
	// epoch 1: [3 1 2 0]
}

// From epoch 1 on the third source is drawn from, and the first two, which are one entry,
// share what is left.
func ExampleShares() {
	shares := &shard.Shares{
		Weights: []int64{1, 0}, Mixes: []*shard.Shares{{Weights: []int64{3, 1}}, nil},
		Stages: []shard.Stage{{Epoch: 1, Weights: []int64{1, 1}}},
	}
	printEpochs(2, shard.Config{Samples: 8, Batch: 8, Shards: 1, Sources: []int64{100, 100, 100}, Shares: shares})
	// Output:
	// epoch 0: [0 1 2 100 3 4 5 101]
	// epoch 1: [6 200 7 201 8 202 102 203]
}

// Batches of at most 12 tokens, if rows are padded to the longest one, on two ranks.
func ExampleGroups() {
	lengths := []int64{2, 9, 4, 3, 4, 12, 3, 2}
	plan, err := shard.New(shard.Config{
		Samples: 8, Batch: 4, Shards: 2, Partition: shard.ByStep,
		Groups: &shard.Groups{Lengths: lengths, Window: 8, Budget: 12, Padded: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range plan.Len(0) {
		for rank := range 2 {
			fmt.Printf("step %d rank %d:", step, rank)
			for _, id := range plan.AppendBatch(nil, 0, step, rank) {
				fmt.Print(" ", lengths[id])
			}
			fmt.Println()
		}
	}
	// Output:
	// step 0 rank 0: 12
	// step 0 rank 1: 9
	// step 1 rank 0: 4 4 3
	// step 1 rank 1: 3 2 2
}
