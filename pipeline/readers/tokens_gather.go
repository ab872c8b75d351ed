package readers

import (
	"runtime/debug"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

var _ datum.Gatherer = (*tokenSource)(nil)

// Gathers implements datum.Gatherer: all files must be mapped, since calls of the system take longer
// than what there is to save.
func (s *tokenSource) Gathers() bool {
	return !slices.ContainsFunc(s.files, func(f *tokenFile) bool { return f.mapped == nil })
}

// Gather implements datum.Gatherer. A sequence with an error is left to Read, which says what it is. Memory
// that faults panics.
func (s *tokenSource) Gather(index []int64, out []datum.Rows) bool {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var begun [touchAhead]struct { // sequences, by their number
		part part
		next place
	}
	buffer := s.pool.Get().(*[]byte)
	defer s.pool.Put(buffer)
	var end mappedEnd
	ahead := 0
	for i, x := range index {
		for ; ahead < min(i+touchAhead, len(index)); ahead++ {
			b := &begun[ahead%touchAhead]
			b.part, b.next = s.layout.part(index[ahead], place{})
			imaging.Touch(s.files[b.part.file].memory(b.part))
		}
		var to tokenValues
		for k, rows := range out {
			if rows.Data != nil {
				to[k] = datum.View[int32](rows.Data)[i*s.length:][:s.length:s.length]
			}
		}
		if to[0] == nil { // the others are made of the tokens
			to[0] = datum.View[int32](*buffer)[:s.length]
		}
		b := &begun[i%touchAhead]
		if s.sequence(x, b.part, b.next, &to, *buffer, &end, false) != nil {
			return false
		}
	}
	return end.intact(s.files) == nil
}
