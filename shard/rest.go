package shard

// rest is what earlier worlds have left of one epoch.
type rest struct {
	epoch  int64
	n      int64   // list positions left
	phases []Phase // that were read, oldest first; empty: there is no rest
	cuts   []cut   // by shard: what each phase read

	offset int64 // by step: list positions read
	shards int64 // that the epoch began with
}

// cut is a list of n positions in so many shards, of each of which the first
// read positions are gone.
type cut struct{ left, shards, read int64 }

// of reports whether the epoch is the one that rests.
func (r *rest) of(epoch int64) bool { return len(r.phases) > 0 && r.epoch == epoch }

// read returns what is left after the world of p has read ph of the epoch,
// and not finished it.
func (r *rest) read(p *Plan, epoch int64, ph Phase) rest {
	cfg := &p.cfg
	next := rest{epoch: epoch, n: p.n, shards: int64(ph.Shards)}
	if r.of(epoch) {
		next = rest{epoch: epoch, n: r.n, shards: r.shards, offset: r.offset}
		next.phases = append(next.phases, r.phases...)
		next.cuts = append(next.cuts, r.cuts...)
	}
	next.phases = append(next.phases, ph)
	if cfg.Partition == ByStep {
		next.offset += ph.Steps * cfg.globalBatch()
		next.n = p.n - next.offset
		return next
	}
	// An unfinished phase has taken no more from any shard than the smallest
	// one holds. Since start(n, s, k) - k·c = start(n-s·c, s, k), what is left
	// is itself a list of n-s·c positions cut into s shards.
	c := cut{shards: int64(ph.Shards), read: ph.Steps * int64(ph.Batch)}
	next.n -= c.shards * c.read
	c.left = next.n
	next.cuts = append(next.cuts, c)
	return next
}

// position returns the position in the whole list of position i of the rest.
func (r *rest) position(i int64) int64 {
	for k := len(r.cuts) - 1; k >= 0; k-- {
		c := &r.cuts[k]
		i += (owner(c.left, c.shards, i) + 1) * c.read
	}
	return i
}
