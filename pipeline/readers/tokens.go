package readers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// TokensOptions configures [Tokens]. Files and Length must be given.
type TokensOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	// Files hold the tokens. One that ends in .idx is an index of Megatron-LM, whose tokens
	// are in the file of the same name that ends in .bin. Others are flat: tokens one after
	// the other, little-endian.
	Files []string
	// Bits of a token in flat files, 16 (default) or 32.
	Bits int
	// End is the token that ends each document of flat files, if HasEnd says so. Without it a flat file is
	// one document.
	End    int32
	HasEnd bool

	// Length is the number of tokens of a sequence.
	Length int
	// Pack puts whole documents into sequences, as many as fit. Documents that are longer than
	// a sequence are cut. Of so many documents at a time the longest is placed first, each
	// in the sequence that it fills best (best fit, decreasing). 0 cuts files every Length tokens, across documents.
	Pack int
	// PermuteDocuments puts the documents of all files into a random order, which DocumentSeed selects, before they
	// are cut or packed: neighbours in a sequence are then of all files. The order is the same in every epoch, so that a sample is the
	// same sequence whenever it comes; Shuffle is the order of sequences. Nothing of a file is moved, but a sequence is
	// read in as many pieces as it has documents.
	PermuteDocuments bool
	DocumentSeed     uint64 // the pipeline's seed has no say, so that a Split holds out the same documents' parts in all runs
	// KeepDocuments keeps where the documents of a flat file end in a file beside it, of the same name with
	// ".documents" behind, so that all tokens are looked at once and not at every start. It needs End, and Pack or PermuteDocuments.
	// The file is made again where it is damaged, not newer than the tokens, or of tokens of another
	// size, time or End.
	KeepDocuments bool
	// Pad is the token of places that have none.
	Pad int32

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order of sequences in every epoch

	Split pipeline.Split // the part of the sequences to read; default all

	// Follow names the reader whose order this one takes; see [pipeline.ReaderOptions].
	Follow string
}

// TokenValues are what [Tokens] reads, each int32 with Length elements.
type TokenValues struct {
	Tokens pipeline.Value
	// Targets are the next tokens of the same document; -1 at the end of a document, where
	// there is nothing to predict.
	Targets pipeline.Value
	// Documents count the documents of a sequence from 0 on, for masks that do not cross
	// them; -1 at places without a token, which are the last ones.
	Documents pipeline.Value
	// Positions count the tokens of a document within the sequence from 0 on.
	Positions pipeline.Value
}

// Tokens reads sequences of tokens for language models. Every token of the files comes once
// in an epoch, whatever the number of ranks; the last sequence of a file, or with Pack any
// sequence, may have places without a token.
//
// Flat files that are cut as they are start at once, whatever their size; an index is read when the
// reader is added, and so are flat files with End and Pack or PermuteDocuments, as their documents must be known (KeepDocuments). It keeps 8
// bytes a document of an index, with PermuteDocuments 16 bytes a document, and with Pack 24 bytes a part. Files are mapped
// into memory where the system can (so the pages of them that are read count as resident memory), and else read with one call for a sequence, or for
// each part of one: they stay in the system's page cache, and one that is cut short while it is read is an error of its
// samples. The fingerprint is one of the sizes, the documents, and the first and last 64 KiB of each file.
//
// A file that is not sound is a *[FormatError] with the place in the file.
func Tokens(g *pipeline.Graph, o TokensOptions) (v TokenValues) {
	if g.Err() != nil {
		return v
	}
	src, err := newTokenSource(&o)
	if err != nil {
		fail(g, "readers.Tokens", o.Name, err)
		return v
	}
	all := g.Read(pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	}, src)
	return TokenValues{all[0], all[1], all[2], all[3]}
}

// maxSequence bounds the length of a sequence.
const maxSequence = 1 << 24

// tokenSource is the data set of sequences.
type tokenSource struct {
	name   string
	length int
	pad    int32
	files  []*tokenFile
	layout layout
	print  uint64
	pool   sync.Pool // of buffers for Length+1 tokens
}

// tokenValues are the places of a sequence, or of a part of one: tokens, targets, documents and
// positions, by the number of the output. One that nobody wants is nil, but not the tokens.
type tokenValues [4][]int32

// cut returns the values of places.
func (v *tokenValues) cut(first, end int) (part tokenValues) {
	for i, all := range v {
		if all != nil {
			part[i] = all[first:end:end]
		}
	}
	return part
}

func newTokenSource(o *TokensOptions) (*tokenSource, error) {
	switch {
	case len(o.Files) == 0:
		return nil, errors.New("Files is empty; name the files of the tokens, such as \"train.bin\" or Megatron's \"train.idx\"")
	case o.Length < 1 || o.Length > maxSequence:
		return nil, fmt.Errorf("Length is %d; it must be the tokens of a sequence, 1 to %d", o.Length, maxSequence)
	case o.Bits != 0 && o.Bits != 16 && o.Bits != 32:
		return nil, fmt.Errorf("Bits is %d; tokens of flat files have 16 or 32", o.Bits)
	case o.Pack < 0:
		return nil, fmt.Errorf("Pack is %d; it must be the number of documents that are packed together, or 0", o.Pack)
	case o.End != 0 && !o.HasEnd:
		return nil, fmt.Errorf("End is %d, but HasEnd is false; set HasEnd as well", o.End)
	case o.DocumentSeed != 0 && !o.PermuteDocuments:
		return nil, fmt.Errorf("DocumentSeed is %d, but PermuteDocuments is false; set PermuteDocuments as well", o.DocumentSeed)
	case o.KeepDocuments && (o.Pack == 0 && !o.PermuteDocuments || !o.HasEnd):
		return nil, errors.New("KeepDocuments is set without HasEnd, or without Pack and PermuteDocuments; it is for flat files with an End whose documents must be known, leave it out for others")
	}
	s := &tokenSource{name: o.Name, length: o.Length, pad: o.Pad}
	size := 4 * (o.Length + 1)
	s.pool.New = func() any { b := make([]byte, size); return &b }
	counts := make([]int32, o.Length)
	for i := range counts {
		counts[i] = int32(i)
	}
	for _, path := range o.Files {
		f, err := openTokens(path, o)
		if err != nil {
			s.close()
			return nil, err
		}
		f.counts = counts
		s.files = append(s.files, f)
	}
	if err := s.plan(o); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *tokenSource) close() {
	for _, f := range s.files {
		f.close()
	}
}

// plan finds the sequences, and the fingerprint.
func (s *tokenSource) plan(o *TokensOptions) error {
	h := sha256.New()
	fmt.Fprintln(h, o.Length, o.Pack, o.HasEnd, o.End)
	if o.PermuteDocuments {
		fmt.Fprintln(h, "permuted", o.DocumentSeed)
	}
	for _, f := range s.files {
		if err := f.hash(h); err != nil {
			return err
		}
	}
	s.print = binary.LittleEndian.Uint64(h.Sum(nil))
	var err error
	s.layout, err = newLayout(s.files, o)
	return err
}

// Len implements datum.Source.
func (s *tokenSource) Len() int64 { return s.layout.sequences() }

// Outputs implements datum.Source.
func (s *tokenSource) Outputs() []datum.Spec {
	return slices.Repeat([]datum.Spec{{DType: datum.Int32, Shape: []int{s.length}}}, 4)
}

// Meta implements datum.Source.
func (s *tokenSource) Meta() datum.Meta { return datum.Meta{Fingerprint: s.print} }

// Describe implements datum.Source.
func (s *tokenSource) Describe(index int64) string {
	p, _ := s.layout.part(index, place{})
	return fmt.Sprintf("%s: tokens from %d on", shown(s.files[p.file].path), p.first)
}

// Read implements datum.Source.
func (s *tokenSource) Read(_ context.Context, index int64, out []*datum.Tensor) error {
	var to tokenValues
	for i := range to {
		if _, err := out[i].Resize(s.length); err != nil {
			return err
		}
		to[i] = out[i].Int32s()
	}
	buffer := s.pool.Get().(*[]byte)
	defer s.pool.Put(buffer)
	var end mappedEnd
	first, next := s.layout.part(index, place{})
	if err := s.sequence(index, first, next, &to, *buffer, &end, true); err != nil {
		return err
	}
	return end.intact(s.files)
}

// sequence makes a sequence, whose first part is known, and where the next one is found. Unless guarded,
// memory that faults panics.
func (s *tokenSource) sequence(index int64, p part, next place, to *tokenValues, buffer []byte, end *mappedEnd, guarded bool) error {
	at, document := 0, int32(0)
	for p.n > 0 {
		f, into := s.files[p.file], to.cut(at, at+int(p.n))
		var zero int64
		var err error
		if guarded {
			document, zero, err = f.guarded(p, &into, document, buffer)
		} else {
			document, zero, err = f.read(p, &into, document, buffer)
		}
		if err == nil {
			err = end.note(s.files, p.file, zero)
		}
		if err != nil {
			return err
		}
		if at += int(p.n); at == s.length {
			return nil
		}
		p, next = s.layout.part(index, next)
	}
	for i, nothing := range [...]int32{s.pad, -1, -1, 0} {
		if to[i] != nil {
			fill(to[i][at:], nothing)
		}
	}
	return nil
}

// fill sets all of to.
func fill(to []int32, x int32) {
	if x == 0 || len(to) == 0 {
		clear(to)
		return
	}
	to[0] = x
	for n := 1; n < len(to); n *= 2 { // doubling what is there
		copy(to[n:], to[:n])
	}
}
