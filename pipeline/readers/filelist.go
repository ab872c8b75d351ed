package readers

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// blockFiles is how many files of a list are found by one place in it.
const blockFiles = 16

// fileList is a list of files in one piece of memory: ten million strings would be ten million
// objects for the garbage collector to follow. Of each file it has the path, the label and,
// where sizes are known, the size.
//
// A path is written without what it has in common with the path before, which is most of it
// in a sorted list. Every sixteenth is written whole, so that a file is found by reading at
// most sixteen. An entry is
//
//	head:  twice the bytes that the path has in common with the one before, plus 1 if a label follows
//	label: if it differs from that of the file before, and of every sixteenth file
//	n:     length of what follows
//	bytes: the rest of the path
//	size:  where sizes are known
//
// with numbers as package encoding/binary writes them (Uvarint).
type fileList struct {
	sized  bool // the sizes of the files are known
	n      int
	blob   []byte // the entries
	blocks []int  // where every sixteenth begins

	last  []byte // the path added last
	label int32  // the label added last
}

func (l *fileList) len() int { return l.n }

// grow makes room for files and for the bytes that they have in other lists.
func (l *fileList) grow(files, bytes int) {
	blocks := files/blockFiles + 1
	l.blocks = slices.Grow(l.blocks, blocks)
	l.blob = slices.Grow(l.blob, bytes+8*blocks) // labels are longer here, and others are written whole
}

// add appends a file. The size counts where sizes are known.
func (l *fileList) add(path []byte, label int32, size int64) {
	same, whole := 0, l.n%blockFiles == 0
	if whole {
		l.blocks = append(l.blocks, len(l.blob))
	} else {
		same = common(l.last, path)
	}
	if whole || label != l.label {
		l.blob = binary.AppendUvarint(l.blob, uint64(same)<<1|1)
		l.blob = binary.AppendUvarint(l.blob, uint64(label))
	} else {
		l.blob = binary.AppendUvarint(l.blob, uint64(same)<<1)
	}
	l.blob = binary.AppendUvarint(l.blob, uint64(len(path)-same))
	l.blob = append(l.blob, path[same:]...)
	if l.sized {
		l.blob = binary.AppendUvarint(l.blob, uint64(size))
	}
	l.last = append(l.last[:same], path[same:]...)
	l.label = label
	l.n++
}

// addSorted appends the files of lists that are sorted, so that all of them are. They get
// the label.
func (l *fileList) addSorted(lists []fileList, label int32) {
	heads := make([]fileCursor, len(lists)) // a heap by the path
	for i := range lists {
		heads[i] = lists[i].from(0)
		heads[i].next()
	}
	for i := range heads {
		sink(heads, len(heads)-1-i)
	}
	for len(heads) > 0 {
		l.add(heads[0].path, label, heads[0].size)
		if !heads[0].next() {
			heads[0] = heads[len(heads)-1]
			heads = heads[:len(heads)-1]
		}
		sink(heads, 0)
	}
}

// sink moves a cursor down to where it belongs in a heap.
func sink(heap []fileCursor, i int) {
	for {
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if other := least + 1; other < len(heap) && bytes.Compare(heap[other].path, heap[least].path) < 0 {
			least = other
		}
		if bytes.Compare(heap[i].path, heap[least].path) <= 0 {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

// fileCursor reads a list file by file.
type fileCursor struct {
	sized bool
	left  int    // files that follow
	rest  []byte // their entries

	path  []byte // of the file that was read; the cursor's memory
	label int32
	size  int64 // -1 where it is not known
}

// from returns a cursor whose first file is the first of the sixteen that file i is of.
func (l *fileList) from(i int) fileCursor {
	c := fileCursor{sized: l.sized, size: -1}
	if i < l.n {
		first := i / blockFiles
		c.left, c.rest = l.n-first*blockFiles, l.blob[l.blocks[first]:]
	}
	return c
}

// next reads a file; false after the last one.
func (c *fileCursor) next() bool {
	if c.left == 0 {
		return false
	}
	same, rest := c.entry()
	c.path = append(c.path[:same], rest...)
	return true
}

// entry reads a file but for its path, of which it returns what stands in the entry.
func (c *fileCursor) entry() (same int, rest []byte) {
	head := c.number()
	if head&1 != 0 {
		c.label = int32(c.number())
	}
	n := c.number()
	rest, c.rest = c.rest[:n], c.rest[n:]
	if c.sized {
		c.size = int64(c.number())
	}
	c.left--
	return int(head >> 1), rest
}

// number reads a number of an entry. Most have one byte.
func (c *fileCursor) number() uint64 {
	if v := c.rest[0]; v < 0x80 {
		c.rest = c.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.rest)
	c.rest = c.rest[n:]
	return v
}

// at returns the path and the label of file i. The path is in room, if it and those beside it fit.
func (l *fileList) at(room []byte, i int) (path []byte, label int32) {
	path = room[:0] // not the path of the cursor, for which room would have to be on the heap
	c := l.from(i)
	for range i%blockFiles + 1 {
		same, rest := c.entry()
		path = append(path[:same], rest...)
	}
	return path, c.label
}

// about returns the label of file i and its size, -1 where it is not known.
func (l *fileList) about(i int) (label int32, size int64) {
	c := l.from(i)
	for range i%blockFiles + 1 {
		c.entry()
	}
	return c.label, c.size
}

// path returns the path of file i.
func (l *fileList) path(i int) string {
	var room [256]byte
	path, _ := l.at(room[:], i)
	return string(path)
}

// classes returns the highest label plus one.
func (l *fileList) classes() int {
	highest := int32(-1)
	for c := l.from(0); c.left > 0; {
		c.entry()
		highest = max(highest, c.label)
	}
	return int(highest) + 1
}

// common returns how many bytes two paths begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if differ := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); differ != 0 {
			return i + bits.TrailingZeros64(differ)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
