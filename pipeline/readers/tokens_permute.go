package readers

import (
	"errors"
	"sort"

	"github.com/planktonml/plankton/shard"
)

// permuted are the documents of all files in a random order, cut every so many tokens.
type permuted struct {
	length int64
	bases  []int64 // where the tokens of each file begin, one file behind the other
	order  []permutedDocument
}

// permutedDocument is a document of the order.
type permutedDocument struct {
	first int64 // in the tokens of all files
	end   int64 // in the order
}

// permuteDocuments takes up the documents that each calls its function with.
func permuteDocuments(files []*tokenFile, each func(addDocument) error, o *TokensOptions) (*permuted, error) {
	p := &permuted{length: int64(o.Length)}
	base := int64(0)
	for _, f := range files {
		p.bases = append(p.bases, base)
		base += f.tokens
	}
	var firsts []int64
	if err := each(func(file int32, first, _ int64) { firsts = append(firsts, p.bases[file]+first) }); err != nil {
		return nil, err
	}
	n := int64(len(firsts))
	if n == 1 {
		return nil, errors.New("PermuteDocuments is set, but the files are one document; set HasEnd and End, the token that ends documents of flat files, or leave it out")
	}
	firsts = append(firsts, base) // documents lie one behind the other, so the next one's first is where each ends
	order := shard.NewPermutation(n, shard.Key(o.DocumentSeed, "documents", 0, 0))
	p.order = make([]permutedDocument, n)
	end := int64(0)
	for k := range p.order {
		i := order.At(int64(k))
		end += firsts[i+1] - firsts[i]
		p.order[k] = permutedDocument{firsts[i], end}
	}
	return p, nil
}

// begin returns where the tokens of a document begin in the order.
func (p *permuted) begin(document int64) int64 {
	if document == 0 {
		return 0
	}
	return p.order[document-1].end
}

// locate returns the file of a token of all files, and the token's number there.
func (p *permuted) locate(token int64) (file int32, first int64) {
	i := sort.Search(len(p.bases), func(i int) bool { return p.bases[i] > token }) - 1
	return int32(i), token - p.bases[i]
}

// each calls add with the documents in their order.
func (p *permuted) each(add addDocument) error {
	for k, d := range p.order {
		file, first := p.locate(d.first)
		add(file, first, first+d.end-p.begin(int64(k)))
	}
	return nil
}

func (p *permuted) sequences() int64 {
	return (p.order[len(p.order)-1].end + p.length - 1) / p.length
}

func (p *permuted) part(index int64, at place) (part, place) {
	token, k := index*p.length+at.tokens, at.document
	if at == (place{}) {
		k = int64(sort.Search(len(p.order), func(i int) bool { return p.order[i].end > token }))
	}
	if at.tokens == p.length || k == int64(len(p.order)) {
		return part{}, at
	}
	d := p.order[k]
	n := min(d.end-token, p.length-at.tokens)
	file, first := p.locate(d.first + token - p.begin(k))
	return part{first: first, file: file, n: int32(n), whole: true, goesOn: token+n < d.end}, place{tokens: at.tokens + n, document: k + 1}
}
