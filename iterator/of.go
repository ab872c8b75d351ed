package iterator

import (
	"iter"

	"github.com/planktonml/plankton/pipeline"
)

// Of defines a pipeline and makes a loader of it: pipeline.New and [New] in one. The loader owns the pipeline, which
// Loader.Pipelines returns. The error is that of either.
func Of(o Options, of pipeline.Options, define func(*pipeline.Graph)) (*Loader, error) {
	p, err := pipeline.New(of, define)
	if err != nil {
		return nil, err
	}
	return New(o, p)
}

// Must returns v, and panics with the error if there is one: for programs that end where something is wrong, as in
//
//	loader := iterator.Must(iterator.Of(iterator.Options{}, pipeline.Options{BatchSize: 64}, define))
//
// What is deferred runs.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// MustEach is Must for loops: it yields the batches of Loader.Epochs, or of a feed, without their errors, and panics
// with the error that ends the loop.
//
//	for b := range iterator.MustEach(loader.Epochs(ctx, 5)) { … }
func MustEach[B any](batches iter.Seq2[B, error]) iter.Seq[B] {
	return func(yield func(B) bool) {
		for b, err := range batches {
			if err != nil {
				panic(err)
			}
			if !yield(b) {
				return
			}
		}
	}
}
