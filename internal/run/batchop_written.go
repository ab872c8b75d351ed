package run

import (
	"bytes"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
)

// An operator for whole batches on the host gets its outputs as plain memory, which
// still holds an earlier batch. What it leaves as it was is found by a mark at the
// beginning of every row. Memory of a device is out of the host's reach.

// unwrittenMark holds random bytes that no result repeats by chance. They are always the same, so
// that what is found does not differ from run to run.
var unwrittenMark = [...]byte{0xb7, 0x1e, 0x93, 0x5c, 0x68, 0xf2, 0x0d, 0xa9, 0x44, 0xe1, 0x37, 0x8a, 0xd6, 0x2b, 0x7f, 0xc5}

// putMarks marks the outputs. Where all valid rows of one together are shorter than the
// mark, they become zero, so that at least nothing of an earlier batch is left.
func putMarks(out []batchop.Tensor) {
	for i := range out {
		t := &out[i]
		memstats.Poison(t.Data)
		if row := t.Spec.Bytes(); row < len(unwrittenMark) && row*valid(t) < len(unwrittenMark) {
			clear(t.Data)
			continue
		}
		for r, ok := range t.Mask {
			if ok {
				copy(t.Row(r), markOf(t, r))
			}
		}
	}
}

// unmarked returns a *datum.NotWrittenError if the mark is left in a row, or, where rows are too
// short for it, in all of them.
func unmarked(out []batchop.Tensor) error {
	for i := range out {
		t := &out[i]
		short := t.Spec.Bytes() < len(unwrittenMark)
		if short && t.Spec.Bytes()*valid(t) < len(unwrittenMark) {
			continue
		}
		left := true
		for r, ok := range t.Mask {
			if !ok {
				continue
			}
			m := markOf(t, r)
			intact := bytes.Equal(t.Row(r)[:len(m)], m)
			if intact && !short {
				return &datum.NotWrittenError{Output: i, Row: r}
			}
			if left = left && intact; short && !left {
				break
			}
		}
		if short && left {
			return &datum.NotWrittenError{Output: i, Row: datum.AllRows}
		}
	}
	return nil
}

// markOf returns the mark of row r of a tensor. Rows that are shorter than the mark have a part of it
// each, which differ.
func markOf(t *batchop.Tensor, r int) []byte {
	n := t.Spec.Bytes()
	if n >= len(unwrittenMark) {
		return unwrittenMark[:]
	}
	at := r * n % (len(unwrittenMark) - n + 1)
	return unwrittenMark[at : at+n]
}

// valid returns the number of valid rows of a tensor.
func valid(t *batchop.Tensor) (n int) {
	for _, ok := range t.Mask {
		if ok {
			n++
		}
	}
	return n
}
