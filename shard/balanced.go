package shard

import "fmt"

// ClassBalanced draws all classes equally often, however many samples they have.
//
// Draws come in rounds of one sample of each class. So of any k draws that follow each
// other, over all epochs, each class has k/C to within one, and a batch of a multiple of C
// rows by step has all C classes equally often. Within a class every sample comes once before any comes again, in their
// order or, with Shuffle, in another one each time; the order of classes in a round is then
// random, too. A sample that comes again has other random numbers.
//
// It takes 8 bytes a sample, and O(1) for each.
type ClassBalanced struct {
	// Labels has the class of each sample, 0 … C-1. Every class must have a sample. Nil: a loader
	// takes those of its reader.
	Labels []int32
	// Draws is the number of samples of an epoch, over all ranks; default as many as the
	// data set has. The next epoch goes on where the last one ended.
	Draws int64
}

// Order implements [Sampler].
func (b ClassBalanced) Order(c Config) (Order, error) {
	if err := checkColumn("ClassBalanced.Labels", len(b.Labels), c.Samples); err != nil {
		return nil, err
	}
	if b.Draws == 0 {
		b.Draws = c.Samples
	}
	if b.Draws < 1 || b.Draws > MaxSamples {
		return nil, &ConfigError{"ClassBalanced.Draws", b.Draws, fmt.Sprintf("1 to %d", int64(MaxSamples))}
	}
	of, err := byClass("ClassBalanced.Labels", b.Labels)
	if err != nil {
		return nil, err
	}
	return &balancedOrder{classes: *of, draws: b.Draws, shuffle: c.Shuffle, seed: c.Seed, hash: hashInts(b.Labels)}, nil
}

// classes are the samples of a data set, class by class.
type classes struct {
	samples []int64 // in their order within a class
	starts  []int64 // of the classes in samples, and the number of samples
}

// byClass sorts samples by their class, in one pass. The error names an empty class.
func byClass(name string, labels []int32) (*classes, error) {
	top := int32(-1)
	for i, label := range labels {
		if label < 0 || int(label) >= len(labels) {
			return nil, &ConfigError{element(name, i), label, fmt.Sprintf("a class, 0 to %d at most", len(labels)-1)}
		}
		top = max(top, label)
	}
	of := &classes{samples: make([]int64, len(labels)), starts: make([]int64, top+2)}
	for _, label := range labels {
		of.starts[label+1]++
	}
	for class := range of.starts[1:] {
		if of.starts[class+1] == 0 {
			return nil, &ConfigError{name, fmt.Sprintf("without a sample of class %d", class), fmt.Sprintf("at least one of each class, 0 to %d; number the classes that there are", top)}
		}
		of.starts[class+1] += of.starts[class]
	}
	next := append([]int64(nil), of.starts...)
	for i, label := range labels {
		of.samples[next[label]] = int64(i)
		next[label]++
	}
	return of, nil
}

// len returns the number of classes.
func (c *classes) len() int64 { return int64(len(c.starts) - 1) }

// balancedOrder is the order of class-balanced draws.
type balancedOrder struct {
	classes
	draws   int64
	shuffle bool
	seed    uint64
	hash    uint64
}

// Len implements [Order].
func (o *balancedOrder) Len() int64 { return o.draws }

// Repeats implements [Order].
func (o *balancedOrder) Repeats() bool { return true }

// Fingerprint implements [Order].
func (o *balancedOrder) Fingerprint() string {
	return fmt.Sprintf("sampler=class-balanced draws=%d labels=%016x", o.draws, o.hash)
}

// Visits implements [Order]: the epochs of the classes.
func (o *balancedOrder) Visits(epoch int64, list []int64) {
	cursor := o.cursor()
	for i, pos := range list {
		round, class := cursor.at(drawOf(o.draws, epoch, pos))
		list[i] = round / (o.starts[class+1] - o.starts[class])
	}
}

// Samples implements [Order].
func (o *balancedOrder) Samples(epoch int64, list []int64) {
	cursor := o.cursor()
	for i, pos := range list {
		round, class := cursor.at(drawOf(o.draws, epoch, pos))
		first, n := o.starts[class], o.starts[class+1]-o.starts[class]
		place := round % n
		if o.shuffle && n > 1 {
			p := NewPermutation(n, Key(o.seed, "class", round/n, class))
			place = p.At(place)
		}
		list[i] = o.samples[first+place]
	}
}

// roundCursor finds the round and the class of draws. It keeps the order of one round.
type roundCursor struct {
	*balancedOrder
	round int64
	order Permutation
}

func (o *balancedOrder) cursor() roundCursor { return roundCursor{balancedOrder: o, round: -1} }

func (r *roundCursor) at(draw int64) (round, class int64) {
	n := r.len()
	round, class = draw/n, draw%n
	if !r.shuffle {
		return round, class
	}
	if round != r.round {
		r.round, r.order = round, NewPermutation(n, Key(r.seed, "round", round, 0))
	}
	return round, r.order.At(class)
}
