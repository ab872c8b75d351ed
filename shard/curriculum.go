package shard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Curriculum reads samples by a key, such as their difficulty: small keys first (Bengio et
// al., "Curriculum learning", ICML 2009). Negate the keys for the opposite. Samples of equal
// keys keep their order.
//
// With Start and Epochs it paces over epochs: epoch e draws from the easiest samples alone,
// the share Start of all at first, which grows in equal steps to 1 in epoch Epochs. Every
// epoch has as many draws as there are samples: of n easy ones among N each comes ⌊N/n⌋ or
// ⌈N/n⌉ times, in a random order; a sample that comes again has other random numbers.
//
// Without, every epoch has every sample once, sorted by the key; with Shuffle samples are
// shuffled among Window neighbours in that order, anew in every epoch. The order is one in
// time, so it needs a partition by step.
//
// It takes 8 bytes a sample, and O(1) for each.
type Curriculum struct {
	// Keys has one for each sample, and none that is not a number.
	Keys []float64
	// Column names a column of the data set that a loader takes the Keys from, in their place; see [Columns].
	Column string
	// Start is the share of the samples that epoch 0 draws from, above 0 and below 1.
	Start float64
	// Epochs is the first epoch that draws from all samples.
	Epochs int64
	// Window is the number of neighbours in the sorted order that are shuffled.
	Window int64
}

// Order implements [Sampler].
func (k Curriculum) Order(c Config) (Order, error) {
	if err := unfed("Curriculum", k.Column, "Keys"); err != nil {
		return nil, err
	}
	if err := checkColumn("Curriculum.Keys", len(k.Keys), c.Samples); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(k.Keys, math.IsNaN); i >= 0 {
		return nil, &ConfigError{element("Curriculum.Keys", i), k.Keys[i], "a number"}
	}
	paced := k.Start != 0 || k.Epochs != 0
	var err error
	switch {
	case paced && !(k.Start > 0 && k.Start < 1):
		return nil, &ConfigError{"Curriculum.Start", k.Start, "a share above 0 and below 1 beside Epochs"}
	case paced && (k.Epochs < 1 || k.Epochs > 1<<32):
		return nil, &ConfigError{"Curriculum.Epochs", k.Epochs, fmt.Sprintf("1 to %d beside Start", int64(1)<<32)}
	case paced && k.Window != 0:
		return nil, &ConfigError{"Curriculum.Window", k.Window, "0 with Start and Epochs, whose epochs are shuffled as a whole"}
	case paced:
		err = needShuffle(&c, "a Curriculum with Start and Epochs")
	case c.Shuffle && k.Window < 2:
		return nil, &ConfigError{"Curriculum.Window", k.Window, "at least 2 with Shuffle: the number of neighbours that are shuffled; or leave Shuffle out, or give Start and Epochs"}
	case !c.Shuffle && k.Window != 0:
		return nil, &ConfigError{"Curriculum.Window", k.Window, "0 without Shuffle"}
	default:
		err = needByStep(&c, "a sorted Curriculum")
	}
	if err != nil {
		return nil, err
	}
	o := &curriculumOrder{Curriculum: k, n: c.Samples, shuffle: c.Shuffle, seed: c.Seed, hash: hashFloats(k.Keys), sorted: make([]int64, c.Samples)}
	for i := range o.sorted {
		o.sorted[i] = int64(i)
	}
	slices.SortFunc(o.sorted, func(a, b int64) int { return cmp.Or(cmp.Compare(k.Keys[a], k.Keys[b]), cmp.Compare(a, b)) })
	o.Keys = nil
	return o, nil
}

// curriculumOrder is the order of a curriculum.
type curriculumOrder struct {
	Curriculum
	n       int64
	sorted  []int64 // samples
	shuffle bool
	seed    uint64
	hash    uint64
}

// Len implements [Order].
func (o *curriculumOrder) Len() int64 { return o.n }

// Repeats implements [Order].
func (o *curriculumOrder) Repeats() bool { return o.Epochs > 0 }

// Fingerprint implements [Order].
func (o *curriculumOrder) Fingerprint() string {
	return fmt.Sprintf("sampler=curriculum start=%v epochs=%d window=%d keys=%016x", o.Start, o.Epochs, o.Window, o.hash)
}

// easy returns how many samples an epoch draws from.
func (o *curriculumOrder) easy(epoch int64) int64 {
	if epoch >= o.Epochs {
		return o.n
	}
	grown := float64((1 - o.Start) * (float64(epoch) / float64(o.Epochs))) // as it is on machines that fuse a product and a sum
	return min(max(int64(math.Ceil((o.Start+grown)*float64(o.n))), 1), o.n)
}

// Visits implements [Order].
func (o *curriculumOrder) Visits(epoch int64, list []int64) {
	if o.Epochs == 0 {
		fill(list, epoch)
		return
	}
	draws, easy := o.draws(epoch), o.easy(epoch)
	most := ceilDiv(o.n, o.easy(0)) // times that a sample comes in an epoch
	for i, pos := range list {
		list[i] = drawOf(most, epoch, draws.At(pos)/easy)
	}
}

// Samples implements [Order].
func (o *curriculumOrder) Samples(epoch int64, list []int64) {
	switch {
	case o.Epochs > 0:
		draws, easy := o.draws(epoch), o.easy(epoch)
		places := NewPermutation(easy, Key(o.seed, "curriculum places", epoch, 0)) // the first ones come once more
		for i, pos := range list {
			list[i] = places.At(draws.At(pos) % easy)
		}
	case o.shuffle:
		var window Permutation
		of := int64(-1)
		for i, pos := range list {
			if w := pos / o.Window; w != of {
				of = w
				window = NewPermutation(min(o.Window, o.n-w*o.Window), Key(o.seed, "curriculum window", epoch, w))
			}
			list[i] = of*o.Window + window.At(pos%o.Window)
		}
	}
	for i, place := range list {
		list[i] = o.sorted[place]
	}
}

// draws returns the order of an epoch's draws.
func (o *curriculumOrder) draws(epoch int64) Permutation {
	return NewPermutation(o.n, Key(o.seed, "curriculum draws", epoch, 0))
}
