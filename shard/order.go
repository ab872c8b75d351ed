package shard

// shuffle is a shuffled order of n positions. With blocks it permutes these, and
// the positions within each block or within each group of blocks. It remembers the block
// or group it was last asked for and belongs to one caller.
type shuffle struct {
	blocks
	n     int64
	key   uint64
	outer Permutation // of the positions, or of the blocks

	// The last block may be short. Where it comes in the order decides
	// where all later blocks begin.
	short   int64 // its length, 0 if it is a full one
	shortAt int64 // the position where it begins

	inner   Permutation // within block innerOf, or from place groupLo to groupHi
	innerOf int64

	groupLo, groupHi int64
	starts           []int64 // of blocks of different sizes, see blocks.places
}

func newShuffle(n int64, b blocks, key uint64) shuffle {
	if b.none() {
		return shuffle{n: n, outer: NewPermutation(n, key)}
	}
	count := b.of(n)
	s := shuffle{blocks: b, n: n, key: key, outer: NewPermutation(count, key), innerOf: -1}
	if b.ends == nil {
		s.short = n % b.size
	}
	if s.short > 0 {
		s.shortAt = s.outer.IndexOf(count-1) * b.size
	}
	return s
}

// at returns the element at place i.
func (s *shuffle) at(i int64) int64 {
	switch {
	case s.group > 0:
		return s.grouped(i)
	case s.size == 0:
		return s.outer.At(i)
	}
	if s.short > 0 && i >= s.shortAt+s.short {
		i += s.size - s.short // as if the short block were a full one
	}
	b := s.outer.At(i / s.size)
	if b != s.innerOf {
		size := min(s.size, s.n-b*s.size)
		s.inner, s.innerOf = NewPermutation(size, deriveKey(s.key, blockKey, b, 0)), b
	}
	return b*s.size + s.inner.At(i%s.size)
}

// plainOrder lists every sample once: in their order, or shuffled.
type plainOrder struct {
	n              int64
	blocks         blocks
	seed           uint64
	shuffle, stick bool
	shards         int64             // that the list is cut into, where they stick
	starts         perEpoch[[]int64] // of blocks of different sizes
}

func newPlainOrder(c *Config, shards int) *plainOrder {
	return &plainOrder{n: c.Samples, blocks: c.blocks(), seed: c.Seed, shuffle: c.Shuffle, stick: c.StickToShard, shards: int64(shards)}
}

// Len implements [Order].
func (o *plainOrder) Len() int64 { return o.n }

// Repeats implements [Order].
func (o *plainOrder) Repeats() bool { return false }

// Fingerprint implements [Order]: the config says it all.
func (o *plainOrder) Fingerprint() string { return "" }

// Visits implements [Order].
func (o *plainOrder) Visits(epoch int64, list []int64) { fill(list, epoch) }

// Samples implements [Order].
func (o *plainOrder) Samples(epoch int64, list []int64) {
	switch {
	case !o.shuffle:
	case o.stick:
		o.sticking(epoch, list)
	default:
		s := o.shuffled(epoch)
		for i, pos := range list {
			list[i] = s.at(pos)
		}
	}
}

// shuffleGroups implements shuffleGrouper. Shards that stick have blocks of their own, which are
// not told.
func (o *plainOrder) shuffleGroups(epoch int64, list []int64) {
	if !o.shuffle || o.stick || o.blocks.none() {
		fill(list, -1)
		return
	}
	s := o.shuffled(epoch)
	for i, pos := range list {
		list[i] = s.groupOf(pos)
	}
}

// shuffled returns the order of an epoch of samples that are shuffled and do not stick.
func (o *plainOrder) shuffled(epoch int64) shuffle {
	s := newShuffle(o.n, o.blocks, deriveKey(o.seed, epochKey, epoch, 0))
	if o.blocks.ends != nil {
		s.starts = o.starts.get(epoch, func(int64) []int64 { return o.blocks.places(&s.outer) })
	}
	return s
}

// sticking is the part of Samples for a list that is permuted once and cut into shards for
// good, each of which is permuted within itself.
func (o *plainOrder) sticking(epoch int64, list []int64) {
	all := newShuffle(o.n, o.blocks, deriveKey(o.seed, fixedKey, 0, 0))
	var shard shuffle // of the positions lo to lo+shard.n
	lo := int64(0)
	for i, pos := range list {
		if pos < lo || pos >= lo+shard.n {
			k := owner(o.n, o.shards, pos)
			lo = start(o.n, o.shards, k)
			shard = newShuffle(start(o.n, o.shards, k+1)-lo, o.blocks, deriveKey(o.seed, shardKey, epoch, k))
		}
		list[i] = all.at(lo + shard.at(pos-lo))
	}
}
