package readers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

// npyMember is a member of a tar archive whose files are arrays of NumPy's.
type npyMember struct {
	dtype datum.DType
	dims  int

	// last is the header that was read last. Arrays of one shape have the same header, so
	// nearly every one is known already.
	last atomic.Pointer[npyKnown]
}

// npyKnown is a header and what it says.
type npyKnown struct {
	text   string
	header npyHeader
}

// isNPY reports whether the files of an ending are arrays.
func isNPY(ending string) bool { return ending == "npy" || strings.HasSuffix(ending, ".npy") }

// npyTries is how many samples are looked at for one whose array can be read.
const npyTries = 16

// openNPY finds the type of a member by the first array that can be read.
func (s *shardsSource) openNPY(m *member) error {
	var first error
	tries := 0
	for i := int64(0); i < s.index.Len() && tries < npyTries; i++ {
		p, err := s.partOf(i, m)
		if err != nil {
			continue
		}
		tries++
		h, err := s.npyHeaderOf(i, p)
		if err == nil {
			m.npy = &npyMember{dtype: h.dtype, dims: len(h.shape)}
			return nil
		}
		if first == nil {
			first = fmt.Errorf("%s: the member %s: %w", s.Describe(i), m.name, err)
		}
	}
	if first == nil {
		first = fmt.Errorf("no sample has an array in the member %s", m.name)
	}
	return first
}

// npyHeaderOf reads the header of an array while the reader is added.
func (s *shardsSource) npyHeaderOf(sample int64, p index.Part) (h npyHeader, err error) {
	head := make([]byte, min(p.Length, mostNPYHeader+npyPrefix))
	object := s.index.Objects()[s.index.Object(sample)].Name
	if err := storage.ReadRange(context.Background(), s.place, object, p.Offset, head); err != nil {
		return h, err
	}
	return parseNPYArray(head)
}

// parseNPYArray reads the header of an array that is a sample's: it may have any shape.
func parseNPYArray(head []byte) (h npyHeader, err error) {
	h, order, err := readNPYHeader(head)
	switch {
	case err != nil:
		return h, err
	case len(h.shape) > datum.MaxDims:
		return h, fmt.Errorf("the array has %d dimensions; at most %d are possible", len(h.shape), datum.MaxDims)
	case order == "True" && len(h.shape) > 1:
		return h, errors.New("the array is in Fortran's order; save it by numpy.save(file, numpy.ascontiguousarray(array))")
	}
	return h, h.fits()
}

// parse is parseNPYArray for the header of a whole file.
func (n *npyMember) parse(file []byte) (npyHeader, error) {
	if k := n.last.Load(); k != nil && len(file) >= len(k.text) && string(file[:len(k.text)]) == k.text {
		return k.header, nil
	}
	h, err := parseNPYArray(file)
	if err == nil {
		n.last.Store(&npyKnown{string(file[:h.size]), h})
	}
	return h, err
}

// readNPY makes a tensor of the array that a file is.
func (s *shardsSource) readNPY(ctx context.Context, from ranges, object string, m *member, p index.Part, t *datum.Tensor) error {
	room := scratches.Get().(*scratch)
	defer scratches.Put(room)
	file := room.resize(p.Length)
	if err := from.read(ctx, object, p.Offset, file); err != nil {
		return err
	}
	if err := m.npy.put(t, file); err != nil {
		return fmt.Errorf("the member %s: %w", m.name, err)
	}
	return nil
}

// put makes a tensor of a file.
func (n *npyMember) put(t *datum.Tensor, file []byte) error {
	h, err := n.parse(file)
	switch {
	case err != nil:
		return err
	case h.dtype != n.dtype || len(h.shape) != n.dims:
		return fmt.Errorf("the array is %s with %d dimensions, in other samples %s with %d; save them alike", h.dtype, len(h.shape), n.dtype, n.dims)
	case int64(len(file)) != h.size+h.bytes():
		return fmt.Errorf("the file has %d bytes; an array of the shape %v has %d: it was cut off, or damaged", len(file), h.shape, h.size+h.bytes())
	}
	mem, err := t.Resize(h.shape...)
	if err != nil {
		return err
	}
	copy(mem, file[h.size:])
	if h.swap {
		swapBytes(mem, h.dtype.Size())
	}
	return nil
}
