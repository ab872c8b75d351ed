package budget

// Armed says that the rows of the next batch can be made. Its memory is in a slot that was
// idle until now.
func (m *Machine) Armed(seq int64, slot int) {
	b := m.batch(seq)
	b.seq, b.slot, b.due, b.err = seq, slot, 1, nil
	for i := range b.rows {
		b.rows[i] = row{holds: true}
	}
	m.spare[slot] = false
}

// RowsDone says that all rows of a batch were made.
func (m *Machine) RowsDone(seq int64) {
	m.batch(seq).due--
	m.changed = true
}

// Remade answers Again: the sample is going to be made again. With anew all rows of its
// batch had been made, so that RowsDone is called once more than it would have been.
func (m *Machine) Remade(sample int64, anew bool) {
	if anew {
		m.batch(sample/int64(m.cfg.Rows)).due++
	}
}

// Delivered says that the consumer holds one of the batches that are lent.
func (m *Machine) Delivered() { m.held++ }

// Returned says that the consumer has given back the batch in a slot.
func (m *Machine) Returned(slot int) {
	m.lent--
	m.held--
	m.spare[slot] = true
	m.changed = true
}

// Ask says whether the consumer waits for a batch.
func (m *Machine) Ask(waits bool) {
	m.asking = waits
	m.changed = m.changed || waits
}

// complete lets the oldest batch leave if its rows are done.
func (m *Machine) complete() bool {
	b := m.batch(m.next)
	if b.seq != m.next || b.due > 0 {
		return false
	}
	m.act(Act{Kind: Complete, Batch: b.seq, Slot: b.slot, Err: b.err})
	if b.err == nil {
		m.lent++
	}
	b.seq, b.err = -1, nil
	m.next++
	return true
}

// freeScratch frees the memory of an idle worker.
func (m *Machine) freeScratch(worker int) {
	m.claims[worker].scratch = false
	m.act(Act{Kind: FreeScratch, Worker: worker})
}

// freeRow frees the memory of a row in flight.
func (m *Machine) freeRow(sample int64) {
	m.row(sample).holds = false
	m.act(Act{Kind: FreeRow, Sample: sample, Slot: m.slot(sample)})
}

// makeAgain has a sample made again.
func (m *Machine) makeAgain(sample int64) {
	m.again[sample] = true
	m.act(Act{Kind: Again, Sample: sample, Slot: m.slot(sample)})
}

// freeIdle frees what nobody uses. It reports whether there may have been any.
func (m *Machine) freeIdle() (any bool) {
	for w := range m.claims {
		if c := &m.claims[w]; c.stage <= beginning && c.scratch {
			m.freeScratch(w)
			any = true
		}
	}
	for slot, spare := range m.spare {
		if spare {
			m.spare[slot] = false
			m.act(Act{Kind: FreeBatch, Slot: slot})
			any = true
		}
	}
	return any
}

// revoke frees the rows that no worker has begun, and finished ones that are younger than
// the only sample at work, which are made again. It reports whether there were any.
func (m *Machine) revoke(sample int64) (any bool) {
	for i := range m.batches {
		b := &m.batches[i]
		if b.seq < 0 {
			continue
		}
		for k, r := range b.rows {
			s := b.seq*int64(m.cfg.Rows) + int64(k)
			if s == sample || !r.holds || r.settled && (s < sample || m.cfg.Sequence) {
				continue
			}
			any = true
			m.freeRow(s)
			if r.settled {
				b.rows[k] = row{}
				m.makeAgain(s)
			}
		}
	}
	return any
}
