package streams

// optimal covers the members by as few chains of the partial order as possible.
// A chain is a sequence of links from a node to a later one, so that fewer
// chains mean more links: by the theorem of Dilworth the smallest number is the
// width, and by the construction of Fulkerson a largest bipartite matching of
// nodes (as producers) with later nodes (as consumers) gives it.
//
// Among the largest matchings, one with the most links along edges of the
// transitive reduction needs the fewest waits: a stream that is a chain orders
// nothing that the graph does not order, hence every edge of the reduction that
// is not a link needs a wait of its own, and nothing else does. Among those, one
// with the most links between nodes of one command is chosen, and among those
// one that records the fewest events. (The goals do compete: there are graphs of
// ten nodes on which one more stream would save a wait.)
//
// Each of the four goals keeps to the solutions of those before it. To this
// end the matching is made perfect: with k chains, k extra left vertices link to
// the heads of chains and k extra right vertices to their ends. The solutions of
// a stage are then exactly the perfect matchings of its tight links, which are
// the links of the next stage.
//
// Where a budget, if it is not 0, is below the width, the plan is about to be
// dropped for one within the budget, and any smallest cover will do.
func optimal(p *problem, member []bool, budget int) []int {
	m := mostLinks(p, member)
	k := 0
	for u, in := range member {
		if in && m.right[u] < 0 {
			k++
		}
	}
	if budget == 0 || k <= budget {
		m = fewestWaits(p, member, k)
		if !p.oneCommand() {
			m = p.refine(m, p.sameCommand(m.size))
		}
		m = p.refine(m, p.onlyFollower(m.size))
	}
	return chainNumbers(member, m.right)
}

// later stores the members after u in row.
func (p *problem) later(row bitset, u int, members bitset) {
	copy(row, p.closure.after.row(u))
	row[:len(members)].intersect(members)
}

func memberSet(member []bool) bitset {
	set := newBitset(len(member))
	for v, in := range member {
		if in {
			set.add(v)
		}
	}
	return set
}

// mostLinks returns a largest matching.
func mostLinks(p *problem, member []bool) *matcher {
	m := newMatcher(p.N, false)
	set := memberSet(member)
	for u, in := range member {
		if in {
			p.later(m.cheap.row(u), u, set)
		} else {
			m.exclude(u)
		}
	}
	m.largest()
	return m
}

// fewestWaits matches members, k heads and k ends such that as many links as
// possible are edges of the transitive reduction. Vertices from N on are the
// heads and the ends.
func fewestWaits(p *problem, member []bool, k int) *matcher {
	m := newMatcher(p.N+k, true)
	set := memberSet(member)
	for u, in := range member {
		if !in {
			m.exclude(u)
			continue
		}
		cheap, dear := m.cheap.row(u), m.dear.row(u)
		p.later(dear, u, set)
		for _, v := range p.closure.next[u] {
			if member[v] {
				cheap.add(v)
			}
		}
		for w := range dear {
			dear[w] &^= cheap[w]
		}
		cheap.fill(p.N, p.N+k)
	}
	for head := p.N; head < p.N+k; head++ {
		copy(m.cheap.row(head), set)
	}
	m.perfect()
	return m
}

// refine takes a solved matcher and returns one that has, among its solutions,
// the most wanted links. wanted returns the consumers to which a link from node
// u is.
func (p *problem) refine(solved *matcher, wanted func(u int) bitset) *matcher {
	m := newMatcher(solved.size, true)
	for u := range m.size {
		if solved.right[u] == u {
			m.exclude(u)
			continue
		}
		cheap, dear := m.cheap.row(u), m.dear.row(u)
		c, d, zero, one := solved.tight(u)
		for w := range cheap {
			cheap[w] = c[w]&zero[w] | d[w]&one[w]
		}
		if u < p.N { // a head is no node
			want := wanted(u)
			for w := range cheap {
				dear[w] = cheap[w] &^ want[w]
				cheap[w] &= want[w]
			}
		}
		if v := solved.right[u]; cheap.has(v) { // a good start
			m.match(u, v)
		}
	}
	m.perfect()
	return m
}

// sameCommand returns, for refine, the nodes that run the command of u.
func (p *problem) sameCommand(size int) func(u int) bitset {
	alike := map[int]bitset{}
	for v, c := range p.cmds {
		if alike[c] == nil {
			alike[c] = newBitset(size)
			alike[c].fill(p.N, size)
		}
		alike[c].add(v)
	}
	return func(u int) bitset { return alike[p.cmds[u]] }
}

// onlyFollower returns, for refine, the follower of u if it has a single one:
// linked to it, u records no event.
func (p *problem) onlyFollower(size int) func(u int) bitset {
	ends, only := newBitset(size), newBitset(size)
	ends.fill(p.N, size)
	return func(u int) bitset {
		copy(only, ends)
		if next := p.closure.next[u]; len(next) == 1 {
			only.add(next[0])
		}
		return only
	}
}

// oneCommand reports whether all nodes run one command.
func (p *problem) oneCommand() bool {
	for _, c := range p.cmds {
		if c != p.cmds[0] {
			return false
		}
	}
	return true
}

// chainNumbers numbers the chains by their first nodes. next leads from a node
// to the following one of its chain, or to a number that is no node at its end.
func chainNumbers(member []bool, next []int) []int {
	stream := make([]int, len(member))
	for v := range stream {
		stream[v] = -1
	}
	chains := 0
	for v, in := range member {
		if !in || stream[v] >= 0 {
			continue
		}
		for u := v; u >= 0 && u < len(member); u = next[u] {
			stream[u] = chains
		}
		chains++
	}
	return stream
}
