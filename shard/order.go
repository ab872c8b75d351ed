package shard

// shuffle is a shuffled order of n positions. With a block size it permutes
// blocks, and the positions within each block. It remembers the block it was
// last asked for and belongs to one caller.
type shuffle struct {
	n, block int64
	key      uint64
	outer    Permutation // of the positions, or of the blocks

	// The last block may be short. Where it comes in the order decides
	// where all later blocks begin.
	short   int64 // its length, 0 if it is a full one
	shortAt int64 // the position where it begins

	inner   Permutation // within block innerOf
	innerOf int64
}

func newShuffle(n, block int64, key uint64) shuffle {
	if block == 0 {
		return shuffle{n: n, outer: NewPermutation(n, key)}
	}
	blocks := ceilDiv(n, block)
	s := shuffle{n: n, block: block, key: key, outer: NewPermutation(blocks, key), short: n % block, innerOf: -1}
	if s.short > 0 {
		s.shortAt = s.outer.IndexOf(blocks-1) * block
	}
	return s
}

// at returns the element at place i.
func (s *shuffle) at(i int64) int64 {
	if s.block == 0 {
		return s.outer.At(i)
	}
	if s.short > 0 && i >= s.shortAt+s.short {
		i += s.block - s.short // as if the short block were a full one
	}
	b := s.outer.At(i / s.block)
	if b != s.innerOf {
		size := min(s.block, s.n-b*s.block)
		s.inner, s.innerOf = NewPermutation(size, deriveKey(s.key, blockKey, b, 0)), b
	}
	return b*s.block + s.inner.At(i%s.block)
}

// order maps the positions of one epoch's list to sample ids. It is a value of
// one call, on the stack: what it keeps are the keys of the epoch.
type order struct {
	cfg    *Config
	epoch  int64
	shards int64 // that the epoch began with

	list  shuffle // of the whole list
	shard shuffle // with StickToShard: of the shard lo to lo+shard.n
	lo    int64
}

func newOrder(cfg *Config, epoch, shards int64) order {
	o := order{cfg: cfg, epoch: epoch, shards: shards}
	switch {
	case !cfg.Shuffle:
	case cfg.StickToShard:
		o.list = newShuffle(cfg.Samples, cfg.Block, deriveKey(cfg.Seed, fixedKey, 0, 0))
	default:
		o.list = newShuffle(cfg.Samples, cfg.Block, deriveKey(cfg.Seed, epochKey, epoch, 0))
	}
	return o
}

// id returns the sample at list position pos.
func (o *order) id(pos int64) int64 {
	if !o.cfg.Shuffle {
		return pos
	}
	if o.cfg.StickToShard {
		if pos < o.lo || pos >= o.lo+o.shard.n {
			n := o.cfg.Samples
			k := owner(n, o.shards, pos)
			o.lo = start(n, o.shards, k)
			o.shard = newShuffle(start(n, o.shards, k+1)-o.lo, o.cfg.Block, deriveKey(o.cfg.Seed, shardKey, o.epoch, k))
		}
		pos = o.lo + o.shard.at(pos-o.lo)
	}
	return o.list.at(pos)
}
