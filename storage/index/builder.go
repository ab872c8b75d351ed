package index

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// mostFields is how many members the samples of an index can have. More of them are a
// sign that names were taken for endings.
const mostFields = 64

// Sample is what a Builder adds.
type Sample struct {
	Object int // of Builder.Object
	Name   string
	Label  int32  // or NoLabel
	Parts  []Part // by field; what is left out is Absent
	Frame  Part   // in a framed index
	Wrong  string // why the sample cannot be read; "" where nothing is known against it
}

// Builder makes an index. The zero value is ready for use; it serves one goroutine.
type Builder struct {
	x Index
}

// Framed says that samples have frames, before the first one is added.
func (b *Builder) Framed() { b.x.framed = true }

// Object adds what holds samples, whose samples come next.
func (b *Builder) Object(o Object) int {
	b.x.objects = append(b.x.objects, o)
	return len(b.x.objects) - 1
}

// Field returns the place of a field, which is added where it is new. It is an error
// where the same name had another kind, and where there are too many.
func (b *Builder) Field(name string, kind Kind) (int, error) {
	if i := b.x.Field(name); i >= 0 {
		if b.x.fields[i].Kind != kind {
			return 0, fmt.Errorf("the member %q holds other data in some samples than in others; write them alike", name)
		}
		return i, nil
	}
	if len(b.x.fields) == mostFields {
		return 0, fmt.Errorf("samples have more than %d kinds of members, such as %q and %q; a sample's name ends at its first dot: take the dots out of the names",
			mostFields, b.x.fields[mostFields-1].Name, name)
	}
	old := b.x.stride()
	b.x.fields = append(b.x.fields, Field{name, kind})
	b.widen(old)
	return len(b.x.fields) - 1, nil
}

// widen makes room for one more member in the samples that there are.
func (b *Builder) widen(old int) {
	n := len(b.x.object)
	if n == 0 {
		return
	}
	offset, length := make([]int64, 0, n*(old+1)), make([]uint32, 0, n*(old+1))
	frames := b.x.stride() - len(b.x.fields)
	for i := range n {
		at, frame := i*old, (i+1)*old-frames
		offset = append(append(append(offset, b.x.offset[at:frame]...), 0), b.x.offset[frame:frame+frames]...)
		length = append(append(append(length, b.x.length[at:frame]...), packed(Absent)), b.x.length[frame:frame+frames]...)
	}
	b.x.offset, b.x.length = offset, length
}

// Add adds a sample. Its parts must lie in its object, which must be the one added last.
func (b *Builder) Add(s Sample) error {
	if s.Object < 0 || s.Object != len(b.x.objects)-1 {
		return fmt.Errorf("index: a sample of object %d is added behind one of object %d", s.Object, len(b.x.objects)-1)
	}
	if len(s.Parts) > len(b.x.fields) {
		return fmt.Errorf("index: a sample has %d members, there are %d fields", len(s.Parts), len(b.x.fields))
	}
	if int64(len(b.x.name.blob))+int64(len(s.Name)) > math.MaxUint32 {
		return errors.New("the names of the samples have more than 4 GiB together; shorten them, or split the data set")
	}
	o := &b.x.objects[s.Object]
	for i, p := range s.Parts {
		if err := o.holds(p); err != nil {
			return fmt.Errorf("%s of sample %q: %w", b.x.fields[i].Name, s.Name, err)
		}
	}
	if b.x.framed {
		if err := o.holds(s.Frame); err != nil {
			return err
		}
	}
	if s.Wrong != "" {
		if b.x.wrong == nil {
			b.x.wrong = map[int64]string{}
		}
		b.x.wrong[b.x.Len()] = s.Wrong
	}
	b.x.object = append(b.x.object, uint32(s.Object))
	b.x.label = append(b.x.label, max(s.Label, NoLabel))
	b.x.name.blob = append(b.x.name.blob, s.Name...)
	b.x.name.end = append(b.x.name.end, uint32(len(b.x.name.blob)))
	for i := range b.x.fields {
		p := Part{Length: Absent}
		if i < len(s.Parts) {
			p = s.Parts[i]
		}
		b.put(p)
	}
	if b.x.framed {
		b.put(s.Frame)
	}
	return nil
}

func (b *Builder) put(p Part) {
	b.x.offset = append(b.x.offset, p.Offset)
	b.x.length = append(b.x.length, packed(p.Length))
}

// packed is the inverse of lengthOf.
func packed(length int64) uint32 {
	if length > MaxBytes {
		length = Long
	}
	return uint32(int32(length))
}

// holds returns an error for a part that is not in the object.
func (o *Object) holds(p Part) error {
	switch {
	case p.Length < Many || p.Offset < 0:
		return fmt.Errorf("index: %d bytes from byte %d on are no part of %s", p.Length, p.Offset, o.Name)
	case p.Length > 0 && (p.Offset > o.Size || p.Length > o.Size-p.Offset):
		return &FormatError{o.Name, p.Offset, fmt.Errorf("%d bytes are to lie here, but the file ends at byte %d: it was cut off; copy or write it again", p.Length, o.Size)}
	}
	return nil
}

// Append adds the samples of another index, with the objects that hold them.
func (b *Builder) Append(o *Index) error {
	if len(b.x.objects) == 0 {
		b.x.framed, b.x.asked = o.framed, o.asked
	}
	if o.framed != b.x.framed {
		return errors.New("shards of several formats are mixed; give those of one format")
	}
	place := make([]int, len(o.fields))
	for i, f := range o.fields {
		var err error
		if place[i], err = b.Field(f.Name, f.Kind); err != nil {
			return err
		}
	}
	b.grow(o)
	parts := make([]Part, len(b.x.fields))
	at := -1
	for i := range o.Len() {
		for ; at < o.Object(i); at++ {
			b.Object(o.objects[at+1])
		}
		for f := range parts {
			parts[f] = Part{Length: Absent}
		}
		for f := range o.fields {
			parts[place[f]] = o.Part(i, f)
		}
		s := Sample{Object: len(b.x.objects) - 1, Name: o.Name(i), Label: o.label[i], Parts: parts, Wrong: o.wrong[i]}
		if o.framed {
			s.Frame = o.Frame(i)
		}
		if err := b.Add(s); err != nil {
			return err
		}
	}
	for ; at < len(o.objects)-1; at++ {
		b.Object(o.objects[at+1])
	}
	return nil
}

// grow makes room for the samples of another index.
func (b *Builder) grow(o *Index) {
	n := len(o.object)
	b.x.object = slices.Grow(b.x.object, n)
	b.x.label = slices.Grow(b.x.label, n)
	b.x.name.blob = slices.Grow(b.x.name.blob, len(o.name.blob))
	b.x.name.end = slices.Grow(b.x.name.end, n)
	b.x.offset = slices.Grow(b.x.offset, n*b.x.stride())
	b.x.length = slices.Grow(b.x.length, n*b.x.stride())
}

// Index returns the index and leaves the builder empty.
func (b *Builder) Index() *Index {
	x := b.x
	b.x = Index{}
	return &x
}
