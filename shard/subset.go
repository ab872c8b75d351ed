package shard

import "fmt"

// Subset reads a list of samples: each of them once in every epoch, in the order of the list
// or, with Shuffle, in another one each time. It is PyTorch's SubsetRandomSampler, and its
// Subset where the samples shall keep their ids. O(1) for each.
type Subset struct {
	// Samples are different ids of the data set.
	Samples []int64
}

// Order implements [Sampler].
func (s Subset) Order(c Config) (Order, error) {
	if len(s.Samples) == 0 {
		return nil, &ConfigError{"Subset.Samples", "empty", "at least one sample"}
	}
	seen := make([]uint64, (c.Samples+63)/64)
	for i, id := range s.Samples {
		if id < 0 || id >= c.Samples {
			return nil, &ConfigError{element("Subset.Samples", i), id, fmt.Sprintf("0 to %d", c.Samples-1)}
		}
		bit := uint64(1) << (id % 64)
		if seen[id/64]&bit != 0 {
			return nil, &ConfigError{element("Subset.Samples", i), fmt.Sprintf("%d again", id), "a sample that is not in the list before; Weighted draws samples several times"}
		}
		seen[id/64] |= bit
	}
	return &subsetOrder{plainOrder{n: int64(len(s.Samples)), shuffle: c.Shuffle, seed: c.Seed}, s.Samples, hashInts(s.Samples)}, nil
}

// subsetOrder is the plain order of a list.
type subsetOrder struct {
	plainOrder
	samples []int64
	hash    uint64
}

// Fingerprint implements [Order].
func (o *subsetOrder) Fingerprint() string {
	return fmt.Sprintf("sampler=subset draws=%d list=%016x", o.n, o.hash)
}

// Samples implements [Order].
func (o *subsetOrder) Samples(epoch int64, list []int64) {
	o.plainOrder.Samples(epoch, list)
	for i, place := range list {
		list[i] = o.samples[place]
	}
}
