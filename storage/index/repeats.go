package index

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage"
)

// How far the search for samples that come twice goes. It is there to find shards that
// were copied, all of whose samples come twice, so a part of the pairs is enough.
const (
	nearRepeats = 4       // samples before one that it is compared with
	mostRepeats = 1 << 15 // pairs whose content is read
)

// refuseRepeats returns an error where two samples have the same name and the same
// content. Names alone may come twice: many tools number the samples of every shard from
// 0 on. Samples without names are not compared.
func (x *Index) refuseRepeats(ctx context.Context, place storage.RangeReader) error {
	keys := x.byName()
	read := 0
	first, second := -1, len(x.object)
	for i := range keys {
		for j := max(0, i-nearRepeats); j < i && read < mostRepeats; j++ {
			a, b := keys[j].sample, keys[i].sample
			if keys[j].hash != keys[i].hash || b >= second || !x.alike(a, b) {
				continue
			}
			read++
			same, err := x.same(ctx, place, a, b)
			if err != nil {
				return err
			}
			if same {
				first, second = a, b
			}
		}
	}
	if first < 0 {
		return nil
	}
	a, b := x.objects[x.object[first]].Name, x.objects[x.object[second]].Name
	return fmt.Errorf("the sample %s is in %s and again, with the same content, in %s; remove one of them, or allow repeats", printable.Name(x.Name(int64(first))), printable.Name(a), printable.Name(b))
}

// hashed is a sample with the hash of its name.
type hashed struct {
	hash   uint64
	sample int
}

// byName returns the samples with names, those of one name behind each other.
func (x *Index) byName() []hashed {
	seed := maphash.MakeSeed()
	var keys []hashed
	for i := range x.object {
		if name := x.name.at(i); len(name) > 0 {
			keys = append(keys, hashed{maphash.Bytes(seed, name), i})
		}
	}
	slices.SortFunc(keys, func(a, b hashed) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.sample, b.sample))
	})
	return keys
}

// alike reports whether two samples have the same name, label and lengths.
func (x *Index) alike(a, b int) bool {
	n := x.stride()
	return bytes.Equal(x.name.at(a), x.name.at(b)) && x.label[a] == x.label[b] &&
		slices.Equal(x.length[a*n:][:len(x.fields)], x.length[b*n:][:len(x.fields)])
}

// same reports whether the members of two samples have the same content.
func (x *Index) same(ctx context.Context, place storage.RangeReader, a, b int) (bool, error) {
	const piece = 4 << 10
	var mem [2 * piece]byte
	for f := range x.fields {
		p, q := x.Part(int64(a), f), x.Part(int64(b), f)
		for done := int64(0); done < p.Length; done += piece {
			n := min(piece, p.Length-done)
			left, right := mem[:n], mem[piece:][:n]
			if err := storage.ReadRange(ctx, place, x.objects[x.object[a]].Name, p.Offset+done, left); err != nil {
				return false, err
			}
			if err := storage.ReadRange(ctx, place, x.objects[x.object[b]].Name, q.Offset+done, right); err != nil {
				return false, err
			}
			if !bytes.Equal(left, right) {
				return false, nil
			}
		}
	}
	return true, nil
}
