package shard

import (
	"cmp"
	"math/bits"
	"slices"
)

// halves shares draws in proportions that no table holds. Weights are split in two parts
// that are as equal as they can be, again and again, and each part takes its share of the
// draws of both: of the first k draws ⌊k·w/W⌋ go to the first part.
//
// Weights are sorted, so a part of several has at most two thirds of both (Fano's code), and
// the error of a source is less than 1 for itself, and for every part that it is in less than
// its share of that part: less than 1 + 1 + 2/3 + 4/9 + … = 4 in all.
type halves []half

// half is a part of several weights.
type half struct {
	first, both int64 // weight of the first part, and of both
	parts       [2]int32
	leaf        [2]bool // parts are entries, not halves
}

// newHalves returns the halves of weights of which at least two are above 0.
func newHalves(weights []int64) halves {
	var entries []int32
	for i, w := range weights {
		if w > 0 {
			entries = append(entries, int32(i))
		}
	}
	slices.SortStableFunc(entries, func(a, b int32) int { return cmp.Compare(weights[b], weights[a]) })
	var h halves
	h.split(weights, entries)
	return h
}

// split adds the halves of entries, and returns the place of the first.
func (h *halves) split(weights []int64, entries []int32) int32 {
	both, first, n := int64(0), int64(0), 0
	for _, i := range entries {
		both += weights[i]
	}
	for n == 0 || n < len(entries)-1 && both-2*first > 2*(first+weights[entries[n]])-both {
		first += weights[entries[n]]
		n++
	}
	at := int32(len(*h))
	*h = append(*h, half{first: first, both: both})
	for i, part := range [2][]int32{entries[:n], entries[n:]} {
		if len(part) == 1 {
			(*h)[at].parts[i], (*h)[at].leaf[i] = part[0], true
			continue
		}
		place := h.split(weights, part)
		(*h)[at].parts[i] = place
	}
	return at
}

// at returns the entry of draw k, and the number of draws that it had before.
func (h halves) at(k int64) (entry int, draw int64) {
	for i := int32(0); ; {
		n := &h[i]
		hi, lo := bits.Mul64(uint64(k), uint64(n.first))
		first, rest := bits.Div64(hi, lo, uint64(n.both)) // what the first part had before
		part := 1
		if rest+uint64(n.first) >= uint64(n.both) {
			part, k = 0, int64(first)
		} else {
			k -= int64(first)
		}
		if i = n.parts[part]; n.leaf[part] {
			return int(i), k
		}
	}
}

// given returns how many of the first k draws each entry has had.
func (h halves) given(k int64, entries int) []int64 {
	all := make([]int64, entries)
	var share func(i int32, k int64)
	share = func(i int32, k int64) {
		n := &h[i]
		hi, lo := bits.Mul64(uint64(k), uint64(n.first))
		first, _ := bits.Div64(hi, lo, uint64(n.both))
		for part, drawn := range [2]int64{int64(first), k - int64(first)} {
			if n.leaf[part] {
				all[n.parts[part]] = drawn
			} else {
				share(n.parts[part], drawn)
			}
		}
	}
	share(0, k)
	return all
}
