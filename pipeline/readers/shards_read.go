package readers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

func (s *shardsSource) Read(ctx context.Context, sample int64, out []*datum.Tensor) error {
	return s.read(ctx, ranges{place: s.place}, sample, out)
}

// read makes out a sample from its ranges.
func (s *shardsSource) read(ctx context.Context, from ranges, sample int64, out []*datum.Tensor) error {
	if err := s.index.Wrong(sample); err != nil {
		return err
	}
	if s.index.Framed() {
		if err := s.readFramed(ctx, from, sample, out); err != nil {
			return err
		}
	} else {
		object := s.index.Objects()[s.index.Object(sample)].Name
		for i := range s.members {
			p, err := s.partOf(sample, &s.members[i])
			if err != nil {
				return err
			}
			if s.members[i].npy != nil {
				if err := s.readNPY(ctx, from, object, &s.members[i], p, out[i]); err != nil {
					return err
				}
				continue
			}
			mem, err := out[i].Resize(int(p.Length))
			if err != nil {
				return err
			}
			if err := from.read(ctx, object, p.Offset, mem); err != nil {
				return err
			}
		}
	}
	if !s.labelled {
		return nil
	}
	label := s.index.Label(sample)
	switch {
	case s.unlabelled:
		label = 0
	case label == index.NoLabel:
		return errors.New("the sample has no label, or one that is no whole number from 0 on")
	}
	return putLabel(out[len(s.members)], label)
}

// partOf returns where a member of a sample lies.
func (s *shardsSource) partOf(sample int64, m *member) (index.Part, error) {
	for _, f := range m.fields {
		p := s.index.Part(sample, f)
		switch p.Length {
		case index.Absent:
			continue
		case index.Long:
			return p, fmt.Errorf("the member %s has more than the %d bytes that a sample can have", m.name, index.MaxBytes)
		case index.Many:
			return p, fmt.Errorf("the member %s has several values; one is wanted", m.name)
		case 0:
			if m.kind == index.Bytes {
				return p, fmt.Errorf("the member %s is empty", m.name)
			}
		}
		return p, nil
	}
	return index.Part{}, fmt.Errorf("the sample has no member %s", m.name)
}

// scratch is memory for what is around the members of a record.
type scratch struct{ mem []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) resize(n int64) []byte {
	if int64(cap(s.mem)) < n {
		s.mem = make([]byte, n)
	}
	s.mem = s.mem[:n]
	return s.mem
}

// mostAround is how many bytes of a record may lie around its only member for that to be
// read into its place at once.
const mostAround = 4 << 10

// readFramed reads a record. Where one member is nearly all of it, as a picture is, this
// is read into its place, and what is around it beside it: so no picture is copied.
func (s *shardsSource) readFramed(ctx context.Context, from ranges, sample int64, out []*datum.Tensor) error {
	object := s.index.Objects()[s.index.Object(sample)].Name
	frame := s.index.Frame(sample)
	room := scratches.Get().(*scratch)
	defer scratches.Put(room)
	if len(s.members) == 1 && s.members[0].kind == index.Bytes {
		p, err := s.partOf(sample, &s.members[0])
		if err != nil {
			return err
		}
		if around := frame.Length - p.Length; around <= mostAround && s.local() {
			return s.readAround(ctx, object, frame, p, out[0], room.resize(around))
		}
	}
	record := room.resize(frame.Length)
	if err := from.read(ctx, object, frame.Offset, record); err != nil {
		return err
	}
	if err := s.checkRecord(record[:index.RecordHeader], record[len(record)-index.RecordTrailer:], record[index.RecordHeader:len(record)-index.RecordTrailer]); err != nil {
		return err
	}
	for i := range s.members {
		m := &s.members[i]
		p, err := s.partOf(sample, m)
		if err != nil {
			return err
		}
		at := p.Offset - frame.Offset
		if err := putMember(out[i], m.kind, record[at:at+p.Length]); err != nil {
			return fmt.Errorf("the member %s: %w", m.name, err)
		}
	}
	return nil
}

// local reports whether several reads of neighbouring bytes cost next to nothing.
func (s *shardsSource) local() bool {
	_, kept := s.place.(*storage.Kept)
	return kept
}

// readAround reads a record into around, and its member into the tensor.
func (s *shardsSource) readAround(ctx context.Context, object string, frame, p index.Part, t *datum.Tensor, around []byte) error {
	mem, err := t.Resize(int(p.Length))
	if err != nil {
		return err
	}
	if err := storage.ReadRange(ctx, s.place, object, p.Offset, mem); err != nil || s.unchecked {
		return err
	}
	before, after := around[:p.Offset-frame.Offset], around[p.Offset-frame.Offset:]
	if err := storage.ReadRange(ctx, s.place, object, frame.Offset, before); err != nil {
		return err
	}
	if err := storage.ReadRange(ctx, s.place, object, p.Offset+p.Length, after); err != nil {
		return err
	}
	return s.checkRecord(before, after[len(after)-index.RecordTrailer:], before[index.RecordHeader:], mem, after[:len(after)-index.RecordTrailer])
}

// checkRecord compares the checksum of a record's message.
func (s *shardsSource) checkRecord(header, trailer []byte, message ...[]byte) error {
	if s.unchecked {
		return nil
	}
	n := 0
	for _, m := range message {
		n += len(m)
	}
	if binary.LittleEndian.Uint64(header) != uint64(n) {
		return errors.New("another record lies here than the index says: the file was changed since; make its index again")
	}
	if index.RecordCRC(message...) != binary.LittleEndian.Uint32(trailer) {
		return errors.New("the checksum of the record is wrong: its bytes are damaged; copy or write the file again")
	}
	return nil
}

// putMember makes a tensor of the bytes of a member.
func putMember(t *datum.Tensor, kind index.Kind, mem []byte) error {
	switch kind {
	case index.Int64List:
		n, err := index.CountInt64s(mem)
		if err != nil {
			return err
		}
		to, err := t.Resize(n)
		if err == nil {
			_, err = index.AppendInt64s(datum.View[int64](to)[:0], mem)
		}
		return err
	case index.FloatList:
		n, err := index.CountFloats(mem)
		if err != nil {
			return err
		}
		to, err := t.Resize(n)
		if err == nil {
			_, err = index.AppendFloats(datum.View[float32](to)[:0], mem)
		}
		return err
	}
	to, err := t.Resize(len(mem))
	copy(to, mem)
	return err
}
