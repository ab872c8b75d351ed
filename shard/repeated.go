package shard

import "fmt"

// Repeated reads every sample Times times in every epoch, with other random numbers each
// time (repeated augmentation: Hoffer et al., "Augment your batch", CVPR 2020; Fort et al., 2021). O(1) for each.
//
// The copies of a sample are Apart positions of the list apart. By shard they are read by
// different ranks if there are as many ranks as copies, and in the same step if the number of ranks is a
// multiple of Times and everything divides. By step they are in one global batch if Apart
// is the size of that divided by Times.
type Repeated struct {
	// Times is how often a sample comes in an epoch, at least 2.
	Times int
	// Apart is the distance of a sample's copies; default as many as the data set has, so
	// that all samples come once before the first one comes again.
	Apart int64
}

// Order implements [Sampler].
func (r Repeated) Order(c Config) (Order, error) {
	if r.Apart == 0 {
		r.Apart = c.Samples
	}
	switch most := MaxSamples / c.Samples; {
	case r.Times < 2 || int64(r.Times) > most:
		return nil, &ConfigError{"Repeated.Times", r.Times, fmt.Sprintf("2 to %d", most)}
	case r.Apart < 1 || r.Apart > c.Samples:
		return nil, &ConfigError{"Repeated.Apart", r.Apart, fmt.Sprintf("1 to the %d samples of the data set", c.Samples)}
	}
	return &repeatedOrder{newPlainOrder(&c, 1), int64(r.Times), r.Apart}, nil
}

// repeatedOrder is a plain order of which stretches are repeated.
type repeatedOrder struct {
	*plainOrder
	times, apart int64
}

// Len implements [Order].
func (o *repeatedOrder) Len() int64 { return o.n * o.times }

// Repeats implements [Order].
func (o *repeatedOrder) Repeats() bool { return true }

// Fingerprint implements [Order].
func (o *repeatedOrder) Fingerprint() string {
	return fmt.Sprintf("sampler=repeated times=%d apart=%d", o.times, o.apart)
}

// at returns the place in the plain order of a position, and the number of its copy.
func (o *repeatedOrder) at(pos int64) (place, copy int64) {
	stretch := pos / (o.apart * o.times)
	first := stretch * o.apart
	size := min(o.apart, o.n-first) // the last stretch may be short
	pos -= first * o.times
	return first + pos%size, pos / size
}

// Visits implements [Order].
func (o *repeatedOrder) Visits(epoch int64, list []int64) {
	for i, pos := range list {
		_, copy := o.at(pos)
		list[i] = drawOf(o.times, epoch, copy)
	}
}

// Samples implements [Order].
func (o *repeatedOrder) Samples(epoch int64, list []int64) {
	for i, pos := range list {
		list[i], _ = o.at(pos)
	}
	o.plainOrder.Samples(epoch, list)
}
