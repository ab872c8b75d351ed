package budget

// step does one thing that can be done now, and reports whether there was any. The rules
// are those of the package's documentation.
func (m *Machine) step() bool {
	if m.complete() {
		return true
	}
	w := m.oldest(entering, wanting)
	if w >= 0 && m.serve(w) {
		return true
	}
	if b := m.oldest(beginning, beginning); b >= 0 && (w < 0 || m.claims[b].sample < m.claims[w].sample) {
		if !m.early(b) {
			m.letBegin(b)
			return true
		}
		w = b
	}
	return w >= 0 && !m.moves() && m.force(w)
}

// oldest returns the worker with the oldest sample in one of some stages, or -1.
func (m *Machine) oldest(first, last stage) int {
	oldest := -1
	for w := range m.claims {
		c := &m.claims[w]
		if c.stage >= first && c.stage <= last && (oldest < 0 || c.sample < m.claims[oldest].sample) {
			oldest = w
		}
	}
	return oldest
}

// moves reports whether a sample is at work and does not wait.
func (m *Machine) moves() bool { return m.oldest(working, working) >= 0 }

// early reports whether a worker's sample must wait for the batches in front of its own.
func (m *Machine) early(worker int) bool {
	return m.cfg.OneByOne && m.claims[worker].sample/int64(m.cfg.Rows) != m.next
}

// letBegin lets a worker begin its sample, after a clean sweep if it begins anew.
func (m *Machine) letBegin(worker int) {
	c := &m.claims[worker]
	c.stage = working
	delete(m.again, c.sample)
	if c.sample == m.fresh {
		m.freeScratch(worker)
		m.freeRow(c.sample)
	}
	m.act(Act{Kind: Go, Worker: worker})
}

// sendBack has the sample of a worker that waits to begin begun later.
func (m *Machine) sendBack(worker int) {
	c := &m.claims[worker]
	c.stage = idle
	m.makeAgain(c.sample)
	m.act(Act{Kind: GiveUp, Worker: worker})
}

// giveUp has a sample that waits give up.
func (m *Machine) giveUp(worker int) { m.answer(worker, Act{Kind: GiveUp}) }

// answer ends the wait of a sample.
func (m *Machine) answer(worker int, a Act) {
	c := &m.claims[worker]
	c.stage = working
	if a.Kind == GiveUp || a.Kind == Leave {
		c.end = a.Kind
	}
	a.Worker = worker
	m.act(a)
}

// serve gives the oldest sample that waits what it waits for, or frees what nobody uses.
func (m *Machine) serve(worker int) bool {
	c := &m.claims[worker]
	switch {
	case c.stage == entering:
		if m.early(worker) {
			return false
		}
		m.answer(worker, Act{Kind: Go})
	case c.want <= m.limit-m.used:
		m.used += c.want
		m.answer(worker, Act{Kind: Go})
	case m.ended != 0:
		m.answer(worker, Act{Kind: m.ended, Err: m.why})
	default:
		return m.freeIdle()
	}
	return true
}

// force does what can be done for the oldest sample that waits while none moves. It
// reports whether to look again.
func (m *Machine) force(worker int) bool {
	c := &m.claims[worker]
	switch {
	case c.stage == wanting && (m.othersGiveUp(worker) || m.revoke(c.sample)):
	case m.olderAgain(c.sample):
		if c.stage == beginning {
			m.sendBack(worker)
		} else {
			m.giveUp(worker)
		}
	case c.stage != wanting: // the batches in front of it are about to be complete
		return false
	case c.sample != m.fresh:
		m.fresh = c.sample
		m.giveUp(worker)
	case c.held+c.want > m.limit:
		m.answer(worker, Act{Kind: Refuse, Err: m.over(c.want, c.held)})
	case c.sample/int64(m.cfg.Rows) != m.next, m.lent > 0 && !(m.asking && m.held == m.lent):
		return false // an older batch is about to be complete or to come back
	default:
		err := m.tooLarge(c)
		m.ended, m.why = Refuse, err
		m.batch(m.next).err = err
	}
	return true
}

// othersGiveUp has all samples that wait give up but one worker's. It reports whether
// there were any.
func (m *Machine) othersGiveUp(worker int) (any bool) {
	for w := range m.claims {
		if w != worker && m.claims[w].waits() {
			m.giveUp(w)
			any = true
		}
	}
	return any
}

// olderAgain reports whether a sample older than this one is to be made again.
func (m *Machine) olderAgain(sample int64) bool {
	for s := range m.again {
		if s < sample {
			return true
		}
	}
	return false
}
