package run

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
)

// A process elsewhere is trusted when it has made rows that this process made as well, and
// they were equal: it is on probation until then, and nothing that it makes is used. Later,
// one row in Plan.Audit is made by both. A row that is compared is taken in but for its sum,
// and given back to the workers of this process, whose row is the one that counts.

const (
	probation  = 32   // rows that are compared before one is used,
	probeShare = 400  // and fewer the more of one row in so many of an epoch other processes had compared,
	probeRows  = 4    // but so many at least; also the rows of a lane's first requests
	hopeless   = 16   // rows that a process could not make, and none that it could
	mostTrusts = 4096 // processes that are known
)

// trust is what is known of a process elsewhere. house.mu guards it.
type trust struct {
	need, asked   int // rows to compare; those that lanes have asked for
	equal, failed int
	proven        bool
	used          int       // rows since the last one that was compared
	err           error     // why nothing of it is used
	changed       sync.Cond // whether its lanes may go on has changed
}

// check is a row that came from elsewhere and that this process makes, too.
type check struct {
	sum      uint64
	instance string
	l        *lane // that it came on,
	began    int64 // in the request that began then
}

// trust returns what is known of a process; mu is held.
func (h *house) trust(instance string) *trust {
	t := h.trusts[instance]
	if t == nil {
		if len(h.trusts) >= mostTrusts {
			for _, t := range h.trusts {
				t.changed.Broadcast()
			}
			clear(h.trusts)
		}
		r := h.r.p.Readers()[0]
		left := r.Source.Len()/int64(max(1, r.Plan.Shards))/probeShare - h.probed
		t = &trust{need: int(min(probation, max(probeRows, left/8)))}
		t.changed.L = &h.mu
		h.probed += int64(t.need)
		h.trusts[instance] = t
	}
	return t
}

// audits reports whether the row that arrives on a lane is to be compared; mu is held.
func (h *house) audits(l *lane) bool {
	t := h.trust(l.instance)
	if !t.proven {
		return true
	}
	t.used++
	if h.plan.Audit == 0 || t.used < h.plan.Audit {
		return false
	}
	t.used = 0
	return true
}

// refund ends a lane's request on probation, however it ended: rows that are not being compared
// may be asked for again. Mu is held.
func (h *house) refund(l *lane) {
	if l.probing == 0 {
		return
	}
	t := l.charged
	for i := range l.rows {
		c, ok := h.compared[rowPlace{l.rows[i].f, l.rows[i].t.Row}] // the place may be that of another batch by now
		if ok && c.l == l && c.began == l.began && c.instance == l.probed {
			l.probing--
		}
	}
	t.asked = max(t.equal, t.asked-l.probing)
	l.probing, l.charged = 0, nil
	t.changed.Broadcast()
}

// compareValue returns where a value goes to that is only compared.
func (l *lane) compareValue(t datum.DType, layout datum.Layout, shape []int) ([]byte, error) {
	spec := &l.h.r.p.Values()[l.h.r.p.Crossing()[l.value-1]].Spec
	n, ok := bytesOf(t, shape)
	if !ok || !fits(spec, t, shape) { // asked before there is memory for it
		l.drop()
		return nil, fmt.Errorf("a value of %v %v", t, shape)
	}
	l.addValue()
	head(&l.sum, t, layout, shape)
	if cap(l.scratch) < n {
		l.scratch = make([]byte, n)
	}
	l.shown = l.scratch[:n]
	return l.shown, nil
}

// fits reports whether a value may have a type and a shape.
func fits(spec *datum.Spec, t datum.DType, shape []int) bool {
	if spec.DType != t || len(spec.Shape) != len(shape) {
		return false
	}
	for i, n := range spec.Shape {
		if n >= 0 && n != shape[i] {
			return false
		}
	}
	return true
}

// addValue adds the last value to the sum.
func (l *lane) addValue() {
	if l.shown != nil {
		maphash.WriteComparable(&l.sum, maphash.Bytes(sumSeed, l.shown))
	}
	l.shown = nil
}

// compareRow gives a row that has come to the workers, to be compared.
func (l *lane) compareRow() {
	h := l.h
	l.addValue()
	x := &l.rows[l.at]
	h.mu.Lock()
	h.compared[rowPlace{x.f, x.t.Row}] = check{l.sum.Sum64(), l.instance, l, l.began}
	h.checks.Add(1)
	l.giveBack(l.at, true)
	l.at = -1
	h.mu.Unlock()
}

// head adds what is known of a value beside its bytes to a sum.
func head(sum *maphash.Hash, t datum.DType, layout datum.Layout, shape []int) {
	sum.WriteByte(byte(t))
	sum.WriteByte(byte(len(layout)))
	sum.WriteString(string(layout))
	for _, d := range shape {
		maphash.WriteComparable(sum, d)
	}
}

// bytesOf returns the bytes of a value; false where there is none of the shape.
func bytesOf(t datum.DType, shape []int) (n int, ok bool) {
	n = t.Size()
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxValue/d {
			return 0, false
		}
		n *= d
	}
	return n, t.Size() > 0
}

const maxValue = 1 << 40 // bytes

// compare compares the row that a worker has just made, if somebody else made it as well.
func (h *house) compare(w *worker, f *Flight, row int) {
	if h.checks.Load() == 0 {
		return
	}
	c, ok := h.takeCheck(f, row)
	if !ok {
		return
	}
	var sum maphash.Hash
	sum.SetSeed(sumSeed)
	for _, v := range h.r.p.Crossing() {
		t := &w.tensors[v].Tensor
		head(&sum, t.DType(), t.Layout(), t.Shape())
		maphash.WriteComparable(&sum, maphash.Bytes(sumSeed, datum.Shown(t)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trust(c.instance)
	if sum.Sum64() == c.sum {
		c.l.of.counts.Audited++
		t.equal++
		t.proven = t.proven || t.equal >= t.need
	} else if t.err == nil {
		h.distrust(t, c.instance, fmt.Sprintf("it makes another row of %s than this process: its data differ under the same names, or its memory is broken", h.r.p.Readers()[0].Describe(f.samples[0][row])))
	}
	t.changed.Broadcast()
}

// distrust has nothing of a process used any more; mu is held.
func (h *house) distrust(t *trust, instance, reason string) {
	t.err = &rows.DistrustError{Instance: instance, Reason: reason}
	t.changed.Broadcast()
	for _, l := range h.lanes {
		if l.instance == instance {
			l.giveUp()
			l.stop()
		}
	}
}

// couldNot notes that a process could not make a row; mu is held.
func (h *house) couldNot(instance, why string) {
	t := h.trust(instance)
	if t.failed++; t.err == nil && t.equal == 0 && t.failed >= hopeless {
		h.distrust(t, instance, fmt.Sprintf("it could make none of %d rows: %s", t.failed, why))
	}
}

// takeCheck takes what is known of a row that is to be compared.
func (h *house) takeCheck(f *Flight, row int) (check, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.compared[rowPlace{f, row}]
	if ok {
		delete(h.compared, rowPlace{f, row})
		h.checks.Add(-1)
	}
	return c, ok
}

// spoiled says that a row which was to be compared was made by somebody else, or not at all.
func (h *house) spoiled(f *Flight, row int) {
	if h.checks.Load() == 0 {
		return
	}
	if c, ok := h.takeCheck(f, row); ok {
		h.mu.Lock()
		if t := h.trust(c.instance); !t.proven {
			t.asked = max(t.equal, t.asked-1)
			t.changed.Broadcast()
		}
		h.mu.Unlock()
	}
}
