package readers

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// Files are sorted so many at a time, or as many as have so many bytes of paths.
const (
	sortFiles = 1 << 12
	sortBytes = 1 << 20
)

// fileSorter takes files in any order and makes sorted lists of them, which are small beside the
// paths themselves. One part is sorted while the next one comes in.
type fileSorter struct {
	rooms *sync.Pool // of *sortRoom
	sized bool
	lists []fileList // sorted, each by itself

	filling, sorting *sortRoom // nil where there is none
	behind           sync.WaitGroup
}

// sortRoom is memory for files that are not sorted yet, and for the list that they become.
type sortRoom struct {
	blob []byte
	all  []unsorted
	list fileList
}

// unsorted is a file that is not sorted yet.
type unsorted struct {
	key        uint64 // eight bytes of its path behind what all have in common
	start, end uint32 // of its path; behind it lies the size, where sizes are known
}

// add takes the file of which the path is dir, which is empty or ends in a slash, and name.
func (s *fileSorter) add(dir string, name []byte, size int64) {
	r := s.filling
	if r != nil && (len(r.all) >= sortFiles || len(r.blob) >= sortBytes) {
		s.behind.Wait()
		if s.sorting != nil {
			s.rooms.Put(s.sorting)
		}
		s.sorting, r = r, nil
		s.behind.Go(func() { s.sort(s.sorting) })
	}
	if r == nil {
		r = s.rooms.Get().(*sortRoom)
		s.filling = r
	}
	start := len(r.blob)
	r.blob = append(r.blob, dir...)
	r.blob = append(r.blob, name...)
	r.all = append(r.all, unsorted{start: uint32(start), end: uint32(len(r.blob))})
	if s.sized {
		r.blob = binary.LittleEndian.AppendUint64(r.blob, uint64(size))
	}
}

// finish sorts what is left. It must be called once, after the last add.
func (s *fileSorter) finish() {
	s.behind.Wait()
	if s.filling != nil {
		s.sort(s.filling)
		s.rooms.Put(s.filling)
	}
	if s.sorting != nil {
		s.rooms.Put(s.sorting)
	}
	s.filling, s.sorting = nil, nil
}

// sort makes a list of the files in a room, and empties the room.
func (s *fileSorter) sort(r *sortRoom) {
	r.sort()
	l := &r.list
	*l = fileList{sized: s.sized, blob: l.blob[:0], blocks: l.blocks[:0], last: l.last[:0]}
	for _, f := range r.all {
		size := int64(-1)
		if s.sized {
			size = int64(binary.LittleEndian.Uint64(r.blob[f.end:]))
		}
		l.add(r.path(f), 0, size)
	}
	s.lists = append(s.lists, fileList{sized: l.sized, n: l.n, blob: slices.Clone(l.blob), blocks: slices.Clone(l.blocks)})
	r.blob, r.all = r.blob[:0], r.all[:0]
}

func (r *sortRoom) path(f unsorted) []byte { return r.blob[f.start:f.end] }

// sort orders the files by the bytes of their paths. Most are told apart by the eight bytes
// behind what all have in common, which are looked up once and not for each comparison.
func (r *sortRoom) sort() {
	first := r.path(r.all[0])
	same := len(first)
	for _, f := range r.all[1:] {
		same = common(first[:same], r.path(f))
	}
	for i := range r.all {
		f := &r.all[i]
		var key [8]byte // a path that is shorter is followed by zeros
		copy(key[:], r.path(*f)[same:])
		f.key = binary.BigEndian.Uint64(key[:])
	}
	slices.SortFunc(r.all, func(a, b unsorted) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return bytes.Compare(r.path(a), r.path(b))
	})
}

// len returns how many files there are; for after finish.
func (s *fileSorter) len() (n int) {
	for i := range s.lists {
		n += s.lists[i].n
	}
	return n
}

// bytes returns how large the lists are.
func (s *fileSorter) bytes() (n int) {
	for i := range s.lists {
		n += len(s.lists[i].blob)
	}
	return n
}

// take appends the files to a list, in the order of their paths, and forgets them.
func (s *fileSorter) take(l *fileList, label int32) {
	l.addSorted(s.lists, label)
	s.lists = nil
}
