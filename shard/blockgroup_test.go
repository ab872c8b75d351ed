package shard

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawBlocks draws how a shuffled config keeps samples together: blocks of at most so many
// samples, or none.
func drawBlocks(t *rapid.T, c *Config, most int64) {
	kinds := []string{"none", "blocks", "groups", "groups of different blocks"}
	switch {
	case c.StickToShard:
		kinds = kinds[:2]
	case c.Sources != nil:
		kinds = kinds[:3]
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kept together")
	if slices.Index(kinds, kind) >= 2 {
		c.BlockGroup = rapid.Int64Range(1, 6).Draw(t, "blocks of a group")
	}
	switch kind {
	case "blocks", "groups":
		c.Block = rapid.Int64Range(1, most).Draw(t, "block")
	case "groups of different blocks":
		for end := int64(0); end < c.Samples; {
			end = min(c.Samples, end+rapid.Int64Range(1, most).Draw(t, "block"))
			c.BlockEnds = append(c.BlockEnds, end)
		}
	}
}

// blockOf returns the block of a sample.
func blockOf(c *Config, id int64) int64 {
	if c.BlockEnds == nil {
		return id / c.Block
	}
	k, found := slices.BinarySearch(c.BlockEnds, id)
	if found {
		k++
	}
	return int64(k)
}

// A list with groups has every sample once, and of every stretch that is a group's, the
// samples of as many whole blocks as a group has.
func TestGroupsOfBlocksStayTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Samples: rapid.Int64Range(1, 400).Draw(t, "samples"), Batch: 400, Shards: 1, Shuffle: true, Seed: rapid.Uint64().Draw(t, "seed")}
		for c.BlockGroup == 0 {
			c.Block, c.BlockEnds = 0, nil
			drawBlocks(t, &c, 30)
		}
		ids := mustNew(t, c).AppendBatch(nil, rapid.Int64Range(0, 1<<40).Draw(t, "epoch"), 0, 0)
		left := map[int64]int{} // samples of each block
		for id := range c.Samples {
			left[blockOf(&c, id)]++
		}
		for len(ids) > 0 {
			open := map[int64]bool{} // the blocks of the group
			first, n := ids, 0       // n is what is left of them
			for len(ids) > 0 && (n > 0 || int64(len(open)) < c.BlockGroup) {
				b := blockOf(&c, ids[0])
				if !open[b] {
					if int64(len(open)) == c.BlockGroup {
						t.Fatalf("more than %d blocks at once in %v", c.BlockGroup, first)
					}
					open[b] = true
					n += left[b]
				}
				left[b]--
				n--
				ids = ids[1:]
			}
		}
		for b, n := range maps.All(left) {
			require.Zero(t, n, "block %d", b)
		}
	})
}

// The blocks of a group and their order are others in every epoch, and the samples of a group
// are mixed.
func TestGroupsOfBlocksMix(t *testing.T) {
	for _, c := range []Config{
		{Block: 100, BlockGroup: 5},
		{BlockEnds: slices.Collect(func(yield func(int64) bool) {
			for i := range int64(20) {
				yield(min(2000, (i+1)*100+i%2*30))
			}
		}), BlockGroup: 5},
	} {
		c.Samples, c.Batch, c.Shards, c.Shuffle = 2000, 500, 1, true
		p := mustNew(t, c)
		var first [][]int64 // the blocks of the first batch, by epoch
		for epoch := range int64(5) {
			ids := p.AppendBatch(nil, epoch, 0, 0)
			changes := 0
			blocks := map[int64]bool{}
			for i, id := range ids {
				blocks[blockOf(&c, id)] = true
				if i > 0 && blockOf(&c, id) != blockOf(&c, ids[i-1]) {
					changes++
				}
			}
			require.InDelta(t, 400, changes, 50, "four neighbours of five are of different blocks")
			require.GreaterOrEqual(t, len(blocks), 5)
			require.LessOrEqual(t, len(blocks), 10)
			first = append(first, slices.Sorted(maps.Keys(blocks)))
		}
		for i, blocks := range first[1:] {
			require.NotEqual(t, first[i], blocks)
		}
	}
}

// Blocks of one size are the same whether one number says it or a list.
func TestBlocksOfOneSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, 300)
		c.StickToShard, c.Shuffle, c.BlockEnds = false, true, nil
		c.Block, c.BlockGroup = rapid.Int64Range(1, 40).Draw(t, "size"), rapid.Int64Range(1, 9).Draw(t, "group")
		other := c
		other.Block = 0
		for end := int64(0); end < c.Samples; {
			end = min(c.Samples, end+c.Block)
			other.BlockEnds = append(other.BlockEnds, end)
		}
		p, q := mustNew(t, c), mustNew(t, other)
		require.NotEqual(t, p.Fingerprint(), q.Fingerprint())
		for step := range p.Steps(3) {
			for rank := range c.Shards {
				require.Equal(t, p.AppendBatch(nil, 3, step, rank), q.AppendBatch(nil, 3, step, rank))
			}
		}
	})
}

func TestGroupsOfBlocksThatAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"BlockGroup is -1; want a positive number of blocks": func(c *Config) { c.Block, c.BlockGroup = 2, -1 },
		"BlockGroup is 2; want 0 without Shuffle":            func(c *Config) { c.Shuffle, c.BlockGroup = false, 2 },
		"BlockGroup is 2; want 0 without Block and":          func(c *Config) { c.BlockGroup = 2 },
		"StickToShard is true; want false with BlockGroup":   func(c *Config) { c.Block, c.BlockGroup, c.StickToShard = 2, 2, true },
		"BlockEnds is of 1 blocks; want nil with Block":      func(c *Config) { c.Block, c.BlockGroup, c.BlockEnds = 2, 2, []int64{10} },
		"BlockEnds is of 1 blocks; want nil without Block":   func(c *Config) { c.BlockEnds = []int64{10} },
		"BlockEnds[1] is 4; want more than 4":                func(c *Config) { c.BlockGroup, c.BlockEnds = 2, []int64{4, 4, 10} },
		"BlockEnds[0] is 0; want more than 0":                func(c *Config) { c.BlockGroup, c.BlockEnds = 2, []int64{0, 10} },
		"that end at 9; want the last one at the 10 samples": func(c *Config) { c.BlockGroup, c.BlockEnds = 2, []int64{4, 9} },
		"BlockEnds is of 0 blocks that end at 0":             func(c *Config) { c.BlockGroup, c.BlockEnds = 2, []int64{} },
		"BlockEnds is of 1 blocks; want nil with Sources": func(c *Config) {
			c.BlockGroup, c.BlockEnds, c.Sources, c.Weights = 2, []int64{10}, []int64{4, 6}, []int64{1, 1}
		},
	} {
		c := Config{Samples: 10, Batch: 2, Shards: 1, Shuffle: true}
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, want)
	}
}

// A seek costs the same anywhere, and so does a group of any size.
func TestHugeGroupsOfBlocks(t *testing.T) {
	const n = 1_000_000_000_007
	for _, group := range []int64{1, 50, n, MaxSamples} {
		p := mustNew(t, Config{Samples: n, Batch: 256, Shards: 1009, Shuffle: true, Block: 4096, BlockGroup: group})
		for _, step := range []int64{0, 1, p.Len(0) / 2, p.Len(0) - 2} {
			ids := p.AppendBatch(nil, 3, step, 1008)
			slices.Sort(ids)
			require.Len(t, slices.Compact(ids), 256)
		}
	}
}

// The order is part of what states promise: it may not change.
func TestGroupsOfBlocksAreForGood(t *testing.T) {
	c := Config{Samples: 12, Batch: 12, Shards: 1, Shuffle: true, Seed: 1, Block: 5, BlockGroup: 2}
	require.Equal(t, []int64{0, 9, 6, 7, 1, 3, 8, 4, 5, 2, 10, 11}, mustNew(t, c).AppendBatch(nil, 0, 0, 0))
	c.Block, c.BlockEnds = 0, []int64{1, 5, 6, 12}
	require.Equal(t, []int64{11, 10, 7, 8, 0, 6, 9, 2, 1, 5, 4, 3}, mustNew(t, c).AppendBatch(nil, 0, 0, 0))
}
