package shard

import "math/bits"

// start returns floor(k·n/parts): where part k begins when n list positions are
// cut into parts whose sizes differ by at most one. 0 <= k <= parts <= MaxRanks.
func start(n, parts, k int64) int64 {
	// k·n may not fit; both products below do.
	return k*(n/parts) + k*(n%parts)/parts
}

// owner returns the part of n positions that holds position i, the greatest k
// with start(n, parts, k) <= i. 0 <= i < n.
func owner(n, parts, i int64) int64 {
	// start(k) <= i  <=>  k·n < (i+1)·parts
	hi, lo := bits.Mul64(uint64(i+1), uint64(parts))
	lo, borrow := bits.Sub64(lo, 1, 0)
	k, _ := bits.Div64(hi-borrow, lo, uint64(n))
	return int64(k)
}

// ceilDiv returns ceil(a/b) for a >= 0 and b > 0.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if q*b < a {
		q++
	}
	return q
}
