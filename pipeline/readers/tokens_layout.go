package readers

import (
	"sort"
)

// layout says which tokens of files make the sequences.
type layout interface {
	// sequences returns how many there are.
	sequences() int64
	// part returns the part of a sequence at a place of it, and the place behind it. The first part
	// is at place{}; behind the last one comes a part of n = 0.
	part(index int64, at place) (part, place)
}

// part is a stretch of a file's tokens in a sequence.
type part struct {
	first int64
	file  int32
	n     int32
	// whole says that the part belongs to one document, which ends behind it or goes on.
	whole, goesOn bool
}

// place is where the next part of a sequence is found.
type place struct {
	tokens   int64 // of the sequence before it
	document int64 // of the order, or the part of the sequence
}

// addDocument takes up a document of a file that is not empty: its first token and the one behind its last.
type addDocument = func(file int32, first, end int64)

func newLayout(files []*tokenFile, o *TokensOptions) (layout, error) {
	documents := func(add addDocument) error {
		for i, f := range files {
			if err := f.documents(func(first, end int64) { add(int32(i), first, end) }); err != nil {
				return err
			}
		}
		return nil
	}
	if o.PermuteDocuments {
		order, err := permuteDocuments(files, documents, o)
		if err != nil {
			return nil, err
		}
		if o.Pack == 0 {
			return order, nil
		}
		documents = order.each
	}
	if o.Pack == 0 {
		return newCut(files, o.Length), nil
	}
	p := packer{window: o.Pack, length: o.Length, packed: &packed{}}
	if err := documents(p.add); err != nil {
		return nil, err
	}
	p.flush()
	return p.packed, nil
}

// cut are files that are cut as they are.
type cut struct {
	length int64
	tokens []int64 // of each file
	starts []int64 // the first sequence of each file; then their number
}

func newCut(files []*tokenFile, length int) *cut {
	c := &cut{length: int64(length), starts: []int64{0}}
	for i, f := range files {
		c.tokens = append(c.tokens, f.tokens)
		c.starts = append(c.starts, c.starts[i]+(f.tokens+c.length-1)/c.length)
	}
	return c
}

func (c *cut) sequences() int64 { return c.starts[len(c.tokens)] }

func (c *cut) part(index int64, at place) (part, place) {
	if at.tokens > 0 {
		return part{}, at
	}
	file := sort.Search(len(c.tokens), func(i int) bool { return c.starts[i+1] > index })
	first := (index - c.starts[file]) * c.length
	n := min(c.length, c.tokens[file]-first)
	return part{first: first, file: int32(file), n: int32(n)}, place{tokens: n}
}
