package shard

import (
	"slices"
	"sync"
)

// window is a part of an epoch's list that was cut into steps, and the steps into batches.
type window struct {
	epoch, number int64
	shards        int64
	positions     []int64 // step by step, and rank by rank
	ends          []int   // of the batches in positions
}

// rows returns what a rank reads in a step.
func (w *window) rows(step, rank int64) []int64 {
	i := step*w.shards + rank
	first := 0
	if i > 0 {
		first = w.ends[i-1]
	}
	return w.positions[first:w.ends[i]:w.ends[i]]
}

// from returns what is read in a step and those behind it.
func (w *window) from(step int64) []int64 {
	if step == 0 {
		return w.positions
	}
	return w.positions[w.ends[step*w.shards-1]:]
}

// newWindow cuts a window of an epoch.
func (g *grouped) newWindow(epoch, number int64) *window {
	list, _ := g.of(epoch)
	c := cutters.Get().(*cutter)
	defer cutters.Put(c)
	c.sort(g, &list, epoch, number*g.span())
	c.cut(g)
	w := &window{epoch: epoch, number: number, shards: g.shards, positions: make([]int64, 0, len(c.items)), ends: make([]int, 0, c.steps(g)*g.shards)}
	steps := c.steps(g)
	full := steps
	if g.Budget == 0 && int64(len(c.items))%(g.shards*g.batch) != 0 {
		full-- // a short step is the last one
	}
	order := Permutation{}
	if g.shuffle && full > 1 {
		order = NewPermutation(full, Key(g.seed, "group steps", epoch, number))
	}
	for k := range steps {
		if k < full && order.n > 0 {
			k = order.At(k)
		}
		c.share(g, k)
		for _, batch := range c.ranks {
			for _, x := range batch {
				w.positions = append(w.positions, c.positions[x.place()])
			}
			w.ends = append(w.ends, len(w.positions))
		}
	}
	return w
}

// item is a place in a window that sorts by the length of its sample, the longest first,
// and then by the place.
type item uint64

func newItem(length int64, place int) item { return item(MaxLength-length)<<32 | item(place) }
func (x item) length() int64               { return MaxLength - int64(x>>32) }
func (x item) place() int                  { return int(uint32(x)) }

// cutter cuts windows. It can be used again, for another one.
type cutter struct {
	positions []int64 // of the window, in the order of the list
	samples   []int64
	items     []item   // sorted
	ends      []int    // with a Budget, of the batches in items
	ranks     [][]item // the batches of a step
	loads     []load
}

var cutters = sync.Pool{New: func() any { return new(cutter) }}

// sort takes up the window of an epoch's list that begins at a place.
func (c *cutter) sort(g *grouped, list *groupList, epoch, lo int64) {
	c.positions = list.appendTo(c.positions[:0], lo, min(lo+g.span(), list.len()))
	c.samples = append(c.samples[:0], c.positions...)
	g.order.Samples(epoch, c.samples)
	c.items = c.items[:0]
	for place, id := range c.samples {
		c.items = append(c.items, newItem(g.Lengths[id], place))
	}
	slices.Sort(c.items)
}

// cut cuts the items into batches, if they have a Budget: each has as many as fit, one
// after the other.
func (c *cutter) cut(g *grouped) {
	c.ends = c.ends[:0]
	if g.Budget == 0 {
		return
	}
	rows, longest, sum := int64(0), int64(0), int64(0)
	for i, x := range c.items {
		length := x.length()
		cost := sum + length
		if g.Padded {
			cost = max(longest, length) * (rows + 1)
		}
		if rows > 0 && (rows == g.batch || cost > g.Budget) {
			c.ends = append(c.ends, i)
			rows, longest, sum = 0, 0, 0
		}
		rows, longest, sum = rows+1, max(longest, length), sum+length
	}
	c.ends = append(c.ends, len(c.items))
}

// steps returns the number of steps of the window.
func (c *cutter) steps(g *grouped) int64 {
	if g.Budget > 0 {
		return ceilDiv(int64(len(c.ends)), g.shards)
	}
	return ceilDiv(int64(len(c.items)), g.shards*g.batch)
}
