package streams

import "math/bits"

// matcher finds, in a bipartite graph whose links cost 0 or 1, matchings of the
// largest size and of the least cost among those.
//
// It is the primal-dual method with unit price steps: prices are kept such that
// price(left) + price(right) ≤ cost for every link, links with equality are
// tight, and the matching uses tight links only. Along those it grows by the
// phases of Hopcroft and Karp; when they are exhausted, what the free left
// vertices reach is repriced by 1, which makes further links tight. Costs are
// integers, so a step never jumps over one, and right prices take few values: a
// set of vertices per price makes the tight links of a left vertex a matter of
// four word operations per 64 candidates.
type matcher struct {
	size  int
	cheap matrix // row: left vertex; links that cost 0
	dear  matrix // links that cost 1, or no bits at all
	right []int  // per left vertex: its partner or -1
	left  []int  // per right vertex: its partner or -1

	price    []int    // per left vertex, not negative
	discount []bitset // right vertices by how far their price is below 0

	unseen  bitset   // right vertices that the last search did not reach
	layers  []bitset // right vertices by distance from the free left ones
	depth   int      // number of layers in use
	reached []int    // left vertices that the last search reached
	nothing bitset   // an empty set
}

// newMatcher starts with no links and nothing matched.
func newMatcher(size int, withDear bool) *matcher {
	m := &matcher{
		size:     size,
		cheap:    newMatrix(size, size),
		right:    make([]int, size),
		left:     make([]int, size),
		price:    make([]int, size),
		discount: []bitset{newBitset(size)},
		unseen:   newBitset(size),
		nothing:  newBitset(size),
	}
	if withDear {
		m.dear = newMatrix(size, size)
	}
	m.discount[0].fill(0, size)
	for i := range size {
		m.right[i], m.left[i] = -1, -1
	}
	return m
}

// exclude takes the vertices with number i, which must have no links, out of
// the problem.
func (m *matcher) exclude(i int) { m.match(i, i) }

func (m *matcher) match(u, v int) { m.right[u], m.left[v] = v, u }

// largest grows the matching until the tight links allow no more.
func (m *matcher) largest() {
	for m.search() {
		for _, u := range m.reached {
			if m.right[u] < 0 {
				m.grow(u, 0)
			}
		}
	}
}

// perfect matches every vertex at the least cost. The links must allow it.
func (m *matcher) perfect() {
	for {
		m.largest()
		// After the last search, reached starts with the vertices still free.
		if len(m.reached) == 0 {
			return
		}
		m.reprice()
	}
}

// tight returns the sets whose members are the right ends of tight links of u:
// cheap ones must be in zero, dear ones in one.
func (m *matcher) tight(u int) (cheap, dear, zero, one bitset) {
	cheap, dear, zero, one = m.cheap.row(u), m.nothing, m.nothing, m.nothing
	p := m.price[u]
	if p < len(m.discount) {
		zero = m.discount[p]
	}
	if m.dear.bits != nil && p > 0 && p <= len(m.discount) {
		dear, one = m.dear.row(u), m.discount[p-1]
	}
	n := len(cheap) // the same for all, which saves bounds checks
	return cheap, dear[:n], zero[:n], one[:n]
}

// search layers the right vertices by their distance from the free left ones
// and stops with the first layer that contains a free one. It reports whether
// there is one.
func (m *matcher) search() bool {
	clear(m.unseen)
	m.unseen.fill(0, m.size)
	m.reached = m.reached[:0]
	for u, v := range m.right {
		if v < 0 {
			m.reached = append(m.reached, u)
		}
	}
	found := false
	m.depth = 0
	for from := 0; from < len(m.reached) && !found; m.depth++ {
		frontier := m.reached[from:]
		from = len(m.reached)
		if m.depth == len(m.layers) {
			m.layers = append(m.layers, newBitset(m.size))
		}
		layer := m.layers[m.depth]
		clear(layer)
		for _, u := range frontier {
			cheap, dear, zero, one := m.tight(u)
			for w, fresh := range m.unseen {
				if fresh == 0 {
					continue
				}
				hit := (cheap[w]&zero[w] | dear[w]&one[w]) & fresh
				if hit == 0 {
					continue
				}
				m.unseen[w] &^= hit
				layer[w] |= hit
				for ; hit != 0; hit &= hit - 1 {
					v := w*64 + bits.TrailingZeros64(hit)
					if m.left[v] < 0 {
						found = true
					} else {
						m.reached = append(m.reached, m.left[v])
					}
				}
			}
		}
	}
	return found
}

// grow looks for an augmenting path from u that passes one right vertex per
// layer, and applies it.
func (m *matcher) grow(u, depth int) bool {
	if depth == m.depth {
		return false
	}
	cheap, dear, zero, one := m.tight(u)
	layer := m.layers[depth]
	for w := range layer {
		for layer[w] != 0 {
			hit := (cheap[w]&zero[w] | dear[w]&one[w]) & layer[w]
			if hit == 0 {
				break
			}
			layer[w] &^= hit & -hit
			v := w*64 + bits.TrailingZeros64(hit)
			if m.left[v] < 0 || m.grow(m.left[v], depth+1) {
				m.match(u, v)
				return true
			}
		}
	}
	return false
}

// reprice raises the left vertices that the last search reached by 1 and lowers
// the right ones by 1. Links inside stay tight, links that lead out get tighter.
func (m *matcher) reprice() {
	for _, u := range m.reached {
		m.price[u]++
	}
	m.discount = append(m.discount, newBitset(m.size))
	for i := len(m.discount) - 2; i >= 0; i-- {
		for w, x := range m.discount[i] {
			moved := x &^ m.unseen[w]
			m.discount[i][w] &^= moved
			m.discount[i+1][w] |= moved
		}
	}
}
