package shard

import (
	"math"
	"slices"
)

// daliBatch returns a batch of the stream that DALI's reader of one shard
// returns, a pure function of the batch's number. Without padding it runs through its
// shard, or the whole data set, for ever; with padding each round of a shard is
// stretched to whole batches, as many as the largest shard has.
func daliBatch(c *Config, number int64, rank int) batch {
	n, shards := c.Samples, int64(c.Shards)
	k, first := int64(rank), number*int64(c.Batch)
	if c.PadLastBatch {
		perRound := ceilDiv(ceilDiv(n, shards), int64(c.Batch))
		k = c.shardOf(number/perRound, k)
		first = number % perRound * int64(c.Batch)
	}
	lo := start(n, shards, k)
	if !c.PadLastBatch && !c.StickToShard {
		return batch{n: n, first: (lo + first%n) % n, valid: c.Batch}
	}
	return batch{lo: lo, n: start(n, shards, k+1) - lo, first: first, valid: c.Batch}
}

// daliStep is what one step adds to the counter of DALI's iterator.
func (c *Config) daliStep() int64 {
	if c.Size != 0 {
		return int64(c.Batch) * int64(c.pipes())
	}
	return int64(c.Batch)
}

// daliState is the bookkeeping of DALI's framework iterator, in its terms:
// "nvidia/dali/plugin/base_iterator.py" of 2.4, reader path and size path.
type daliState struct {
	cfg     *Config
	counter int64 // samples per pipeline (size path: of all pipelines) read of the epoch, may start above 0
	size    int64 // where the counter ends the epoch; negative: never
	read    int64 // batches that each reader has returned
	turns   int64 // by how many the shards have rotated

	// The reader path under FILL without padding carries read samples into the
	// next epoch, per shard. Nil otherwise.
	ahead []int64 // samples read beyond the shard's end
	sizes []int64 // of the shards, as far as they have rotated
}

func newDALIState(c *Config) daliState {
	s := daliState{cfg: c, size: c.Size}
	if c.Size != 0 {
		return s
	}
	n, shards := c.Samples, int64(c.Shards)
	switch {
	case c.Policy == Drop:
		s.size = n / shards
	case c.PadLastBatch:
		s.size = ceilDiv(n, shards)
	default:
		s.size = roundUp(ceilDiv(n, shards), int64(c.Batch))
	}
	if s.carries() {
		s.ahead = make([]int64, shards)
		s.sizes = make([]int64, shards)
		for k := range shards {
			s.sizes[k] = start(n, shards, k+1) - start(n, shards, k)
		}
	}
	return s
}

// roundUp returns the smallest multiple of b that is at least a.
func roundUp(a, b int64) int64 { return ceilDiv(a, b) * b }

// carries reports whether what the last batch read too much belongs to the next epoch.
func (s *daliState) carries() bool {
	padded := s.cfg.PadLastBatch
	if s.cfg.Size != 0 {
		padded = s.cfg.LastBatchPadded
	}
	return s.cfg.Policy == Fill && !padded
}

// len is the iterator's len().
func (s *daliState) len() int64 {
	switch {
	case s.size < 0:
		return 0
	case s.cfg.Policy == Drop:
		return s.size / s.cfg.daliStep()
	}
	return ceilDiv(s.size, s.cfg.daliStep())
}

// ended reports whether the counter has reached the end of the epoch.
func (s *daliState) ended() bool { return s.size > 0 && s.counter >= s.size }

// next takes one step. ok is false at the end of the epoch, which under DROP
// takes one batch from the readers and throws it away.
func (s *daliState) next() (d Delivery, ok bool) {
	if s.ended() {
		return d, false
	}
	s.counter += s.cfg.daliStep()
	s.read++
	if s.cfg.Policy == Drop && s.counter > s.size {
		return d, false
	}
	return s.delivery(s.read-1, s.counter), true
}

func (s *daliState) delivery(number, counter int64) Delivery {
	return Delivery{cfg: s.cfg, number: number, excess: counter - s.size, counter: counter, turns: s.turns}
}

// steps returns how many times next would return a batch.
func (s *daliState) steps() int64 {
	left := max(s.size-s.counter, 0)
	switch {
	case s.size < 0:
		return math.MaxInt64
	case s.cfg.Policy == Drop:
		return left / s.cfg.daliStep()
	}
	return ceilDiv(left, s.cfg.daliStep())
}

// finish takes all steps of an epoch that has an end.
func (s *daliState) finish() {
	steps := s.steps()
	s.counter += steps * s.cfg.daliStep()
	s.read += steps
	s.next() // what DROP throws away
}

// reset starts the next epoch. It does nothing and returns false where the
// current one is not finished.
func (s *daliState) reset() bool {
	if s.cfg.Policy == Drop && !s.ended() && s.counter+s.cfg.daliStep() > s.size {
		s.counter += s.cfg.daliStep()
		s.read++
	}
	if s.size > 0 && s.counter < s.size {
		return false
	}
	if s.cfg.Size == 0 && !s.cfg.StickToShard {
		s.turns++
	}
	switch {
	case s.ahead != nil:
		s.carryOver()
	case s.carries() && s.size > 0:
		s.counter %= s.size
	default:
		s.counter = 0
	}
	return true
}

// carryOver sets up an epoch of which some samples have been read already.
func (s *daliState) carryOver() {
	s.counter -= slices.Min(s.ahead)
	for i := range s.ahead {
		s.ahead[i] += s.counter - s.sizes[i]
	}
	s.counter = slices.Min(s.ahead)
	if !s.cfg.StickToShard {
		rotate(s.sizes)
	}
	left := int64(math.MinInt64)
	for i := range s.ahead {
		left = max(left, s.sizes[i]-s.ahead[i])
	}
	s.size = roundUp(left, int64(s.cfg.Batch))
	if s.size == 0 { // nothing left: this epoch is skipped
		clear(s.ahead)
		s.counter = 0
		rotate(s.sizes)
		s.size = roundUp(slices.Max(s.sizes), int64(s.cfg.Batch))
	}
}

// rotate moves every element one place up and the last one to the front.
func rotate(a []int64) {
	last := a[len(a)-1]
	copy(a[1:], a)
	a[0] = last
}
