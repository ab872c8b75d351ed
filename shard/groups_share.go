package shard

import "slices"

// share makes the batches of a step, c.ranks, of its items.
func (c *cutter) share(g *grouped, k int64) {
	c.ranks = slices.Grow(c.ranks[:0], int(g.shards))[:g.shards] // with the memory that they had
	if g.Budget > 0 {
		c.shareBudget(g, k)
		return
	}
	global := g.shards * g.batch
	items := c.items[k*global : min((k+1)*global, int64(len(c.items)))]
	if !g.Padded {
		c.balance(g, items)
		return
	}
	m := int64(len(items))
	for rank := range g.shards {
		c.ranks[rank] = append(c.ranks[rank][:0], items[start(m, g.shards, rank):start(m, g.shards, rank+1)]...)
	}
}

// shareBudget is the part of share for batches that have been cut by a budget.
func (c *cutter) shareBudget(g *grouped, k int64) {
	cut := c.ends[k*g.shards : min((k+1)*g.shards, int64(len(c.ends)))]
	first := 0
	if k > 0 {
		first = c.ends[k*g.shards-1]
	}
	items := c.items[first:cut[len(cut)-1]]
	if !g.Padded && c.balance(g, items) <= g.Budget {
		return
	}
	for rank, end := range cut {
		c.ranks[rank] = append(c.ranks[rank][:0], c.items[first:end]...)
		first = end
	}
	for rank := len(cut); rank < len(c.ranks); rank++ {
		c.ranks[rank] = c.halve(g, c.ranks[:rank], c.ranks[rank][:0])
	}
}

// halve moves the second half of the costliest batch that has two rows into another one.
func (c *cutter) halve(g *grouped, ranks [][]item, into []item) []item {
	costliest, most := -1, int64(-1)
	for i, batch := range ranks {
		if cost := g.cost(batch); len(batch) > 1 && cost > most {
			costliest, most = i, cost
		}
	}
	if costliest < 0 {
		return into
	}
	batch := ranks[costliest]
	half := (len(batch) + 1) / 2
	ranks[costliest] = batch[:half]
	return append(into, batch[half:]...)
}

// cost returns what a batch costs.
func (g *Groups) cost(batch []item) int64 {
	sum, longest := int64(0), int64(0)
	for _, x := range batch {
		sum, longest = sum+x.length(), max(longest, x.length())
	}
	if g.Padded {
		return longest * int64(len(batch))
	}
	return sum
}

// load is what a rank has got of a step.
type load struct{ cost, rank, rows int64 }

// balance shares items, the longest first, among the ranks: each goes to the one that has
// the least so far and a row left (Graham, "Bounds on multiprocessing timing anomalies",
// 1969). It returns the largest cost of a rank. Without a Budget a short step's rows are
// shared evenly, to within one.
func (c *cutter) balance(g *grouped, items []item) (largest int64) {
	c.loads = c.loads[:0]
	m := int64(len(items))
	for rank := range g.shards {
		c.ranks[rank] = c.ranks[rank][:0]
		rows := g.batch
		if g.Budget == 0 {
			rows = start(m, g.shards, rank+1) - start(m, g.shards, rank)
		}
		if rows > 0 {
			c.loads = append(c.loads, load{rank: rank, rows: rows})
		}
	}
	for _, x := range items { // loads is a heap, of equal costs at first
		least := &c.loads[0]
		c.ranks[least.rank] = append(c.ranks[least.rank], x)
		least.cost += x.length()
		largest = max(largest, least.cost)
		if least.rows--; least.rows == 0 {
			last := len(c.loads) - 1
			c.loads[0] = c.loads[last]
			c.loads = c.loads[:last]
		}
		sink(c.loads)
	}
	return largest
}

// sink moves the first element of a heap to its place: costs, and then ranks, ascend.
func sink(heap []load) {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if a, b := heap[child], heap[least]; a.cost < b.cost || a.cost == b.cost && a.rank < b.rank {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
