package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"
)

// The file of an index: a line that says what it is, then numbers as varints and texts
// with their lengths, then a CRC-32C of all that. Samples are written as what differs from
// the sample before, so that an index is about as long as the names.
const fileMagic = "plankton index 1\n"

// Write writes the index.
func (x *Index) Write(out io.Writer) error {
	e := encoder{b: []byte(fileMagic)}
	e.flag(x.framed)
	e.text([]byte(x.asked))
	e.uint(uint64(len(x.fields)))
	for _, f := range x.fields {
		e.text([]byte(f.Name))
		e.uint(uint64(f.Kind))
	}
	e.uint(uint64(len(x.objects)))
	for _, o := range x.objects {
		e.text([]byte(o.Name))
		e.uint(uint64(o.Size))
		e.flag(!o.Modified.IsZero())
		if !o.Modified.IsZero() {
			e.int(o.Modified.UnixNano())
		}
	}
	e.uint(uint64(x.Len()))
	end, object, name := int64(0), uint32(0), []byte(nil)
	for i := range x.object {
		e.uint(uint64(x.object[i] - object))
		if x.object[i] != object {
			object, end = x.object[i], 0
		}
		e.int(int64(x.label[i]))
		next := x.name.at(i)
		shared := sharedPrefix(name, next)
		e.uint(uint64(shared))
		e.text(next[shared:])
		name = next
		for f := range x.stride() {
			p := x.part(int64(i*x.stride() + f))
			e.uint(uint64(p.Length - Many))
			e.int(p.Offset - end)
			if end = p.Offset; p.Length > 0 {
				end += p.Length
			}
		}
	}
	e.uint(uint64(len(x.wrong)))
	for i := range x.Len() {
		if text, ok := x.wrong[i]; ok {
			e.uint(uint64(i))
			e.text([]byte(text))
		}
	}
	e.b = binary.LittleEndian.AppendUint32(e.b, crc32.Checksum(e.b, castagnoli))
	_, err := out.Write(e.b)
	return err
}

type encoder struct{ b []byte }

func (e *encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)   { e.b = binary.AppendVarint(e.b, v) }

func (e *encoder) text(t []byte) {
	e.uint(uint64(len(t)))
	e.b = append(e.b, t...)
}

func (e *encoder) flag(set bool) {
	if set {
		e.uint(1)
	} else {
		e.uint(0)
	}
}

func sharedPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// errIndexFile is what a file is that Write did not write.
var errIndexFile = errors.New("no index file of this version, or a damaged one; make it again with `plankton index`")

// Parse reads what Write wrote.
func Parse(file []byte) (*Index, error) {
	n := len(file) - crc32.Size
	if n < len(fileMagic) || !bytes.HasPrefix(file, []byte(fileMagic)) ||
		crc32.Checksum(file[:n], castagnoli) != binary.LittleEndian.Uint32(file[n:]) {
		return nil, errIndexFile
	}
	d := decoder{b: file[len(fileMagic):n]}
	b := Builder{}
	b.x.framed = d.flag()
	b.x.asked = string(d.text())
	for range d.count() {
		name, kind := string(d.text()), d.uint()
		if kind >= uint64(kinds) || d.bad {
			return nil, errIndexFile
		}
		if _, err := b.Field(name, Kind(kind)); err != nil {
			return nil, fmt.Errorf("%w (%w)", errIndexFile, err)
		}
	}
	objects := make([]Object, d.count())
	for i := range objects {
		objects[i] = Object{Name: string(d.text()), Size: int64(d.uint())}
		if d.flag() {
			objects[i].Modified = time.Unix(0, d.int())
		}
	}
	if err := d.samples(&b, objects); err != nil {
		return nil, err
	}
	if d.bad || len(d.b) > 0 {
		return nil, errIndexFile
	}
	return b.Index(), nil
}

// samples reads the samples into a builder.
func (d *decoder) samples(b *Builder, objects []Object) error {
	n := d.count()
	b.grow(&Index{object: make([]uint32, n)})
	parts := make([]Part, b.x.stride())
	end, object, name := int64(0), uint64(0), []byte(nil)
	for i := range n {
		if step := d.uint(); step > 0 || i == 0 {
			if step > uint64(len(objects)) {
				return errIndexFile
			}
			if object += step; step > 0 {
				end = 0
			}
		}
		if object >= uint64(len(objects)) {
			return errIndexFile
		}
		for uint64(len(b.x.objects)) <= object {
			b.Object(objects[len(b.x.objects)])
		}
		s := Sample{Object: int(object), Label: int32(d.int())}
		shared := d.uint()
		if shared > uint64(len(name)) {
			return errIndexFile
		}
		name = append(name[:shared], d.text()...)
		s.Name = string(name)
		for f := range parts {
			parts[f] = Part{Length: int64(d.uint()) + Many}
			parts[f].Offset = end + d.int()
			if end = parts[f].Offset; parts[f].Length > 0 {
				end += parts[f].Length
			}
		}
		s.Parts = parts[:len(b.x.fields)]
		if b.x.framed {
			s.Frame = parts[len(parts)-1]
		}
		if d.bad {
			return errIndexFile
		}
		if err := b.Add(s); err != nil {
			return fmt.Errorf("%w (%w)", errIndexFile, err)
		}
	}
	for _, o := range objects[len(b.x.objects):] {
		b.Object(o)
	}
	for range d.count() {
		i := int64(d.uint())
		if i < 0 || i >= b.x.Len() {
			return errIndexFile
		}
		if b.x.wrong == nil {
			b.x.wrong = map[int64]string{}
		}
		b.x.wrong[i] = string(d.text())
	}
	return nil
}

// decoder reads what encoder wrote. Once something is wrong it is bad and reads zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	return v * d.step(n)
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	return v * int64(d.step(n))
}

// step goes on by n bytes and returns 1, or 0 where it cannot.
func (d *decoder) step(n int) uint64 {
	if n <= 0 || d.bad {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return 1
}

// count reads how many of something follow. Each has a byte at least, so that no more
// memory is taken than the file has.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) text() []byte {
	n := d.count()
	t := d.b[:n]
	d.b = d.b[n:]
	return t
}

func (d *decoder) flag() bool { return d.uint() != 0 }

// Equal reports whether two indexes say the same.
func (x *Index) Equal(o *Index) bool {
	return x.framed == o.framed && x.asked == o.asked && slices.Equal(x.fields, o.fields) && x.sameShards(o.objects) &&
		slices.Equal(x.object, o.object) && slices.Equal(x.label, o.label) && slices.Equal(x.offset, o.offset) && slices.Equal(x.length, o.length) &&
		bytes.Equal(x.name.blob, o.name.blob) && slices.Equal(x.name.end, o.name.end)
}
