package entropyindex

import (
	"os"
	"sync/atomic"
)

// builder gathers records of a store for segments of its file.
type builder struct {
	store *Store
	to    *os.File
	drop  bool

	table, entries []uint64
	from           []written
}

// written is a record that a segment has.
type written struct {
	slot *atomic.Pointer[record]
	r    *record
	set  int
}

// add adds the record of a sample, if there is one of which the file lacks much.
func (b *builder) add(sample int64, slot *atomic.Pointer[record]) error {
	r := slot.Load()
	if r == nil {
		return nil
	}
	n, first := len(r.skips.Entries), len(b.entries)
	set := 0
	for i := range r.skips.Entries {
		word := r.skips.Entries[i].Load()
		b.entries = append(b.entries, word)
		if word != 0 {
			set++
		}
	}
	r.saved = max(r.saved, b.store.file.known(sample, r.sum))
	if set < r.saved+n/16 && set < n-1 || set <= r.saved {
		b.entries = b.entries[:first]
		b.free(written{slot, r, r.saved})
		return nil
	}
	b.table = append(b.table, uint64(sample), uint64(r.sum), uint64(r.skips.Every)<<32|uint64(n),
		uint64(first)<<32|uint64(sumOfWords(b.entries[first:])), uint64(set))
	b.from = append(b.from, written{slot, r, set})
	if 8*(len(b.entries)+len(b.table)) < segmentBytes {
		return nil
	}
	return b.flush()
}

// known returns how many entries the file has of a sample.
func (f *file) known(sample int64, sum fileSum) int {
	_, set := f.find(sample, sum)
	return set
}

// free frees the memory of a record that the file has as a whole, or as far as it is known
// where memory is short.
func (b *builder) free(w written) {
	w.r.saved = w.set
	if w.set > 0 && (b.drop || w.set >= len(w.r.skips.Entries)-1) {
		b.store.replace(w.slot, w.r, nil)
	}
}

// flush writes what was gathered as a segment.
func (b *builder) flush() error {
	if len(b.from) == 0 {
		return nil
	}
	f, first := b.store.file, headWords+len(b.table)
	for i := 3; i < len(b.table); i += rowWords {
		b.table[i] += uint64(first) << 32
	}
	head := []uint64{segmentMagic, uint64(first + len(b.entries)), uint64(len(b.from)), 0}
	head[3] = uint64(sumOfTable(head[:3], b.table))
	at := f.end
	for _, words := range [][]uint64{head, b.table, b.entries} {
		if _, err := b.to.WriteAt(bytesOf(words), at); err != nil {
			return err
		}
		at += 8 * int64(len(words))
	}
	if err := f.look(b.to); err != nil {
		return err
	}
	for _, w := range b.from {
		if f.known(int64(b.table[0]), w.r.sum) > 0 { // it can be read
			b.free(w)
		}
		b.table = b.table[rowWords:]
	}
	b.table, b.entries, b.from = nil, b.entries[:0], b.from[:0]
	return nil
}
