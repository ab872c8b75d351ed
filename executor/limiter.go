package executor

// Concurrency says how many operators (nodes with a kernel) of one run or
// one loop may be running at once. Nodes that are Op.Unlimited do not count.
type Concurrency uint8

const (
	// ConcurrencyFull sets no limit.
	ConcurrencyFull Concurrency = iota
	// ConcurrencyBackend lets one operator per backend run.
	ConcurrencyBackend
	// ConcurrencyNone lets one operator run. An async one runs until Done.
	ConcurrencyNone
)

// limiter lets one operator run at a time, in the order of arrival.
type limiter struct {
	mu      leafMutex
	busy    bool
	waiting []tagged // counted in iteration.live one by one
	first   int      // of waiting
}

func (st *step) limiterOf(item *nodeItem) *limiter {
	if len(st.limiters) == 1 {
		return &st.limiters[0]
	}
	return &st.limiters[item.back]
}

// admit lets t run, or keeps it until the one that runs leaves the limiter.
func (st *step) admit(t tagged) bool {
	l := st.limiterOf(&st.x.prog.items[t.node])
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.busy {
		l.busy = true
		return true
	}
	t.iter.live.Add(1)
	t.admitted = true
	l.waiting = append(l.waiting, t)
	return false
}

// leaveLimiter lets the next operator run, on this session. held says whether the
// caller has been the one that runs.
func (s *session) leaveLimiter(item *nodeItem, held bool) {
	if !held {
		return
	}
	l := s.st.limiterOf(item)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == len(l.waiting) {
		l.waiting, l.first = l.waiting[:0], 0
		l.busy = false
		return
	}
	t := l.waiting[l.first]
	l.waiting[l.first] = tagged{}
	l.first++
	s.ready.push(t)
}
