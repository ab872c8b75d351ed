package readers

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// pathList is a list of paths in one piece of memory: ten million strings would
// be ten million objects for the garbage collector to follow.
type pathList struct {
	sized bool   // the sizes of the files are known
	blob  []byte // the paths, each followed by a zero byte and, where it is known, the size
	start []int  // where each begins, in the order of the list
}

func (l *pathList) len() int { return len(l.start) }

// at returns path i, which is part of the list's memory.
func (l *pathList) at(i int) []byte { return l.from(l.start[i]) }

func (l *pathList) from(start int) []byte {
	b := l.blob[start:]
	return b[:bytes.IndexByte(b, 0)]
}

// add appends the path made of dir, which is empty or ends in a slash, and name.
func (l *pathList) add(dir, name string) {
	l.start = append(l.start, len(l.blob))
	l.blob = append(l.blob, dir...)
	l.blob = append(l.blob, name...)
	l.blob = append(l.blob, 0)
}

// addSize gives the path added last its size, where sizes are known.
func (l *pathList) addSize(size int64) {
	l.blob = binary.LittleEndian.AppendUint64(l.blob, uint64(size))
}

// size returns the size of file i, -1 where it is not known.
func (l *pathList) size(i int) int64 {
	if !l.sized {
		return -1
	}
	b := l.blob[l.start[i]:]
	return int64(binary.LittleEndian.Uint64(b[bytes.IndexByte(b, 0)+1:]))
}

func (l *pathList) addAll(o *pathList) {
	base := len(l.blob)
	l.blob = append(l.blob, o.blob...)
	for _, s := range o.start {
		l.start = append(l.start, base+s)
	}
}

// sort orders the paths by their bytes. Most are told apart by the eight bytes behind what
// all have in common, which are looked up once and not for each comparison.
func (l *pathList) sort() {
	same := l.common()
	type keyed struct {
		key   uint64
		start int
	}
	all := make([]keyed, l.len())
	for i, start := range l.start {
		var key [8]byte // a path that is shorter is followed by zeros
		copy(key[:], l.at(i)[same:])
		all[i] = keyed{binary.BigEndian.Uint64(key[:]), start}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return bytes.Compare(l.from(a.start), l.from(b.start))
	})
	for i := range all {
		l.start[i] = all[i].start
	}
}

// common returns how many bytes all paths begin with alike.
func (l *pathList) common() int {
	if l.len() == 0 {
		return 0
	}
	same := l.at(0)
	for i := range l.start {
		path := l.at(i)
		n := 0
		for n < min(len(same), len(path)) && same[n] == path[n] {
			n++
		}
		same = same[:n]
	}
	return len(same)
}
