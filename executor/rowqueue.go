package executor

// rowQueue is rows that wait, the oldest first. They come nearly in this order.
type rowQueue struct {
	rows []Taken
	head int // of those that are left
}

func (q *rowQueue) len() int { return len(q.rows) - q.head }

// first returns the oldest rows, nil if there are none.
func (q *rowQueue) first() *Taken {
	if q.len() == 0 {
		return nil
	}
	return &q.rows[q.head]
}

func (q *rowQueue) push(t Taken) {
	if len(q.rows) == cap(q.rows) && q.head > len(q.rows)/2 {
		q.rows = q.rows[:copy(q.rows, q.rows[q.head:])]
		q.head = 0
	}
	q.rows = append(q.rows, t)
	for i := len(q.rows) - 1; i > q.head && t.before(&q.rows[i-1]); i-- {
		q.rows[i-1], q.rows[i] = t, q.rows[i-1]
	}
}

func (q *rowQueue) pop() Taken {
	t := q.rows[q.head]
	if q.head++; q.head == len(q.rows) {
		q.clear()
	}
	return t
}

func (q *rowQueue) clear() { q.rows, q.head = q.rows[:0], 0 }

// before reports whether rows are of an older iteration than x, or earlier ones of the same.
func (t *Taken) before(x *Taken) bool { return t.seq < x.seq || t.seq == x.seq && t.Row < x.Row }

// older returns the queue whose first rows are older, nil if both are empty.
func older(q, x *rowQueue) *rowQueue {
	a, b := q.first(), x.first()
	switch {
	case a == nil && b == nil:
		return nil
	case b == nil || a != nil && a.before(b):
		return q
	}
	return x
}
