package shard

import (
	"cmp"
	"slices"
)

// Strata are the classes of the samples of a data set, by which a split of it into parts
// gives every part its share of each class.
type Strata struct {
	labels []int32
	hash   uint64
}

// NewStrata returns the strata of samples with these labels, whatever their numbers. The
// labels are not copied and must not change.
func NewStrata(labels []int32) *Strata { return &Strata{labels, hashInts(labels)} }

// Len returns the number of samples.
func (s *Strata) Len() int64 { return int64(len(s.labels)) }

// Fingerprint is a hash of the labels.
func (s *Strata) Fingerprint() uint64 { return s.hash }

// Shuffled returns the samples class by class, each class in a random order that depends on
// the seed and the label alone. Every F-th sample of it has each class to within one.
func (s *Strata) Shuffled(seed uint64) []int64 {
	order := make([]int64, len(s.labels))
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortStableFunc(order, func(a, b int64) int { return cmp.Compare(s.labels[a], s.labels[b]) })
	for first := 0; first < len(order); {
		label, end := s.labels[order[first]], first
		for end < len(order) && s.labels[order[end]] == label {
			end++
		}
		class := slices.Clone(order[first:end])
		p := NewPermutation(int64(len(class)), Key(seed, "stratum", int64(label), 0))
		for i := range class {
			order[first+i] = class[p.At(int64(i))]
		}
		first = end
	}
	return order
}
