package streams

// closure is the partial order that the edges of a graph generate. It takes
// N²/8 bytes.
type closure struct {
	after matrix // row v: the nodes that come after v
	// The transitive reduction: the edges that no other path implies.
	next [][]int // ascending
	prev [][]int // ascending
}

// newClosure takes edges from lower to higher nodes, sorted by consumer.
func newClosure(n int, edges []Edge) *closure {
	c := &closure{after: newMatrix(n, n), next: make([][]int, n), prev: make([][]int, n)}
	succ := group(n, edges, func(e Edge) (int, int) { return e.From, e.To })
	for v := n - 1; v >= 0; v-- {
		row := c.after.row(v)
		kept := succ[v][:0]
		// A path from v to w leads over lower nodes than w, whose rows are in
		// already: an edge to w is implied exactly if w is there, too.
		for _, w := range succ[v] {
			if !row.has(w) {
				row.add(w)
				row.union(c.after.row(w))
				kept = append(kept, w)
			}
		}
		c.next[v] = kept
	}
	reduced := make([]Edge, 0, len(edges))
	for v, list := range c.next {
		for _, w := range list {
			reduced = append(reduced, Edge{From: v, To: w})
		}
	}
	c.prev = group(n, reduced, func(e Edge) (int, int) { return e.To, e.From })
	return c
}

// before reports whether u comes before v.
func (c *closure) before(u, v int) bool { return c.after.row(u).has(v) }

// group lists the values of the edges by key, in the order of the edges.
func group(n int, edges []Edge, of func(Edge) (key, value int)) [][]int {
	start := make([]int, n+1)
	for _, e := range edges {
		k, _ := of(e)
		start[k+1]++
	}
	for i := range n {
		start[i+1] += start[i]
	}
	values := make([]int, len(edges))
	lists := make([][]int, n)
	for i := range n {
		lists[i] = values[start[i]:start[i]:start[i+1]]
	}
	for _, e := range edges {
		k, v := of(e)
		lists[k] = append(lists[k], v)
	}
	return lists
}
