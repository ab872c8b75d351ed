package entropyindex

import (
	"hash/crc32"
	"image"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/planktonml/plankton/internal/jpeg"
)

// Room is a bound on the memory of several stores together.
type Room struct {
	limit int64
	used  atomic.Int64
}

// NewRoom returns a bound of so many bytes.
func NewRoom(bytes int64) *Room { return &Room{limit: bytes} }

// take takes n bytes, or reports that they are not free.
func (r *Room) take(n int64) bool {
	if r.used.Add(n) <= r.limit {
		return true
	}
	r.used.Add(-n)
	return false
}

// A Store keeps jpeg.Skips by sample. Its methods may be called by several goroutines at
// once.
type Store struct {
	room    *Room
	each    int64 // bytes for a sample, if all were to have a record
	samples int64
	pages   []atomic.Pointer[page]
	full    atomic.Bool
	file    *file        // nil without one
	spare   int64        // with a file, the bytes that there are for records
	wanted  atomic.Int64 // with a file, bytes of records that were asked for since memory was last freed for more

	pictures, bytes, lookups, hits atomic.Int64
}

// pageSamples is how many samples have their records in one page.
const pageSamples = 256

type page [pageSamples]atomic.Pointer[record]

const pageBytes = int64(unsafe.Sizeof(page{}))

// record is what is kept of one sample in memory.
type record struct {
	sum   fileSum
	skips jpeg.Skips
	saved int // how many entries were set when the record was written to the file; only Save uses it
}

// fileSum tells the bytes of a picture's file from others: their number above their CRC-32C.
type fileSum uint64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(data []byte) fileSum {
	return fileSum(len(data))<<32 | fileSum(crc32.Checksum(data, castagnoli))
}

// New returns a store for a data set of so many samples. Where there is no room for their list,
// it keeps nothing.
func New(samples int64, room *Room) *Store {
	s := &Store{room: room}
	if pages := (samples + pageSamples - 1) / pageSamples; s.take(8 * pages) {
		s.each, s.samples, s.pages = room.limit/max(samples, 1), samples, make([]atomic.Pointer[page], pages)
	}
	return s
}

// Stats are what a store has come to.
type Stats struct {
	Pictures     int64 // that have a record in memory
	Bytes        int64 // of memory
	FilePictures int64 // that have a record in the file
	Lookups      int64 // pictures that were decoded in part
	Hits         int64 // of them, those that had a record
	Err          error // why the file could not be written, after which it is only read
}

// Stats returns what the store has come to so far.
func (s *Store) Stats() Stats {
	st := Stats{Pictures: s.pictures.Load(), Bytes: s.bytes.Load(), Lookups: s.lookups.Load(), Hits: s.hits.Load()}
	if s.file != nil {
		st.FilePictures, st.Err = s.file.pictures.Load(), s.file.failure()
	}
	return st
}

// Skips returns those of a sample, data being its file with the header h, of which region is
// about to be decoded: empty ones to fill where there were none, none where there is no room.
func (s *Store) Skips(sample int64, data []byte, h *jpeg.Header, region image.Rectangle) jpeg.Skips {
	if !worthwhile(h, region) {
		return jpeg.Skips{}
	}
	return s.Fill(sample, data, h, region)
}

// Fill is Skips also where leaping does not pay.
func (s *Store) Fill(sample int64, data []byte, h *jpeg.Header, region image.Rectangle) jpeg.Skips {
	if sample < 0 || sample >= s.samples {
		return jpeg.Skips{}
	}
	s.count()
	old := s.record(sample)
	if old == nil && s.file == nil && s.full.Load() {
		return jpeg.Skips{}
	}
	sum := sumOf(data)
	if old != nil && old.sum == sum {
		s.hits.Add(1)
		return old.skips
	}
	var known jpeg.Skips
	if s.file != nil {
		var set int
		if known, set = s.file.find(sample, sum); len(known.Entries) > 0 {
			s.hits.Add(1)
			if set+len(known.Entries)/16 >= passed(len(known.Entries), h, region) {
				return known
			}
		}
	}
	return s.add(sample, old, sum, h, known)
}

// count counts a lookup. Once an epoch, what is new goes to the file.
func (s *Store) count() {
	if n := s.lookups.Add(1); s.file != nil && n%s.samples == 0 && s.file.fresh.Load() > 0 {
		s.save(false)
	}
}

// worthwhile reports whether a decoder leaps over a part of the picture that pays for the
// sum of its bytes.
func worthwhile(h *jpeg.Header, region image.Rectangle) bool {
	region = region.Intersect(image.Rect(0, 0, h.Width, h.Height))
	return !region.Empty() && 20*(h.Width*region.Max.Y-region.Dx()*region.Dy()) >= h.Width*h.Height
}

// passed returns about how many of n entries a decoder comes by.
func passed(n int, h *jpeg.Header, region image.Rectangle) int {
	return int(int64(n) * int64(min(region.Max.Y, h.Height)) / int64(h.Height))
}

// record returns the record of a sample in memory, nil where there is none.
func (s *Store) record(sample int64) *record {
	if p := s.pages[sample/pageSamples].Load(); p != nil {
		return p[sample%pageSamples].Load()
	}
	return nil
}

// slot returns where the record of a sample is, nil where there is no room for it. With a
// file there is: Open has taken the memory of all pages.
func (s *Store) slot(sample int64) *atomic.Pointer[record] {
	at := &s.pages[sample/pageSamples]
	p := at.Load()
	if p == nil {
		if s.file == nil && !s.take(pageBytes) {
			return nil
		}
		p = new(page)
		if !at.CompareAndSwap(nil, p) {
			if s.file == nil {
				s.give(pageBytes)
			}
			p = at.Load()
		}
	}
	return &p[sample%pageSamples]
}

// spacings are the pixels between two entries of a row, of which the first is taken that
// lets all samples have a record. Entries at the beginnings of rows alone have two thirds of
// the gain, for a seventh of the memory.
var spacings = [...]int{128, 256, math.MaxInt}

// layout returns the extent of a record for a picture.
func (s *Store) layout(h *jpeg.Header) (every, entries int) {
	for _, pixels := range spacings {
		if every, entries = h.SkipEntries(pixels); cost(entries) <= s.each {
			break
		}
	}
	return every, entries
}

// cost returns the memory of a record of so many entries.
func cost(entries int) int64 { return int64(unsafe.Sizeof(record{})) + 8*int64(entries) }

// add makes a new record for a sample in place of the old one, with what is known already,
// and returns its Skips; where there is no room, those that are known.
func (s *Store) add(sample int64, old *record, sum fileSum, h *jpeg.Header, known jpeg.Skips) jpeg.Skips {
	every, n := s.layout(h)
	if len(known.Entries) > 0 {
		every, n = known.Every, len(known.Entries)
	}
	if n == 0 || !s.reserve(cost(n)) {
		return known
	}
	slot := s.slot(sample)
	if slot == nil {
		s.give(cost(n))
		return known
	}
	r := &record{sum: sum, skips: jpeg.Skips{Every: every, Entries: make([]atomic.Uint64, n)}}
	for i := range known.Entries {
		r.skips.Entries[i].Store(known.Entries[i].Load())
	}
	if s.replace(slot, old, r) && s.file != nil && s.file.fresh.Add(cost(n)) >= segmentBytes {
		s.save(false)
	}
	return r.skips
}

// reserve takes the memory of a record, where there is a file from records that are in it.
// That looks at all records and writes a segment, so it is worth it only for many of them;
// those that are refused count as well, so that memory is tried again when records that
// had no entries yet may have some.
func (s *Store) reserve(n int64) bool {
	switch wanted := s.wanted.Add(n); {
	case s.full.Load():
		return false
	case s.take(n):
		return true
	case s.file == nil:
		s.full.Store(true)
		return false
	case wanted < min(segmentBytes, s.spare)/8:
		return false
	}
	return s.save(true) && s.take(n) // false also where another worker or process is at the file
}

// replace puts a record, of which the memory is taken, or nil in the place of another one.
func (s *Store) replace(slot *atomic.Pointer[record], old, r *record) bool {
	if !slot.CompareAndSwap(old, r) {
		old, r = r, nil // another worker was first
	} else {
		if old == nil {
			s.pictures.Add(1)
		}
		if r == nil {
			s.pictures.Add(-1)
		}
	}
	if old != nil {
		s.give(cost(len(old.skips.Entries)))
	}
	return r != nil
}

func (s *Store) take(n int64) bool {
	if !s.room.take(n) {
		return false
	}
	s.bytes.Add(n)
	return true
}

func (s *Store) give(n int64) {
	s.room.used.Add(-n)
	s.bytes.Add(-n)
}
