package index

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"slices"
	"time"
)

// Index says where samples lie. A Builder makes it, or Open.
type Index struct {
	fields  []Field
	objects []Object
	framed  bool   // samples have frames, which stand behind their members in offset and length
	asked   string // Options.Label by which labels were found

	object []uint32 // of each sample
	label  []int32  // of each sample
	name   names
	offset []int64  // of each sample's members one after the other
	length []uint32 // likewise; the last few values are signs, see below

	wrong map[int64]string // samples that cannot be read, and why
}

// Field is a member that samples have: a file of a tar archive by its ending, a feature
// of a TFRecord, a column.
type Field struct {
	Name string
	Kind Kind
}

// Kind says what the bytes of a member stand for.
type Kind uint8

// The kinds of members.
const (
	Bytes     Kind = iota // what they are: a file, for instance
	Int64List             // a message of that name of tf.train.Example: whole numbers of 64 bits
	FloatList             // a message of that name of tf.train.Example: numbers of type float32
	kinds
)

// Object is what holds samples: a file, or an object of a bucket.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time // zero where the place does not say
}

// Part is a stretch of an object, in bytes.
type Part struct{ Offset, Length int64 }

// Signs in place of a length.
const (
	Absent = -1 // the sample does not have the member
	Whole  = -2 // the object is the member, however long it is
	Long   = -3 // the member has more bytes than MaxBytes
	Many   = -4 // the member is a list of several, where one is wanted
)

// MaxBytes is the longest member.
const MaxBytes = 1<<31 - 2

// NoLabel is the label of a sample that has none.
const NoLabel = -1

// Len returns the number of samples.
func (x *Index) Len() int64 { return int64(len(x.object)) }

// Fields returns the members that samples can have. The slice stays the index's.
func (x *Index) Fields() []Field { return x.fields }

// Field returns the place of a member among the fields, -1 where there is none.
func (x *Index) Field(name string) int {
	for i, f := range x.fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// Objects returns what holds the samples. The slice stays the index's.
func (x *Index) Objects() []Object { return x.objects }

// Object returns the place of a sample's object among the objects. Samples of an object
// follow each other.
func (x *Index) Object(sample int64) int { return int(x.object[sample]) }

// Part returns where a member of a sample lies. Its length may be Absent, Whole or Long.
func (x *Index) Part(sample int64, field int) Part {
	return x.part(sample*int64(x.stride()) + int64(field))
}

// Framed reports whether samples are framed.
func (x *Index) Framed() bool { return x.framed }

// Frame returns the stretch around a framed sample: a record of a TFRecord file, from
// its length to its checksum.
func (x *Index) Frame(sample int64) Part {
	return x.part(sample*int64(x.stride()) + int64(len(x.fields)))
}

func (x *Index) part(i int64) Part { return Part{x.offset[i], lengthOf(x.length[i])} }

// stride is how many parts a sample has in the arrays.
func (x *Index) stride() int {
	if x.framed {
		return len(x.fields) + 1
	}
	return len(x.fields)
}

// Label returns the label of a sample, or NoLabel.
func (x *Index) Label(sample int64) int32 { return x.label[sample] }

// Labelled reports whether there is a sample with a label.
func (x *Index) Labelled() bool {
	for _, l := range x.label {
		if l != NoLabel {
			return true
		}
	}
	return false
}

// Name returns the name of a sample, "" where the format has none.
func (x *Index) Name(sample int64) string { return string(x.name.at(int(sample))) }

// Wrong returns why a sample cannot be read, nil where nothing is known against it.
func (x *Index) Wrong(sample int64) error {
	if len(x.wrong) == 0 {
		return nil
	}
	if text, ok := x.wrong[sample]; ok {
		return errors.New(text)
	}
	return nil
}

// Bytes returns how much memory the index takes.
func (x *Index) Bytes() int64 {
	return int64(4*cap(x.object) + 4*cap(x.label) + 8*cap(x.offset) + 4*cap(x.length) + cap(x.name.blob) + 4*cap(x.name.end))
}

// Fingerprint changes when samples are added, removed, renamed or get another label or
// size. Where the samples lie is no part of it: other shards with the same samples in the
// same order are the same data set.
func (x *Index) Fingerprint() uint64 {
	h := sha256.New()
	for _, f := range x.fields {
		h.Write(append([]byte(f.Name), 0, byte(f.Kind)))
	}
	var words [16]byte
	for i := range x.object {
		binary.LittleEndian.PutUint32(words[:], uint32(x.label[i]))
		name := x.name.at(i)
		binary.LittleEndian.PutUint32(words[4:], uint32(len(name)))
		h.Write(words[:8])
		h.Write(name)
		x.hashLengths(h, i)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

func (x *Index) hashLengths(h hash.Hash, sample int) {
	var word [4]byte
	base := sample * x.stride()
	for f := range x.fields {
		binary.LittleEndian.PutUint32(word[:], x.length[base+f])
		h.Write(word[:])
	}
}

// lengthOf returns what a number in Index.length stands for: -n is kept as the n-th
// value from the end.
func lengthOf(v uint32) int64 {
	if v > MaxBytes {
		return int64(int32(v))
	}
	return int64(v)
}

// names are the samples' names in one piece of memory.
type names struct {
	blob []byte
	end  []uint32
}

func (n *names) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = n.end[i-1]
	}
	return n.blob[start:n.end[i]]
}

// Samples returns the range of the samples of an object: from and before to.
func (x *Index) Samples(object int) (from, to int64) {
	at := func(o int) int64 {
		i, _ := slices.BinarySearch(x.object, uint32(o))
		return int64(i)
	}
	return at(object), at(object + 1)
}
