package shard

import "fmt"

// mixOrder is the order of a mix of sources. Draws count on from epoch to epoch, and every
// source goes through epochs of its own.
type mixOrder struct {
	flat   *Mix     // of sources alone, in one stage, or nil
	root   *mixNode // of others
	draws  int64    // of an epoch of the plan
	sizes  []int64  // of the sources
	starts []int64  // their first ids
	shares string   // all of Shares

	shuffle bool
	blocks  blocks
	seed    uint64
}

// newMixOrder returns the order of a valid config that has sources.
func newMixOrder(c *Config) (Order, error) {
	o := &mixOrder{draws: c.Samples, sizes: c.Sources, shuffle: c.Shuffle, blocks: c.blocks(), seed: c.Seed}
	next := int64(0)
	for _, size := range o.sizes {
		o.starts = append(o.starts, next)
		next += size
	}
	shares := c.shares()
	if shares.Stages == nil && shares.sources() == len(shares.Weights) {
		if o.flat = newTable(shares.Weights); o.flat != nil {
			o.shares = list(o.flat.weights)
			return o, nil
		}
	}
	o.root = newMixNode(shares, o.draws, 0, func(k int64) int64 { return k })
	o.shares = shares.String()
	return o, nil
}

// draw returns the place in an epoch of a source that a list position draws. After
// 2^63 draws the mix begins anew.
func (o *mixOrder) draw(epoch, pos int64) (source int, sourceEpoch, place int64) {
	k, drawn := drawOf(o.draws, epoch, pos), int64(0)
	if o.flat != nil {
		source, drawn = o.flat.At(k)
	} else {
		source, drawn = o.root.at(k)
	}
	return source, drawn / o.sizes[source], drawn % o.sizes[source]
}

// Len implements [Order].
func (o *mixOrder) Len() int64 { return o.draws }

// Repeats implements [Order].
func (o *mixOrder) Repeats() bool { return true }

// Fingerprint implements [Order].
func (o *mixOrder) Fingerprint() string {
	return fmt.Sprintf("sources=%s weights=%s", list(o.sizes), o.shares)
}

// Visits implements [Order]: the epochs of the sources.
func (o *mixOrder) Visits(epoch int64, list []int64) {
	for i, pos := range list {
		_, list[i], _ = o.draw(epoch, pos)
	}
}

// shuffleGroups implements shuffleGrouper: the numbers of a source rise from one epoch of it to
// the next.
func (o *mixOrder) shuffleGroups(epoch int64, list []int64) {
	if !o.shuffle || o.blocks.none() {
		fill(list, -1)
		return
	}
	for i, pos := range list {
		source, epoch, place := o.draw(epoch, pos)
		n := o.sizes[source]
		s := newShuffle(n, o.blocks, deriveKey(o.seed, epochKey, epoch, int64(source)))
		list[i] = epoch*o.blocks.of(n) + s.groupOf(place)
	}
}

// Samples implements [Order]. It keeps the orders of a few sources, as neighbours in the
// list are of different ones.
func (o *mixOrder) Samples(epoch int64, list []int64) {
	var orders [8]struct {
		source int
		epoch  int64
		list   shuffle // of no samples before the first use
	}
	for i, pos := range list {
		source, epoch, place := o.draw(epoch, pos)
		if o.shuffle {
			of := &orders[source%len(orders)]
			if of.list.n == 0 || of.source != source || of.epoch != epoch {
				of.source, of.epoch = source, epoch
				of.list = newShuffle(o.sizes[source], o.blocks, deriveKey(o.seed, epochKey, epoch, int64(source)))
			}
			place = of.list.at(place)
		}
		list[i] = o.starts[source] + place
	}
}
