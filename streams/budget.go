package streams

import "slices"

// shareBudget returns the devices of the streams that a budget allows: one for
// each device, and the others one by one for the device with the most work per
// stream, up to what the policy wanted there.
func shareBudget(p *problem, wanted *assignment, budget int) []int {
	devices := p.devices()
	work := make([]float64, len(devices))
	for v, list := range p.on {
		for _, d := range list {
			work[slices.Index(devices, d)] += p.cost[v]
		}
	}
	limit := make([]int, len(devices))
	for _, d := range wanted.device {
		limit[slices.Index(devices, d)]++
	}
	share := slices.Repeat([]int{1}, len(devices))
	for range budget - len(devices) {
		most := -1
		for i := range devices {
			if share[i] < limit[i] && (most < 0 || work[i]*float64(share[most]) > work[most]*float64(share[i])) {
				most = i
			}
		}
		share[most]++
	}
	var device []int
	for i, d := range devices {
		device = append(device, slices.Repeat([]int{d}, share[i])...)
	}
	return device
}

// listSchedule is critical-path list scheduling (Graham 1969, with the priority
// of Hu 1961) on streams of the given devices: whenever a stream is idle, the
// ready node with the longest path to the end starts. Nodes without a stream
// start as soon as they are ready. The order of issue is that of the starts.
func listSchedule(p *problem, device []int) *assignment {
	byProducer := func(e Edge) (int, int) { return e.From, e.To }
	s := &lister{
		problem: p,
		a:       &assignment{streams: make([][]int, p.N), device: device},
		level:   make([]float64, p.N),
		missing: make([]int, p.N),
		waiters: group(p.N, p.ordering, byProducer),
		readers: group(p.N, p.issue, byProducer),
		busy:    make([]bool, len(device)),
		idle:    len(device),
		tail:    slices.Repeat([]int{-1}, len(device)),
		seen:    make([]map[int]bool, len(device)),
		running: minHeap[finish]{less: func(a, b finish) bool {
			return a.at < b.at || a.at == b.at && a.node < b.node
		}},
	}
	s.ready.less = func(a, b int) bool {
		return s.level[a] > s.level[b] || s.level[a] == s.level[b] && a < b
	}
	for i := range s.seen {
		s.seen[i] = map[int]bool{}
	}
	for v := p.N - 1; v >= 0; v-- {
		for _, w := range s.waiters[v] {
			s.level[v] = max(s.level[v], s.level[w])
			s.missing[w]++
		}
		for _, w := range s.readers[v] {
			s.missing[w]++
		}
		s.level[v] += p.cost[v]
	}
	s.run()
	return s.a
}

// lister is the state of listSchedule at the moment now.
type lister struct {
	*problem
	a   *assignment
	now float64

	level   []float64 // cost of the longest path from the start of a node to the end
	waiters [][]int   // nodes that wait for a node to finish
	readers [][]int   // nodes that wait for a node to be issued
	missing []int     // per node: how many such it still waits for
	ready   minHeap[int]
	running minHeap[finish]

	busy []bool // per stream
	idle int    // streams that are not busy
	tail []int  // per stream: its last node
	seen []map[int]bool
}

type finish struct {
	at   float64
	node int
}

func (s *lister) run() {
	for v := range s.N {
		if s.missing[v] == 0 {
			s.enable(v)
		}
	}
	for {
		s.startReady()
		if s.running.len() == 0 {
			return
		}
		s.now = s.running.items[0].at
		for s.running.len() > 0 && s.running.items[0].at == s.now {
			v := s.running.pop().node
			for _, k := range s.a.streams[v] {
				s.busy[k] = false
				s.idle++
			}
			s.release(s.waiters[v])
		}
	}
}

func (s *lister) release(nodes []int) {
	for _, v := range nodes {
		s.missing[v]--
		if s.missing[v] == 0 {
			s.enable(v)
		}
	}
}

func (s *lister) enable(v int) {
	if s.needs[v] {
		s.ready.push(v)
	} else {
		s.start(v, nil)
	}
}

// startReady starts, in order of priority, what finds an idle stream on each of
// its devices.
func (s *lister) startReady() {
	var held []int
	for s.ready.len() > 0 && s.idle > 0 {
		v := s.ready.pop()
		if on := s.choose(v); on != nil {
			s.start(v, on)
		} else {
			held = append(held, v)
		}
	}
	for _, v := range held {
		s.ready.push(v)
	}
}

// choose returns an idle stream on each device of v, or nil. In time all idle
// streams are alike, so it takes one that saves a wait because v depends on its
// last node, or else one that has seen the command.
func (s *lister) choose(v int) []int {
	on := make([]int, 0, len(s.on[v]))
	for _, d := range s.on[v] {
		best, merit := -1, -1
		for k, home := range s.a.device {
			if s.busy[k] || home != d {
				continue
			}
			m := 0
			if slices.Contains(s.closure.prev[v], s.tail[k]) {
				m = 2
			}
			if s.seen[k][s.cmds[v]] {
				m++
			}
			if m > merit {
				best, merit = k, m
			}
		}
		if best < 0 {
			return nil
		}
		on = append(on, best)
	}
	return on
}

func (s *lister) start(v int, on []int) {
	s.a.streams[v] = on
	s.a.order = append(s.a.order, v)
	for _, k := range on {
		s.busy[k] = true
		s.idle--
		s.tail[k] = v
		s.seen[k][s.cmds[v]] = true
	}
	s.running.push(finish{s.now + s.cost[v], v})
	s.release(s.readers[v])
}
