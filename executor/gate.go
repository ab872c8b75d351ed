package executor

// Concurrency says how many operators (nodes with a kernel) of one run or
// one loop may be running at once. Nodes that are Op.Ungated do not count.
type Concurrency uint8

const (
	// ConcurrencyFull sets no limit.
	ConcurrencyFull Concurrency = iota
	// ConcurrencyBackend lets one operator per backend run.
	ConcurrencyBackend
	// ConcurrencyNone lets one operator run. An async one runs until Done.
	ConcurrencyNone
)

// gate lets one operator through at a time, in the order of arrival.
type gate struct {
	mu      leafMutex
	busy    bool
	waiting []tagged // counted in iteration.live one by one
	first   int      // of waiting
}

func (st *step) gateOf(item *nodeItem) *gate {
	if len(st.gates) == 1 {
		return &st.gates[0]
	}
	return &st.gates[item.back]
}

// enterGate lets t pass, or keeps it until whoever is inside leaves.
func (st *step) enterGate(t tagged) bool {
	g := st.gateOf(&st.x.prog.items[t.node])
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.busy {
		g.busy = true
		return true
	}
	t.iter.live.Add(1)
	t.admitted = true
	g.waiting = append(g.waiting, t)
	return false
}

// leaveGate lets the next operator pass, which this session then runs. held
// says whether the caller was inside.
func (s *session) leaveGate(item *nodeItem, held bool) {
	if !held {
		return
	}
	g := s.st.gateOf(item)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == len(g.waiting) {
		g.waiting, g.first = g.waiting[:0], 0
		g.busy = false
		return
	}
	t := g.waiting[g.first]
	g.waiting[g.first] = tagged{}
	g.first++
	s.ready.push(t)
}
