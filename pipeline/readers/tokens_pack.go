package readers

import (
	"math/bits"
	"slices"
)

// packed are sequences of parts of documents.
type packed struct {
	parts []part
	ends  []int64 // of the sequences in parts
}

func (p *packed) sequences() int64 { return int64(len(p.ends)) }

func (p *packed) part(index int64, at place) (part, place) {
	first := int64(0)
	if index > 0 {
		first = p.ends[index-1]
	}
	if first+at.document >= p.ends[index] {
		return part{}, at
	}
	return p.parts[first+at.document], place{document: at.document + 1}
}

// packer packs a window of documents after the other.
type packer struct {
	*packed
	window, length int
	documents      int    // in the window
	waiting        []part // of the window

	order []uint64 // of the parts: what they leave of a sequence, and their place
	rooms rooms
	size  []int64 // of the sequences of the window, in parts; then where they end
	in    []int32 // the sequence of each part, in order
}

// add takes up a document, cut into parts that fit.
func (p *packer) add(file int32, first, end int64) {
	for first < end {
		n := min(int64(p.length), end-first)
		p.waiting = append(p.waiting, part{first: first, file: file, n: int32(n), whole: true, goesOn: first+n < end})
		first += n
	}
	if p.documents++; p.documents == p.window {
		p.flush()
	}
}

// flush packs the window: the longest part first, each into the sequence that has the least
// room of those that it fits in, the latest of equal ones (best fit, decreasing).
func (p *packer) flush() {
	p.order, p.size, p.in = p.order[:0], p.size[:0], p.in[:0]
	for i, x := range p.waiting {
		p.order = append(p.order, uint64(p.length-int(x.n))<<32|uint64(i))
	}
	slices.Sort(p.order)
	p.rooms.reset(p.length)
	for _, o := range p.order {
		n := p.length - int(o>>32)
		room, sequence := p.rooms.take(n)
		if sequence < 0 {
			room, sequence = p.length, int32(len(p.size))
			p.size = append(p.size, 0)
		}
		p.rooms.add(room-n, sequence)
		p.size[sequence]++
		p.in = append(p.in, sequence)
	}
	first := int64(len(p.parts))
	p.parts = append(p.parts, p.waiting...)
	for i, n := range p.size {
		p.size[i], first = first, first+n // where the sequence begins; then its next part
		p.ends = append(p.ends, first)
	}
	for i, o := range p.order {
		at := &p.size[p.in[i]]
		p.parts[*at] = p.waiting[uint32(o)]
		*at++
	}
	p.waiting, p.documents = p.waiting[:0], 0
}

// rooms are the sequences of a window by the room that is left in them.
type rooms struct {
	latest []int32  // the sequence of a room that was put there last, -1 for none
	before []int32  // by sequence: the one that was put there before, -1 for none
	some   []uint64 // bits of the rooms that have one
}

func (r *rooms) reset(length int) {
	if r.latest == nil {
		r.latest, r.some = slices.Repeat([]int32{-1}, length+1), make([]uint64, length/64+1)
	}
	for i, word := range r.some {
		for ; word != 0; word &= word - 1 {
			r.latest[64*i+bits.TrailingZeros64(word)] = -1
		}
		r.some[i] = 0
	}
	r.before = r.before[:0]
}

// add notes the room of a sequence. New ones come in their order.
func (r *rooms) add(room int, sequence int32) {
	if int(sequence) == len(r.before) {
		r.before = append(r.before, -1)
	}
	r.before[sequence], r.latest[room] = r.latest[room], sequence
	r.some[room/64] |= 1 << (room % 64)
}

// take takes a sequence of the least room of at least n, -1 where none has it.
func (r *rooms) take(n int) (room int, sequence int32) {
	i := n / 64
	word := r.some[i] >> (n % 64) << (n % 64)
	for word == 0 {
		if i++; i == len(r.some) {
			return 0, -1
		}
		word = r.some[i]
	}
	room = 64*i + bits.TrailingZeros64(word)
	sequence = r.latest[room]
	if r.latest[room] = r.before[sequence]; r.latest[room] < 0 {
		r.some[i] &^= 1 << (room % 64)
	}
	return room, sequence
}
