package streams

import "cmp"

// perOperator is the free-list rule of DALI's Executor 2.0 as its pull request
// describes it ("Executor 2.0: Stream assignment", 2024), with an unlimited
// supply of numbers. A queue holds (node, tentative stream); the nodes without
// producers start with numbers of their own. The lowest entry is taken out and
// its number given back. If it is the first of its node, the number is final,
// and every consumer enters the queue with the lowest free number.
//
// Host nodes that contribute to a member take part as if they were members and
// lose their stream at the end; other nodes pass no number on.
//
// The description claims a minimum set of streams and that independent
// operators get different ones. Neither holds: a number that is given back goes
// to the next node in the queue, whether it depends on the last holder or not,
// so that independent nodes share streams, and tentative numbers that are never
// used push others above the width. Plans are correct all the same, since waits
// come from the edges. For the minimum there is Optimal.
func perOperator(p *problem, member []bool) []int {
	const none = -1
	contributes := make([]bool, p.N)
	root := make([]bool, p.N)
	for v := range root {
		root[v] = true
	}
	for v := p.N - 1; v >= 0; v-- {
		contributes[v] = member[v]
		for _, w := range p.succ[v] {
			contributes[v] = contributes[v] || contributes[w]
			root[w] = false
		}
	}

	free := minHeap[int]{less: cmp.Less[int]}
	fresh := 0
	take := func(v int) int {
		if !contributes[v] {
			return none
		}
		if free.len() > 0 {
			return free.pop()
		}
		fresh++
		return fresh - 1
	}

	queue := minHeap[tentative]{less: func(a, b tentative) bool {
		return a.node < b.node || a.node == b.node && a.stream < b.stream
	}}
	push := func(v int) { queue.push(tentative{v, take(v)}) }
	for v := range p.N {
		if root[v] {
			push(v)
		}
	}
	stream := make([]int, p.N)
	visited := make([]bool, p.N)
	for queue.len() > 0 {
		t := queue.pop()
		if t.stream != none {
			free.push(t.stream)
		}
		if visited[t.node] {
			continue
		}
		visited[t.node] = true
		stream[t.node] = t.stream
		for _, w := range p.succ[t.node] {
			push(w)
		}
	}
	for v, in := range member {
		if !in {
			stream[v] = none
		}
	}
	return stream
}

// tentative is an entry of the queue.
type tentative struct{ node, stream int }
