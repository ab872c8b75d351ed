package streams

// ranked is the static schedule that the documentation of libnnc describes
// ("Static Schedule A Graph"). The rank of a node is the length of the longest
// chain that follows it. A node without a stream takes one that has ended, its
// last node being before this one, or else a new one. From there the stream goes
// on to the highest-ranked follower that has none, and so on. Both choices
// prefer a stream that has seen the command of the node: for streams before
// their number, for followers between equal ranks. What is left open goes to the
// follower with fewer followers of its own, which needs fewer streams and waits,
// then to the lower number.
func ranked(p *problem, member []bool) []int {
	rank := make([]int, p.N)
	for v := p.N - 1; v >= 0; v-- {
		for _, w := range p.closure.next[v] {
			rank[v] = max(rank[v], rank[w]+1)
		}
	}
	prefer := func(a, b int, s *rankedStream) bool {
		if rank[a] != rank[b] {
			return rank[a] > rank[b]
		}
		if s.seen[p.cmds[a]] != s.seen[p.cmds[b]] {
			return s.seen[p.cmds[a]]
		}
		return len(p.closure.next[a]) < len(p.closure.next[b])
	}
	stream := make([]int, p.N)
	for v := range stream {
		stream[v] = -1
	}
	var open []*rankedStream
	for v, in := range member {
		if !in || stream[v] >= 0 {
			continue
		}
		s := recycle(p, open, v)
		if s == nil {
			s = &rankedStream{number: len(open), seen: map[int]bool{}}
			open = append(open, s)
		}
		for v >= 0 {
			stream[v] = s.number
			s.seen[p.cmds[v]] = true
			s.tail = v
			follower := -1
			for _, w := range p.closure.next[v] {
				if member[w] && stream[w] < 0 && (follower < 0 || prefer(w, follower, s)) {
					follower = w
				}
			}
			v = follower
		}
	}
	return stream
}

type rankedStream struct {
	number int
	tail   int // the last node
	seen   map[int]bool
}

// recycle returns the first stream that has ended before v and seen its
// command, or else the first that has ended, or nil.
func recycle(p *problem, open []*rankedStream, v int) *rankedStream {
	var first *rankedStream
	for _, s := range open {
		if !p.closure.before(s.tail, v) {
			continue
		}
		if s.seen[p.cmds[v]] {
			return s
		}
		if first == nil {
			first = s
		}
	}
	return first
}
