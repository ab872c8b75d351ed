package shard

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// blocks says how a shuffled order keeps samples together.
type blocks struct {
	size  int64   // of a block; 0 where ends says it, and without blocks
	group int64   // blocks whose samples are mixed; 0: each is shuffled within itself
	ends  []int64 // of the blocks, where their sizes differ
}

// none reports whether samples are shuffled without blocks.
func (b *blocks) none() bool { return b.size == 0 && b.ends == nil }

// of returns how many blocks n samples have.
func (b *blocks) of(n int64) int64 {
	if b.ends != nil {
		return int64(len(b.ends))
	}
	return ceilDiv(n, b.size)
}

// begin returns the first sample of a block.
func (b *blocks) begin(block int64) int64 {
	switch {
	case b.ends == nil:
		return block * b.size
	case block == 0:
		return 0
	}
	return b.ends[block-1]
}

// places returns where the blocks of a permuted list begin and where the last one ends. It is
// what blocks of different sizes need beside the permutation.
func (b *blocks) places(order *Permutation) []int64 {
	starts := make([]int64, order.Len()+1)
	for k := range order.Len() {
		block := order.At(k)
		starts[k+1] = starts[k] + b.ends[block] - b.begin(block)
	}
	return starts
}

// grouped returns the element at place i of a list of permuted blocks, of which each group
// is permuted as one.
func (s *shuffle) grouped(i int64) int64 {
	if i < s.groupLo || i >= s.groupHi {
		g := s.placeOf(i) / s.group
		s.groupLo = s.beginOf(g * s.group)
		s.groupHi = s.beginOf(min((g+1)*s.group, s.outer.Len()))
		s.inner = NewPermutation(s.groupHi-s.groupLo, deriveKey(s.key, groupKey, g, 0))
	}
	i = s.groupLo + s.inner.At(i-s.groupLo)
	k := s.placeOf(i)
	return s.begin(s.outer.At(k)) + i - s.beginOf(k)
}

// groupOf returns which group of blocks place i is in, or without groups which block.
func (s *shuffle) groupOf(i int64) int64 { return s.placeOf(i) / max(1, s.group) }

// placeOf returns which of the permuted blocks place i is in.
func (s *shuffle) placeOf(i int64) int64 {
	if s.starts != nil {
		k, found := slices.BinarySearch(s.starts, i)
		if !found {
			k--
		}
		return int64(k)
	}
	if s.short > 0 && i >= s.shortAt+s.short {
		i += s.size - s.short
	}
	return i / s.size
}

// beginOf returns the place where a permuted block begins; of the number of blocks, the end.
func (s *shuffle) beginOf(k int64) int64 {
	if s.starts != nil {
		return s.starts[k]
	}
	i := k * s.size
	if s.short > 0 && i > s.shortAt {
		i -= s.size - s.short
	}
	return i
}

// blocks returns the blocks of a valid config.
func (c *Config) blocks() blocks { return blocks{c.Block, c.BlockGroup, c.BlockEnds} }

func (c *Config) validateBlocks() error {
	ends := fmt.Sprintf("of %d blocks", len(c.BlockEnds))
	switch {
	case c.Block < 0 || c.Block > MaxSamples:
		return &ConfigError{"Block", c.Block, "a positive number of samples, or 0 for none"}
	case c.Block > 0 && !c.Shuffle:
		return &ConfigError{"Block", c.Block, "0 without Shuffle: blocks only matter for a shuffled order"}
	case c.BlockGroup < 0 || c.BlockGroup > MaxSamples:
		return &ConfigError{"BlockGroup", c.BlockGroup, "a positive number of blocks, or 0 to shuffle each within itself"}
	case c.BlockGroup > 0 && !c.Shuffle:
		return &ConfigError{"BlockGroup", c.BlockGroup, "0 without Shuffle: groups of blocks only matter for a shuffled order"}
	case c.BlockGroup > 0 && c.Block == 0 && c.BlockEnds == nil:
		return &ConfigError{"BlockGroup", c.BlockGroup, "0 without Block and BlockEnds, which say what a block is"}
	case c.BlockGroup > 0 && c.StickToShard:
		return &ConfigError{"StickToShard", true, "false with BlockGroup: a rank's shard would cut through the groups"}
	case c.BlockEnds == nil:
		return nil
	case c.Block > 0:
		return &ConfigError{"BlockEnds", ends, "nil with Block, which gives all blocks one size"}
	case c.BlockGroup == 0:
		return &ConfigError{"BlockEnds", ends, "nil without BlockGroup; set it to 1 to shuffle each block within itself"}
	case c.Sources != nil:
		return &ConfigError{"BlockEnds", ends, "nil with Sources; give a Block, which is of each source"}
	}
	last := int64(0)
	for i, end := range c.BlockEnds {
		if end <= last {
			return &ConfigError{fmt.Sprintf("BlockEnds[%d]", i), end, fmt.Sprintf("more than %d, where the block before ends: no block is empty", last)}
		}
		last = end
	}
	if last != c.Samples {
		return &ConfigError{"BlockEnds", fmt.Sprintf("%s that end at %d", ends, last), fmt.Sprintf("the last one at the %d samples of the data set", c.Samples)}
	}
	return nil
}

// fingerprintBlocks is what a fingerprint says of groups of blocks.
func (c *Config) fingerprintBlocks() string {
	if c.BlockGroup == 0 {
		return ""
	}
	text := fmt.Sprintf(" block_group=%d", c.BlockGroup)
	if c.BlockEnds != nil {
		h := fnv.New64a()
		for _, end := range c.BlockEnds {
			fmt.Fprintf(h, "%d,", end)
		}
		text += fmt.Sprintf(" blocks=%d block_ends=%016x", len(c.BlockEnds), h.Sum64())
	}
	return text
}
