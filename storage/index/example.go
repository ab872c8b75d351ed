package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// tf.train.Example as protocol buffers write it (tensorflow/core/example/example.proto,
// feature.proto): Example has field 1, Features; Features has entries of a map, field 1,
// with the key as field 1 and a Feature as field 2; a Feature is a BytesList (1), a
// FloatList (2) or an Int64List (3), whose values are field 1.

// exampleScan finds the features of records without reading the large ones.
type exampleScan struct {
	w *window
	b *Builder
	o *Options

	parts []Part
}

// The wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var errExample = errors.New("the message is no tf.train.Example")

// record adds the sample that a record is. A message that cannot be read is that sample's
// fault.
func (e *exampleScan) record(frame Part) error {
	s := Sample{Object: len(e.b.x.objects) - 1, Label: NoLabel, Frame: frame}
	e.parts = e.parts[:0]
	message := cursor{e.w, frame.Offset + RecordHeader, frame.Offset + frame.Length - RecordTrailer}
	err := message.each(func(field, wire int, v cursor) error {
		if field != 1 || wire != wireBytes {
			return nil
		}
		return v.each(func(field, wire int, entry cursor) error {
			if field != 1 || wire != wireBytes {
				return nil
			}
			return e.entry(entry, &s)
		})
	})
	switch {
	case errors.Is(err, errExample), errors.Is(err, io.ErrUnexpectedEOF):
		s.Wrong, e.parts = errExample.Error()+": it ends in the middle of a field, or holds something else", nil
	case err != nil:
		return err
	}
	s.Parts = e.parts
	return e.b.Add(s)
}

// entry adds one feature to a sample.
func (e *exampleScan) entry(entry cursor, s *Sample) error {
	var key string
	var value cursor
	err := entry.each(func(field, wire int, v cursor) (err error) {
		switch {
		case wire != wireBytes:
		case field == 1:
			key, err = v.text()
		case field == 2:
			value = v
		}
		return err
	})
	if err != nil || value.w == nil {
		return err
	}
	return value.each(func(field, wire int, list cursor) error {
		if field < 1 || field > 3 || wire != wireBytes {
			return nil
		}
		return e.feature(key, field, list, s)
	})
}

// feature adds a feature whose list of values is given.
func (e *exampleScan) feature(key string, of int, list cursor, s *Sample) (err error) {
	kind, part := Int64List, list.part()
	switch of {
	case 1:
		kind = Bytes
		if part, err = list.only(); err != nil {
			return err
		}
	case 2:
		kind = FloatList
	}
	f, err := e.b.Field(key, kind)
	if err != nil {
		return e.w.broken(list.pos, "%w", err)
	}
	for len(e.parts) <= f {
		e.parts = append(e.parts, Part{Length: Absent})
	}
	e.parts[f] = part
	switch {
	case of == 3 && e.o.isLabel(key, "image/class/label", "label"):
		s.Label, err = list.label()
	case of == 1 && key == "image/filename" && part.Length >= 0 && part.Length <= longestName:
		var name string
		name, err = cursor{list.w, part.Offset, part.Offset + part.Length}.text()
		s.Name = strings.TrimSuffix(name, path.Ext(name)) // as files of folders are named
	}
	return err
}

// longestName is the longest name or key that is read, in bytes.
const longestName = 1024

// cursor is a stretch of an object that a message of protocol buffers lies in.
type cursor struct {
	w        *window
	pos, end int64
}

func (c cursor) part() Part { return Part{c.pos, c.end - c.pos} }

// each calls see with the fields of the message. Of a number the cursor is the bytes.
func (c cursor) each(see func(field, wire int, value cursor) error) error {
	for c.pos < c.end {
		tag, err := c.varint()
		if err != nil {
			return err
		}
		wire := int(tag & 7)
		value := cursor{c.w, c.pos, c.end}
		switch wire {
		case wireVarint:
			if _, err := c.varint(); err != nil {
				return err
			}
			value.end = c.pos
		case wireFixed64:
			value.end = c.pos + 8
		case wireFixed32:
			value.end = c.pos + 4
		case wireBytes:
			n, err := c.varint()
			if err != nil {
				return err
			}
			if n > uint64(c.end-c.pos) {
				return errExample
			}
			value.pos, value.end = c.pos, c.pos+int64(n)
		default:
			return errExample
		}
		if value.end > c.end {
			return errExample
		}
		c.pos = value.end
		if err := see(int(min(tag>>3, 1<<30)), wire, value); err != nil {
			return err
		}
	}
	return nil
}

// varint reads a number.
func (c *cursor) varint() (uint64, error) {
	b, err := c.w.at(c.pos, int(min(binary.MaxVarintLen64, c.end-c.pos)))
	if err != nil {
		return 0, err
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, errExample
	}
	c.pos += int64(n)
	return v, nil
}

// text returns the whole stretch.
func (c cursor) text() (string, error) {
	if c.end-c.pos > longestName {
		return "", errExample
	}
	b, err := c.w.at(c.pos, int(c.end-c.pos))
	return string(b), err
}

// only returns the place of the one value of a BytesList.
func (c cursor) only() (Part, error) {
	p := Part{Length: Absent}
	err := c.each(func(field, wire int, v cursor) error {
		switch {
		case field != 1 || wire != wireBytes:
		case p.Length == Absent:
			p = v.part()
		default:
			p = Part{Length: Many}
		}
		return nil
	})
	return p, err
}

// label returns the only value of an Int64List, or NoLabel.
func (c cursor) label() (int32, error) {
	if c.end-c.pos > longestLabel {
		return NoLabel, nil
	}
	b, err := c.w.at(c.pos, int(c.end-c.pos))
	if err != nil {
		return NoLabel, err
	}
	values, err := AppendInt64s(nil, b)
	if err != nil {
		return NoLabel, err
	}
	if len(values) != 1 || values[0] < 0 || values[0] >= 1<<31-1 {
		return NoLabel, nil
	}
	return int32(values[0]), nil
}

// packedOf returns the bytes of the values that a list of numbers begins with, and what is
// behind them. Wire is that of one number that is not packed.
func packedOf(list []byte, wire uint64) (values, rest []byte, err error) {
	tag, n := binary.Uvarint(list)
	if n <= 0 {
		return nil, nil, errExample
	}
	list = list[n:]
	size := uint64(4)
	switch {
	case tag == 1<<3|wireBytes:
		if size, n = binary.Uvarint(list); n <= 0 {
			return nil, nil, errExample
		}
		list = list[n:]
	case tag != 1<<3|wire:
		return nil, nil, errExample
	case wire == wireVarint:
		_, n = binary.Uvarint(list)
		size = uint64(max(0, n))
		if n <= 0 {
			return nil, nil, errExample
		}
	}
	if size > uint64(len(list)) {
		return nil, nil, errExample
	}
	return list[:size], list[size:], nil
}

// CountInt64s returns how many values an Int64List has.
func CountInt64s(list []byte) (n int, err error) {
	for len(list) > 0 {
		var values []byte
		if values, list, err = packedOf(list, wireVarint); err != nil {
			return 0, err
		}
		for _, b := range values {
			if b < 0x80 { // the last byte of a number
				n++
			}
		}
	}
	return n, nil
}

// AppendInt64s appends the values of an Int64List, packed or not.
func AppendInt64s(dst []int64, list []byte) (_ []int64, err error) {
	for len(list) > 0 {
		var values []byte
		if values, list, err = packedOf(list, wireVarint); err != nil {
			return dst, err
		}
		for len(values) > 0 {
			v, n := binary.Uvarint(values)
			if n <= 0 {
				return dst, errExample
			}
			dst, values = append(dst, int64(v)), values[n:]
		}
	}
	return dst, nil
}

// CountFloats returns how many values a FloatList has.
func CountFloats(list []byte) (n int, err error) {
	for len(list) > 0 {
		var values []byte
		if values, list, err = packedOf(list, wireFixed32); err != nil {
			return 0, err
		}
		n += len(values) / 4
	}
	return n, nil
}

// AppendFloats appends the values of a FloatList, packed or not.
func AppendFloats(dst []float32, list []byte) (_ []float32, err error) {
	for len(list) > 0 {
		var values []byte
		if values, list, err = packedOf(list, wireFixed32); err != nil {
			return dst, err
		}
		if len(values)%4 != 0 {
			return dst, errExample
		}
		for ; len(values) > 0; values = values[4:] {
			dst = append(dst, math.Float32frombits(binary.LittleEndian.Uint32(values)))
		}
	}
	return dst, nil
}

// Feature is a feature of a tf.train.Example: Bytes, or Int64s where Bytes is nil.
type Feature struct {
	Key    string
	Bytes  []byte
	Int64s []int64
}

// ExamplePieces returns a tf.train.Example in pieces, one behind the other, so that large
// features are not copied. Features are in the order that is given.
func ExamplePieces(features ...Feature) [][]byte {
	var entries [][]byte
	total := 0
	for _, f := range features {
		var list [][]byte // the value of the feature, from its list's field on
		if f.Bytes != nil {
			head := field(nil, 1, len(f.Bytes))
			list = [][]byte{append(field(nil, 1, len(head)+len(f.Bytes)), head...), f.Bytes}
		} else {
			var packed []byte
			for _, v := range f.Int64s {
				packed = binary.AppendUvarint(packed, uint64(v))
			}
			values := append(field(nil, 1, len(packed)), packed...)
			list = [][]byte{append(field(nil, 3, len(values)), values...)}
		}
		size := lengths(list)
		key := append(field(nil, 1, len(f.Key)), f.Key...)
		key = field(key, 2, size)
		entry := field(nil, 1, len(key)+size)
		entries = append(append(entries, slices.Concat(entry, key)), list...)
		total += len(entry) + len(key) + size
	}
	return append([][]byte{field(nil, 1, total)}, entries...)
}

// field appends what is in front of a field of n bytes.
func field(dst []byte, number, n int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(number<<3|wireBytes)), uint64(n))
}

func lengths(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// String names a kind.
func (k Kind) String() string {
	switch k {
	case Bytes:
		return "bytes"
	case Int64List:
		return "int64 list"
	case FloatList:
		return "float list"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Shown returns the name of a field for messages.
func (f Field) Shown() string { return printable.Name(f.Name) }
