package lookahead

import (
	"cmp"
	"slices"

	"github.com/planktonml/plankton/memstats"
)

// grain is what memory is given out in.
const grain = 512

// arena gives out parts of one piece of memory: of the free parts that are large enough the one
// that begins first, so that memory which was never needed is never touched.
type arena struct {
	mem  []byte
	free []span // by their beginning; no two of them touch
}

// span is a part of the memory, from begin to before end.
type span struct{ begin, end int64 }

func newArena(n int64) (*arena, error) {
	mem, err := mapMemory(int(roundUp(n)))
	if err != nil {
		return nil, err
	}
	return &arena{mem: mem, free: []span{{0, int64(len(mem))}}}, nil
}

func roundUp(n int64) int64 { return (n + grain - 1) / grain * grain }

// fits reports whether the arena could give out n bytes if all of it were free.
func (a *arena) fits(n int64) bool { return n <= int64(len(a.mem)) }

// take gives out n bytes and returns where they begin; false where there is no room for them.
func (a *arena) take(n int64) (begin int64, ok bool) {
	need := roundUp(n)
	for i := range a.free {
		s := &a.free[i]
		if s.end-s.begin < need {
			continue
		}
		begin = s.begin
		if s.begin += need; s.begin == s.end {
			a.free = slices.Delete(a.free, i, i+1)
		}
		return begin, true
	}
	return 0, false
}

// give takes back the n bytes that take gave out at begin.
func (a *arena) give(begin, n int64) {
	s := span{begin, begin + roundUp(n)}
	memstats.Poison(a.mem[s.begin:s.end])
	i, _ := slices.BinarySearchFunc(a.free, s.begin, func(f span, at int64) int { return cmp.Compare(f.begin, at) })
	before, behind := i > 0 && a.free[i-1].end == s.begin, i < len(a.free) && a.free[i].begin == s.end
	switch {
	case before && behind:
		a.free[i-1].end = a.free[i].end
		a.free = slices.Delete(a.free, i, i+1)
	case before:
		a.free[i-1].end = s.end
	case behind:
		a.free[i].begin = s.begin
	default:
		a.free = slices.Insert(a.free, i, s)
	}
}

// close gives the memory back to the system.
func (a *arena) close() {
	unmapMemory(a.mem)
	a.mem, a.free = nil, nil
}
