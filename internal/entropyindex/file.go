package entropyindex

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/planktonml/plankton/internal/filelock"
	"github.com/planktonml/plankton/internal/jpeg"
)

const (
	fileMagic    = 0x31_70_69_6b_73_6b_6c_70 // "plkskip1"
	segmentMagic = 0x31_67_65_73_6b_6c_70_2e
	// align is a multiple of the page of all machines: what is mapped begins at one.
	align = 64 << 10
	// segmentBytes is how much is new before a segment is written, and about how large one is.
	segmentBytes = 4 << 20

	headWords = 4
	rowWords  = 5
)

// file is the file of a store: what is there, mapped.
type file struct {
	path        string
	samples     int64
	fingerprint uint64

	rows     []atomic.Uint64 // by sample, 1 + the segment above the place in its table; 0 for none
	segments atomic.Pointer[[][]uint64]
	pictures atomic.Int64
	fresh    atomic.Int64 // bytes of records that are newer than the last segment

	mu     sync.Mutex  // one goroutine writes, or looks for what others have written
	end    int64       // of the segments that are mapped
	mapped os.FileInfo // of the file that they are of, nil before there are any
	broken atomic.Pointer[error]
}

// Open returns a store for a data set of so many samples with a fingerprint, which reads the
// file path, if there is one, and adds to it what decoders note. A file of another data set
// or of another kind is an error, and so is too little room for the lists of the samples, which
// take 16 bytes for each; but a file that has records is read where there is room for half of that.
func Open(path string, samples int64, fingerprint uint64, room *Room) (*Store, error) {
	s := New(samples, room)
	s.each = room.limit // what has no room goes to the file
	if s.samples < samples || !s.take(8*samples) {
		return nil, fmt.Errorf("%s: %w", path, s.noRoom(samples))
	}
	s.file = &file{path: path, samples: samples, fingerprint: fingerprint, rows: make([]atomic.Uint64, samples), end: align}
	s.file.segments.Store(new([][]uint64))
	if err := s.file.read(); err != nil {
		return nil, err
	}
	if pages := pageBytes * int64(len(s.pages)); s.bytes.Load()+pages <= most(room.limit) && s.take(pages) {
		s.spare = room.limit - s.bytes.Load()
		return s, nil
	}
	err := fmt.Errorf("%s: %w", path, s.noRoom(samples))
	if s.file.pictures.Load() == 0 {
		return nil, err
	}
	err = fmt.Errorf("the entropy index is only read: %w", err)
	s.file.broken.Store(&err)
	s.full.Store(true)
	return s, nil
}

// most returns what the lists of the samples may take of so many bytes. The rest is for records.
func most(limit int64) int64 { return limit - limit/8 }

// noRoom says that there is too little room for so many samples.
func (s *Store) noRoom(samples int64) error {
	pages := (samples + pageSamples - 1) / pageSamples
	need := (8*samples + (8+pageBytes)*pages) / 7 * 8
	return fmt.Errorf("an index of %d samples takes more than the %d bytes of memory that there are for it; give it more, %d or above", samples, s.room.limit, need+8)
}

// read takes over what is in the file, if there is one.
func (f *file) read() error {
	from, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	return f.look(from)
}

// header returns the first words of the file.
func (f *file) header() []uint64 {
	h := []uint64{fileMagic, uint64(f.samples), f.fingerprint, 0}
	h[3] = uint64(sumOfWords(h[:3]))
	return h
}

// check compares the first words of a file with those that it must have. A file that ends
// before or among them is one that is about to be written.
func (f *file) check(from *os.File, size int64) error {
	want, got := f.header(), make([]uint64, headWords)
	n := min(size, 8*headWords)
	if _, err := from.ReadAt(bytesOf(got)[:n], 0); err != nil {
		return err
	}
	switch {
	case n < 8*headWords && bytes.Equal(bytesOf(got)[:n], bytesOf(want)[:n]):
		return nil
	case n < 8*headWords || got[0] != fileMagic || got[3] != uint64(sumOfWords(got[:3])):
		return fmt.Errorf("%s is no entropy index of this program and machine; remove it, or give another name", f.path)
	case got[1] != want[1] || got[2] != want[2]:
		return fmt.Errorf("%s is the entropy index of other data: of %d samples with fingerprint %016x, these are %d with %016x; remove it, or give another name",
			f.path, got[1], got[2], want[1], want[2])
	}
	return nil
}

// look takes over the segments that are new in the file.
func (f *file) look(from *os.File) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := f.check(from, info.Size()); err != nil || info.Size() < f.end+8*headWords {
		return err
	}
	m, err := newMapping(from, f.end, info.Size()-f.end)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	words, before := m.words(), f.end
	for len(words) >= headWords {
		n := f.take(words)
		if n == 0 {
			break
		}
		f.end += 8 * int64(n)
		words = words[min(n, len(words)):]
	}
	if f.end == before {
		m.unmap()
	} else {
		f.mapped = info
		runtime.AddCleanup(f, mapping.unmap, m)
	}
	return nil
}

// take takes over the segment that words begin with, and returns how many it takes up; 0
// where there is none, or it is damaged.
func (f *file) take(words []uint64) int {
	if words[0] != segmentMagic || words[1] > uint64(len(words)) || words[2] > words[1]/rowWords || headWords+rowWords*words[2] > words[1] {
		return 0
	}
	n, table := int(words[1]), words[headWords:][:rowWords*words[2]]
	if uint32(words[3]) != sumOfTable(words[:3], table) {
		return 0
	}
	segments := append((*f.segments.Load())[:len(*f.segments.Load()):len(*f.segments.Load())], words[:n])
	f.segments.Store(&segments)
	for i := 0; i < len(table); i += rowWords {
		if sample := table[i]; sample < uint64(len(f.rows)) && rowFits(table[i:], words[:n]) {
			if f.rows[sample].Swap(uint64(len(segments)-1)<<32|uint64(i)+1) == 0 {
				f.pictures.Add(1)
			}
		}
	}
	return ceil(n, align/8)
}

// rowFits reports whether the entries of a row of the table lie in the segment.
func rowFits(row, segment []uint64) bool {
	entries, first := row[2]&(1<<32-1), row[3]>>32
	return row[2]>>32 > 0 && row[2]>>63 == 0 && first+entries <= uint64(len(segment))
}

func ceil(n, unit int) int { return (n + unit - 1) / unit * unit }

// sumOfTable returns the sum of the head of a segment and its table.
func sumOfTable(head, table []uint64) uint32 {
	return crcUpdate(sumOfWords(head), bytesOf(table))
}

// find returns the Skips of a sample that belong to a picture's file, and how many of their
// entries are set.
func (f *file) find(sample int64, sum fileSum) (jpeg.Skips, int) {
	at := f.rows[sample].Load()
	if at == 0 {
		return jpeg.Skips{}, 0
	}
	segment := (*f.segments.Load())[at>>32]
	row := segment[headWords+at&(1<<32-1)-1:][:rowWords]
	entries := segment[row[3]>>32:][:row[2]&(1<<32-1)]
	if row[1] != uint64(sum) || uint32(row[3]) != sumOfWords(entries) {
		return jpeg.Skips{}, 0
	}
	return jpeg.Skips{
		Every: int(row[2] >> 32), Fixed: true,
		Entries: unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries)),
	}, int(row[4])
}

func (f *file) failure() error {
	if err := f.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Save writes what is new to the file.
func (s *Store) Save() error {
	if s.file == nil {
		return nil
	}
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	s.attempt(false, 20)
	return s.file.failure()
}

// save is Save while workers go on: it leaves the file to another worker or process that is
// at it. With drop, the memory of all that was written is free afterwards. It reports whether
// the file was written.
func (s *Store) save(drop bool) bool {
	if !s.file.mu.TryLock() {
		return false
	}
	defer s.file.mu.Unlock()
	return s.attempt(drop, 1)
}

// lockPause is the time between two attempts to lock the file.
const lockPause = 50 * time.Millisecond

// attempt writes what is new, unless others keep the file locked. An error is the last one.
func (s *Store) attempt(drop bool, tries int) bool {
	f := s.file
	if f.broken.Load() != nil {
		return false
	}
	to, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o666)
	if err == nil {
		defer to.Close()
		var locked bool
		for locked, err = filelock.Try(to, true); !locked && err == nil; locked, err = filelock.Try(to, true) {
			if tries--; tries <= 0 {
				return false
			}
			time.Sleep(lockPause)
		}
		if err == nil {
			err = s.write(to, drop)
			err = errors.Join(err, filelock.Unlock(to))
		}
	}
	if err != nil {
		err = fmt.Errorf("the entropy index cannot be written: %w", err)
		f.broken.Store(&err)
	}
	return err == nil
}

// write adds what is new to the file, which is locked.
func (s *Store) write(to *os.File, drop bool) error {
	f := s.file
	info, err := to.Stat()
	if err != nil {
		return err
	}
	if f.mapped != nil && (!os.SameFile(f.mapped, info) || info.Size() < f.mapped.Size()) {
		return fmt.Errorf("%s was removed or replaced while it was in use", f.path)
	}
	if err := f.check(to, info.Size()); err != nil {
		return err
	}
	if info.Size() < 8*headWords {
		if _, err := to.WriteAt(bytesOf(f.header()), 0); err != nil {
			return err
		}
	}
	if err := f.look(to); err != nil {
		return err
	}
	f.fresh.Store(0)
	if drop {
		s.wanted.Store(0)
	}
	b := builder{store: s, to: to, drop: drop}
	for p := range s.pages {
		page := s.pages[p].Load()
		if page == nil {
			continue
		}
		for i := range page {
			if err := b.add(int64(p*pageSamples+i), &page[i]); err != nil {
				return err
			}
		}
	}
	return b.flush()
}
