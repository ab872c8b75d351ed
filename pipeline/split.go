package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// Split makes a reader show a part of its data set: what is held out of training to
// validate with, or the rest.
//
// The data set is cut at random into Folds parts, whose sizes differ by one at most.
// Fold is the part that is held out; a reader with Holdout shows that part, one
// without shows all the others. Which samples are in which part depends on the number
// of samples, Folds and Seed alone, so two readers of the same data that differ in
// Holdout share the samples between them, in any process and at any time. Folds
// readers with one Fold each make a cross-validation.
//
// A part is a data set of its own: it has its own length, Batch.IDs numbers its samples
// from 0, and it is shuffled and cut into shards like a whole one. datum.Sample.Index is the
// index in the whole, and so are the classes those of the whole. The parts of a data set have fingerprints of their own, so a stored
// state is not taken up with another part.
type Split struct {
	Folds   int    // parts that the data set is cut into, at least 2; 0 shows the whole
	Fold    int    // the part that is held out, 0 … Folds-1
	Holdout bool   // show the part that is held out; by default all others
	Seed    uint64 // of the choice of parts; that of the pipeline has no say

	// Strata are the classes of the samples, from shard.NewStrata: every part has its share
	// of each class, to within one sample, and the sizes of parts differ by one at most. It
	// takes 8 bytes a sample. Nil: parts are cut whatever the classes.
	Strata *shard.Strata
	// Stratified takes the Strata from the labels of the data set itself, in their place.
	Stratified bool
}

// apply returns the source of a part of src.
func (s Split) apply(src datum.Source) (datum.Source, error) {
	n := src.Len()
	switch {
	case s == Split{}:
		return src, nil
	case s.Folds == 0:
		return nil, errors.New("Split has no Folds; say how many parts there are, or leave it out")
	case s.Folds < 2:
		return nil, fmt.Errorf("Split.Folds is %d; it must be at least 2", s.Folds)
	case s.Fold < 0 || s.Fold >= s.Folds:
		return nil, fmt.Errorf("Split.Fold is %d; with %d folds it must be 0 … %d", s.Fold, s.Folds, s.Folds-1)
	case int64(s.Folds) > n:
		return nil, fmt.Errorf("Split.Folds is %d, but there are only %d samples", s.Folds, n)
	case s.Stratified && s.Strata != nil:
		return nil, errors.New("Split has Strata and is Stratified; leave one of the two out")
	case s.Strata != nil && s.Strata.Len() != n:
		return nil, fmt.Errorf("Split.Strata has labels of %d samples, but there are %d; give one for each sample of the whole data set", s.Strata.Len(), n)
	case n > shard.MaxSamples:
		return nil, fmt.Errorf("the data set has %d samples; at most %d can be split", n, int64(shard.MaxSamples))
	}
	if s.Stratified {
		labels, err := labelsOf(src)
		if err != nil {
			return nil, fmt.Errorf("Split.Stratified: %w", err)
		}
		s.Strata = shard.NewStrata(labels)
	}
	p := &splitSource{Source: src, split: s, order: shard.NewPermutation(n, s.Seed)}
	p.prefetcher, _ = src.(datum.Prefetcher)
	p.toucher, _ = src.(datum.Toucher)
	p.gatherer, _ = src.(datum.Gatherer)
	each, more := n/int64(s.Folds), n%int64(s.Folds)
	p.first, p.held = int64(s.Fold)*each+min(int64(s.Fold), more), each
	if int64(s.Fold) < more {
		p.held++
	}
	if s.Strata != nil {
		p.strata = s.Strata.Shuffled(s.Seed)
	}
	return p, nil
}

// splitSource is a part of a data set. The parts lie one after the other in a random
// order of the whole; with Strata they take turns in an order of class by class.
type splitSource struct {
	datum.Source
	prefetcher datum.Prefetcher // the source, if it is one
	toucher    datum.Toucher    // likewise
	gatherer   datum.Gatherer   // likewise

	split       Split
	order       shard.Permutation
	first, held int64   // place and length of the part that is held out
	strata      []int64 // the order of the whole, with Strata
}

// whole returns the index of a sample in the whole data set.
func (p *splitSource) whole(index int64) int64 {
	if p.strata != nil {
		return p.strata[p.turn(index)]
	}
	switch {
	case p.split.Holdout:
		index += p.first
	case index >= p.first: // behind the part that is left out
		index += p.held
	}
	return p.order.At(index)
}

// turn returns the place in an order that the parts share by turns.
func (p *splitSource) turn(index int64) int64 {
	folds, fold := int64(p.split.Folds), int64(p.split.Fold)
	if p.split.Holdout {
		return index*folds + fold
	}
	others := folds - 1
	place := index/others*folds + index%others
	if index%others >= fold {
		place++
	}
	return place
}

func (p *splitSource) wholeLen() int64 { return p.order.Len() }

func (p *splitSource) Len() int64 {
	if p.split.Holdout {
		return p.held
	}
	return p.order.Len() - p.held
}

func (p *splitSource) Meta() datum.Meta {
	m := p.Source.Meta()
	kind := uint64(0)
	if p.split.Holdout {
		kind = 1
	}
	for _, x := range [...]uint64{uint64(p.split.Folds), uint64(p.split.Fold), kind, p.split.Seed} {
		m.Fingerprint = fold(m.Fingerprint, x)
	}
	if p.strata != nil {
		m.Fingerprint = fold(m.Fingerprint, p.split.Strata.Fingerprint())
	}
	return m
}

func (p *splitSource) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	return p.Source.Read(ctx, p.whole(index), out)
}

func (p *splitSource) Describe(index int64) string { return p.Source.Describe(p.whole(index)) }

// EntryName implements datum.Listed.
func (p *splitSource) EntryName(index int64) string {
	return datum.EntryOf(p.Source, p.whole(index)).Name
}

// Label implements datum.Labelled.
func (p *splitSource) Label(index int64) (int32, bool) {
	label := datum.EntryOf(p.Source, p.whole(index)).Label
	return int32(label), label != datum.NoLabel
}

// Prefetch implements datum.Prefetcher.
func (p *splitSource) Prefetch(ctx context.Context, index int64) bool {
	return p.prefetcher != nil && p.prefetcher.Prefetch(ctx, p.whole(index))
}

// ReadAhead implements datum.Prefetcher.
func (p *splitSource) ReadAhead() int {
	if p.prefetcher == nil {
		return 0
	}
	return p.prefetcher.ReadAhead()
}

// Storage implements datum.Stored.
func (p *splitSource) Storage() []datum.Storage { return datum.StorageOf(p.Source) }

// Gathers implements datum.Gatherer.
func (p *splitSource) Gathers() bool { return p.gatherer != nil && p.gatherer.Gathers() }

// Gather implements datum.Gatherer.
func (p *splitSource) Gather(index []int64, out []datum.Rows) bool {
	for i, x := range index {
		index[i] = p.whole(x)
	}
	return p.gatherer.Gather(index, out)
}

// Touch implements datum.Toucher.
func (p *splitSource) Touch(index int64) {
	if p.toucher != nil {
		p.toucher.Touch(p.whole(index))
	}
}

// WholeIndex returns the index that a sample of the reader, as Batch.IDs has it, has in
// the data set as a whole, of which a Split shows a part: that of datum.Sample.Index. Without a
// Split they are the same. The whole of a mix are its sources, one after the other,
// without their Splits.
func (r *Reader) WholeIndex(id int64) int64 { return wholeIndex(r.Source, id) }

// ColumnOf returns the values of the samples of a reader, in the order of their ids, out of
// those that a program keeps for the whole data set, such as weights, labels or lengths for
// a shard.Sampler: a Split shows a part of the data set. It fails if whole has not one value
// for each sample of the whole.
func ColumnOf[T any](r *Reader, whole []T) ([]T, error) {
	if r.Source == nil {
		return nil, fmt.Errorf("pipeline: reader %q is a sequence, which has no length; columns need a Source", r.Name)
	}
	if n := wholeLen(r.Source); int64(len(whole)) != n {
		return nil, fmt.Errorf("pipeline: the column has %d values, but the data set of reader %q has %d samples; give one for each", len(whole), r.Name, n)
	}
	column := make([]T, r.Len())
	for id := range column {
		column[id] = whole[r.WholeIndex(int64(id))]
	}
	return column, nil
}

// partial is a source that shows parts of data sets.
type partial interface {
	whole(index int64) int64 // the index of a sample in the whole
	wholeLen() int64         // the length of the whole
}

func wholeIndex(src datum.Source, index int64) int64 {
	if p, ok := src.(partial); ok {
		return p.whole(index)
	}
	return index
}

func wholeLen(src datum.Source) int64 {
	if p, ok := src.(partial); ok {
		return p.wholeLen()
	}
	return src.Len()
}
