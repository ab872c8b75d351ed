package run

import "github.com/planktonml/plankton/memstats"

// The rows of a ragged output exchange their memory: each sample takes, of the
// rows of its batch that have none yet, the memory that fits it best. So what a
// batch holds comes to be about what its samples need. If every row kept its
// memory, each would grow in time to the largest sample of all.

// smallWaste is how many bytes memory may be too large without a look for a better
// fit.
const smallWaste = 32 << 10

// choose has the next request of t choose its memory for a row of a ragged output:
// of the rows that are free, or, under a memory budget, where every byte counts, by
// the size of the sample.
func (w *worker) choose(t *cell, o *batchOutput) {
	if w.exact {
		t.fit = true
	} else {
		t.free = o
	}
}

// exchange gives a buffer that is to hold n bytes the memory of a free row if that
// fits better: the smallest in which they have room, else the largest.
func (o *batchOutput) exchange(buf *memstats.Buffer, n int) {
	if waste := buf.Reserved() - n; waste >= 0 && waste <= smallWaste {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	best := buf
	for i := range o.ragged {
		if r := &o.ragged[i]; !r.taken && fitsBetter(r.buf.Reserved(), best.Reserved(), n) {
			best = &r.buf
		}
	}
	*buf, *best = *best, *buf
}

// fitsBetter reports whether n bytes are better off in a bytes than in b.
func fitsBetter(a, b, n int) bool {
	if a < n || b < n {
		return a > b
	}
	return a < b
}

// deliver hands the sample in t over to a row, in exchange for the memory that the
// row still has.
func (o *batchOutput) deliver(row int, t *cell) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &o.ragged[row]
	r.move(t)
	r.taken = true
}

// take keeps the memory of a row from being exchanged by others.
func (o *batchOutput) take(row int) *cell {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ragged[row].taken = true
	return &o.ragged[row]
}
