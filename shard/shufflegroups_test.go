package shard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Samples have the number of a group if they were shuffled together: a group's are neighbours in
// the plan, and those of whole blocks, as many as there are in a group.
func TestShuffleGroups(t *testing.T) {
	ends := []int64{3, 4, 10, 11, 17, 20, 28, 30, 31, 40}
	for name, c := range map[string]struct {
		config Config
		block  func(id int64) int64
		most   int
	}{
		"blocks": {Config{Samples: 103, Block: 10}, func(id int64) int64 { return id / 10 }, 1},
		"groups": {Config{Samples: 103, Block: 10, BlockGroup: 4}, func(id int64) int64 { return id / 10 }, 4},
		"sizes": {Config{Samples: 40, BlockEnds: ends, BlockGroup: 3}, func(id int64) (k int64) {
			for ends[k] <= id {
				k++
			}
			return k
		}, 3},
		"by step": {Config{Samples: 103, Block: 10, BlockGroup: 4, Partition: ByStep}, func(id int64) int64 { return id / 10 }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Batch, c.config.Shards, c.config.Shuffle, c.config.Seed = 7, 1, true, 9
			p, err := New(c.config)
			require.NoError(t, err)
			for epoch := range int64(3) {
				blocks := map[int64]map[int64]int{} // samples by group and block
				last, ended := int64(-1), map[int64]bool{}
				for step := range p.Steps(epoch) {
					ids := p.AppendBatch(nil, epoch, step, 0)
					groups := p.AppendShuffleGroups([]int64{5}, epoch, step, 0)[1:]
					require.Len(t, groups, len(ids))
					for i, g := range groups {
						if g != last {
							require.False(t, ended[g], "group %d comes twice", g)
							ended[last], last = true, g
							blocks[g] = map[int64]int{}
						}
						blocks[g][c.block(ids[i])]++
					}
				}
				of := map[int64]bool{}
				for _, own := range blocks {
					require.LessOrEqual(t, len(own), c.most)
					for block := range own {
						require.False(t, of[block], "block %d is in two groups", block)
						of[block] = true
					}
				}
				require.Len(t, blocks, (len(of)+c.most-1)/c.most)
			}
		})
	}
}

// Orders without blocks have no groups.
func TestNoShuffleGroups(t *testing.T) {
	for name, c := range map[string]Config{
		"in order": {}, "full shuffle": {Shuffle: true}, "sticking": {Shuffle: true, Block: 5, StickToShard: true},
		"mix": {Shuffle: true, Sources: []int64{20, 20}, Weights: []int64{1, 1}}, "DALI": {Mode: DALI},
	} {
		t.Run(name, func(t *testing.T) {
			c.Samples, c.Batch, c.Shards = 40, 4, 2
			p, err := New(c)
			require.NoError(t, err)
			require.Equal(t, []int64{-1, -1, -1, -1}, p.AppendShuffleGroups(nil, 1, 1, 1))
		})
	}
}

// In a mix a source's groups go on from one of its epochs to the next with other numbers.
func TestShuffleGroupsOfAMix(t *testing.T) {
	const each = 20
	p, err := New(Config{Samples: 2 * each, Batch: 2 * each, Shards: 1, Shuffle: true, Sources: []int64{each, each}, Weights: []int64{3, 1}, Block: 2, BlockGroup: 5})
	require.NoError(t, err)
	seen := [2]map[int64]int{{}, {}}
	last := [2]int64{-1, -1}
	for epoch := range int64(4) {
		groups := p.AppendShuffleGroups(nil, epoch, 0, 0)
		for i, id := range p.AppendBatch(nil, epoch, 0, 0) {
			source := id / each
			require.GreaterOrEqual(t, groups[i], last[source])
			last[source] = groups[i]
			seen[source][groups[i]]++
		}
	}
	for source, want := range []int{12, 4} { // groups of ten samples, of 120 and 40 draws
		require.Len(t, seen[source], want)
		for _, n := range seen[source] {
			require.Equal(t, 10, n)
		}
	}
}
