package executor

// sharedWork is work for any goroutine: a node that is ready, or one that a stream
// has finished.
type sharedWork struct {
	tagged
	call *Call
}

// share offers expensive nodes to other goroutines: to the caller of Run if it
// waits, and to those of the pool, of which more are started as far as the step
// may have them.
func (st *step) share(nodes []tagged) {
	if len(nodes) == 0 {
		return
	}
	st.inflight.Add(int64(len(nodes)))
	st.x.mu.Lock()
	for _, t := range nodes {
		st.shared = append(st.shared, sharedWork{tagged: t})
	}
	st.call(len(nodes))
	st.x.mu.Unlock()
}

// post is share for what inflight counts already.
func (st *step) post(w sharedWork) {
	st.x.mu.Lock()
	st.shared = append(st.shared, w)
	st.call(1)
	st.x.mu.Unlock()
}

// call wakes somebody for n new pieces of shared work. Executor.mu is held.
func (st *step) call(n int) {
	if st.waiting {
		st.waiting = false // one call is enough
		st.moved.Signal()
		n--
	}
	if n > 0 {
		st.x.offer(st)
	}
}

// offer makes one goroutine of the pool look at st. x.mu is held.
func (x *Executor) offer(st *step) {
	if !st.listed {
		st.listed = true
		x.busy = append(x.busy, st)
	}
	x.summon(x.started < st.helpers+x.rowWorkers())
}

// summon has a goroutine of the pool look for work: one that is idle, or if more may
// be started a new one. x.mu is held.
func (x *Executor) summon(more bool) {
	switch {
	case x.idle > 0:
		x.idle-- // here, so that the next call is not made to the same goroutine
		x.work.Signal()
	case more:
		x.started++
		x.pool.Go(x.help)
	}
}

// rowWorkers returns how many goroutines may be busy with rows.
func (x *Executor) rowWorkers() int {
	if x.rows == nil {
		return 0
	}
	return x.rows.workers
}

// lend gives the number of a worker that makes rows to a goroutine of the pool.
func (x *Executor) lend(worker int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.numbers = append(x.numbers, worker)
	x.summon(true)
}

// help is a goroutine of the pool.
func (x *Executor) help() {
	regular := false
	defer func() {
		if !regular { // a kernel has ended this goroutine
			x.pool.Go(x.help)
		}
	}()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		for len(x.busy) == 0 && len(x.numbers) == 0 {
			// More than Workers that rest are left over from a burst of lent numbers.
			if x.closing && len(x.active) == 0 || x.idle >= x.opts.Workers {
				x.started--
				regular = true
				return
			}
			x.idle++
			x.work.Wait()
		}
		if n := len(x.numbers) - 1; n >= 0 {
			worker := x.numbers[n]
			x.numbers = x.numbers[:n]
			x.makeRows(worker)
			continue
		}
		st := x.busy[0]
		copy(x.busy, x.busy[1:])
		x.busy = x.busy[:len(x.busy)-1]
		st.listed = false
		if t, ok := st.takeShared(); ok {
			if len(st.shared) > 0 {
				x.offer(st)
			}
			x.runShared(st, t)
		}
	}
}

// makeRows makes rows with a worker's number for as long as this goroutine may have
// it. x.mu is held, and not while it does.
func (x *Executor) makeRows(worker int) {
	x.mu.Unlock()
	defer x.mu.Lock()
	x.rows.work(worker)
}

// takeShared takes the oldest piece of shared work. x.mu is held.
func (st *step) takeShared() (w sharedWork, ok bool) {
	if len(st.shared) == st.firstShared {
		return sharedWork{}, false
	}
	w = st.shared[st.firstShared]
	st.shared[st.firstShared] = sharedWork{}
	if st.firstShared++; st.firstShared == len(st.shared) {
		st.shared, st.firstShared = st.shared[:0], 0
	}
	return w, true
}

// runShared does shared work and what follows from it. x.mu is held, and not
// while it does.
func (x *Executor) runShared(st *step, w sharedWork) {
	x.mu.Unlock()
	defer x.mu.Lock()
	s := x.newSession(st)
	if w.call != nil {
		s.finishStream(w.call)
	} else {
		s.ready.push(w.tagged)
	}
	s.run()
}

// await lets the caller of Run help until the run is over.
func (x *Executor) await(st *step) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		if t, ok := st.takeShared(); ok {
			x.runShared(st, t)
		} else if st.done {
			return
		} else {
			st.waiting = true
			st.moved.Wait()
			st.waiting = false
		}
	}
}

// newSession takes a session from the stock.
func (x *Executor) newSession(st *step) *session {
	x.mu.Lock()
	var s *session
	if n := len(x.sessions); n > 0 {
		s = x.sessions[n-1]
		x.sessions = x.sessions[:n-1]
	} else {
		s = &session{items: x.prog.items, edges: x.prog.edges, out: make([]Value, x.maxOuts)}
	}
	x.mu.Unlock()
	s.st, s.call.st, s.alone = st, st, st.alone
	s.woke, s.foreign, s.borrowed = false, false, false
	return s
}

func (x *Executor) keepSession(s *session) {
	s.st = nil
	x.mu.Lock()
	x.sessions = append(x.sessions, s)
	x.mu.Unlock()
}
