package shard

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Weighted draws samples as often as their weights say, as PyTorch's
// WeightedRandomSampler does, but more evenly.
//
// Of M draws, a sample whose weight is the share s of the sum of all comes ⌊M·s⌋ or ⌈M·s⌉
// times in every epoch, and M·s times in the mean of epochs. The samples lie on a line in a
// random order, each as long as its weight, and are drawn by points at equal distances,
// which begin at another place in every epoch (systematic sampling: Madow and Madow, "On
// the theory of systematic sampling", Annals of Mathematical Statistics 1944). The draws of
// an epoch come in a random order. A sample that comes again has other random numbers.
//
// It takes 8 bytes a sample, and O(log N) for each.
type Weighted struct {
	// Weights has one for each sample: not negative, and not all 0.
	Weights []float64
	// Column names a column of the data set that a loader takes the Weights from, in their place; see [Columns].
	Column string
	// Draws is the number M of samples of an epoch, over all ranks; default as many as the
	// data set has.
	Draws int64
	// Once draws without replacement: no sample comes twice in an epoch. Each draw takes one
	// of the samples that are left, with a probability in proportion to its weight, so heavy
	// ones come early in an epoch (Efraimidis and Spirakis, "Weighted random sampling with a
	// reservoir", Information Processing Letters 2006). Draws must not be more than there are
	// samples with a weight. An epoch takes a pass over the weights, and 8 bytes a sample.
	Once bool
}

// Order implements [Sampler].
func (w Weighted) Order(c Config) (Order, error) {
	if err := needShuffle(&c, "Weighted draws"); err != nil {
		return nil, err
	}
	if err := unfed("Weighted", w.Column, "Weights"); err != nil {
		return nil, err
	}
	if err := checkColumn("Weighted.Weights", len(w.Weights), c.Samples); err != nil {
		return nil, err
	}
	some, largest := int64(0), 0.0
	for i, x := range w.Weights {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return nil, &ConfigError{element("Weighted.Weights", i), x, "0 or more, and finite"}
		}
		if x > 0 {
			some++
		}
		largest = max(largest, x)
	}
	most := int64(MaxSamples)
	if w.Once {
		most = some
	}
	if w.Draws == 0 {
		w.Draws = c.Samples
	}
	switch {
	case some == 0:
		return nil, &ConfigError{"Weighted.Weights", "0 for all samples", "at least one above 0"}
	case w.Draws < 1 || w.Draws > most:
		want := fmt.Sprintf("1 to %d", most)
		if w.Once {
			want += ", the samples that have a weight, as each comes once"
		}
		return nil, &ConfigError{"Weighted.Draws", w.Draws, want}
	case w.Once:
		return newOnceOrder(w, &c, largest), nil
	}
	return newWeightedOrder(w, &c, largest), nil
}

// weightedOrder is the order of draws with replacement.
type weightedOrder struct {
	draws int64
	items Permutation // the samples in the order in which they lie on the line
	ends  []uint64    // where they end on it
	line  uint64      // its length
	most  int64       // the largest number of times that a sample comes in an epoch
	seed  uint64
	hash  uint64
}

// lineBits is the length of the line at most, in bits: as many weights as there may be
// can be rounded up to a whole number and it still fits.
const lineBits = 61

func newWeightedOrder(w Weighted, c *Config, largest float64) *weightedOrder {
	o := &weightedOrder{draws: w.Draws, items: NewPermutation(c.Samples, Key(c.Seed, "weighted line", 0, 0)), seed: c.Seed, hash: hashFloats(w.Weights)}
	// Powers of two keep the proportions of weights that are whole numbers.
	_, exponent := math.Frexp(largest)
	exponent += bits.Len64(uint64(c.Samples)) // of the sum, at most
	o.ends = make([]uint64, c.Samples)
	heaviest := uint64(0)
	for i := range o.ends {
		length := uint64(0)
		if x := w.Weights[o.items.At(int64(i))]; x > 0 {
			length = max(1, uint64(math.Ldexp(x, lineBits-exponent)))
		}
		o.line += length
		o.ends[i] = o.line
		heaviest = max(heaviest, length)
	}
	hi, lo := bits.Mul64(heaviest, uint64(o.draws))
	most, rest := bits.Div64(hi, lo, o.line)
	o.most = int64(most)
	if rest > 0 {
		o.most++
	}
	return o
}

// Len implements [Order].
func (o *weightedOrder) Len() int64 { return o.draws }

// Repeats implements [Order].
func (o *weightedOrder) Repeats() bool { return o.most > 1 }

// Fingerprint implements [Order].
func (o *weightedOrder) Fingerprint() string {
	return fmt.Sprintf("sampler=weighted draws=%d weights=%016x", o.draws, o.hash)
}

// first returns how far into the distance of two points the first one of an epoch lies, in
// points·distance/line. The multiples of the golden ratio spread over epochs as evenly as
// any do.
func (o *weightedOrder) first(epoch int64) uint64 {
	hi, _ := bits.Mul64(Key(o.seed, "weighted first", 0, 0)+uint64(epoch)*golden, o.line)
	return hi
}

// find returns the item of point j of an epoch, of which the first lies at first.
func (o *weightedOrder) find(j int64, first uint64) int {
	hi, lo := bits.Mul64(uint64(j), o.line)
	lo, carry := bits.Add64(lo, first, 0)
	at, _ := bits.Div64(hi+carry, lo, uint64(o.draws))
	item, _ := slices.BinarySearch(o.ends, at+1) // the first one that ends behind the point
	return item
}

// before returns the number of points of an epoch before an item.
func (o *weightedOrder) before(item int, first uint64) int64 {
	if item == 0 {
		return 0
	}
	hi, lo := bits.Mul64(o.ends[item-1], uint64(o.draws))
	lo, borrow := bits.Sub64(lo, first, 0)
	if hi < borrow {
		return 0
	}
	n, rest := bits.Div64(hi-borrow, lo, o.line)
	if rest > 0 {
		n++
	}
	return int64(n)
}

// Samples implements [Order].
func (o *weightedOrder) Samples(epoch int64, list []int64) {
	points, first := o.points(epoch), o.first(epoch)
	for i, pos := range list {
		list[i] = o.items.At(int64(o.find(points.At(pos), first)))
	}
}

// Visits implements [Order].
func (o *weightedOrder) Visits(epoch int64, list []int64) {
	points, first := o.points(epoch), o.first(epoch)
	for i, pos := range list {
		j := points.At(pos)
		list[i] = drawOf(o.most, epoch, j-o.before(o.find(j, first), first))
	}
}

// points returns the order of an epoch's points.
func (o *weightedOrder) points(epoch int64) Permutation {
	return NewPermutation(o.draws, Key(o.seed, "weighted points", epoch, 0))
}
