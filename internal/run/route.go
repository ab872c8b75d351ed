package run

import (
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/datum"
)

// With Plan.Cached rows go to the maker that owns the block of their sample, which has it in a
// cache after the first epoch: its shard, or the sample itself. The owner is the maker whose
// name and the block have the largest hash together, so all training programs agree on it
// without asking each other, and when a maker comes or goes only its own blocks move.
//
// Who finds new rows first keeps them for their owners (executor.Rows.Suits). A maker takes
// rows of its own first, and where there are none relieves the one that has most, if it has more than it makes in
// the time of a row that is in no cache (ease): of one row, or where
// nearly all rows are of one shard, of up to half of them.
type router struct {
	shards []int64                 // the index behind each, nil where samples are blocks
	owners atomic.Pointer[[]owner] // the addresses that have lanes; never changed in place
}

type owner struct {
	number int // of the address
	hash   uint64
}

func newRouter(source datum.Source) *router {
	r := &router{}
	if s, ok := source.(datum.Sharded); ok {
		r.shards = s.ShardEnds()
	}
	r.owners.Store(new([]owner))
	return r
}

// add has an address own blocks; the house's mu is held.
func (r *router) add(number int, name string) {
	sum := fnv.New64a()
	sum.Write([]byte(name))
	owners := append(slices.Clone(*r.owners.Load()), owner{number, scramble(sum.Sum64())})
	r.owners.Store(&owners)
}

// remove has an address own none any more; the house's mu is held.
func (r *router) remove(number int) {
	owners := slices.DeleteFunc(slices.Clone(*r.owners.Load()), func(o owner) bool { return o.number == number })
	r.owners.Store(&owners)
}

// owner returns the number of the address that owns the block of a sample, 0 for none.
func (r *router) owner(sample int64) (number int) {
	block := uint64(sample)
	if r.shards != nil {
		shard, on := slices.BinarySearch(r.shards, sample)
		if on { // the first sample of the next one
			shard++
		}
		block = uint64(shard)
	}
	block = scramble(block)
	var most uint64
	for _, o := range *r.owners.Load() {
		if h := scramble(o.hash ^ block); number == 0 || h > most {
			number, most = o.number, h
		}
	}
	return number
}

// ease has an address relieved of rows only where all that are kept for it take longer than one costs in this process,
// where its sample is in no cache either, or where it sends nothing; mu is held.
func (h *house) ease(t int64) {
	cost := time.Duration(h.cost.Load())
	if h.router == nil || cost == 0 {
		return
	}
	for _, a := range h.addresses {
		enough := a.enough
		if a.pace.row > 0 {
			enough = 1 + int(cost/a.pace.row)
		}
		if a.requests > 0 && time.Duration(t-a.progress) > h.slow() {
			enough = 1
		}
		if enough != a.enough && a.lanes > 0 {
			a.enough = enough
			h.r.rows.Ease(a.number, enough)
		}
	}
}

// scramble spreads numbers over all others, one to one (Steele, Lea and Flood 2014, Fast
// splittable pseudorandom number generators).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// suits returns the owners of new rows (executor.Rows.Suits).
func (r *sampleRegion) suits(c *executor.Call, row, end int) []int {
	samples := r.flights[c.Slot()].samples[0]
	owners := make([]int, end-row)
	for i := range min(end, len(samples)) - row { // for what is behind there is no sample
		owners[i] = r.house.router.owner(samples[row+i])
	}
	return owners
}
