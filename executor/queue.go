package executor

// queue holds the ready nodes of a session, first in, first out: nodes then run
// about in the order in which they lie in memory, and none is put off for ever.
type queue struct {
	nodes []tagged
	first int // those before are taken
}

// compactAt bounds the room that taken nodes occupy in a queue that never gets
// empty, such as that of a long loop.
const compactAt = 1024

func (q *queue) empty() bool { return q.first == len(q.nodes) }

func (q *queue) push(t tagged) { q.nodes = append(q.nodes, t) }

func (q *queue) pop() tagged {
	t := q.nodes[q.first]
	q.first++
	switch {
	case q.empty():
		q.nodes, q.first = q.nodes[:0], 0
	case q.first >= compactAt && 2*q.first >= len(q.nodes):
		q.nodes = q.nodes[:copy(q.nodes, q.nodes[q.first:])]
		q.first = 0
	}
	return t
}
