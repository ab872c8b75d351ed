package run

import "github.com/planktonml/plankton/pipeline/datum"

// Feed says which samples a run of a pipeline reads.
type Feed interface {
	// Locate returns the place of batch seq, counted from 0 since the run
	// began; false when there is no such batch. It is asked for one batch after
	// the other.
	Locate(seq int64) (epoch, step int64, ok bool)
	// AppendBatch appends to dst the samples that the rows of a batch read from
	// the reader at the given position of Pipeline.Readers, row by row; rows that
	// get none are not valid. It is asked when the batch begins, after Locate,
	// and not for sequences and readers that follow another one.
	AppendBatch(dst []int64, reader int, epoch, step int64) []int64
}

// MixFeed is the Feed of a pipeline in which a sample may come several times in an epoch:
// one whose first reader is a Graph.Mix, or goes by a plan that repeats samples.
type MixFeed interface {
	Feed
	// AppendEpochs appends, for the rows of AppendBatch for the first reader, the
	// visit of each sample, in a mix the epoch that the sample is in of its source. Samples
	// that come several times in an epoch of the pipeline are told apart by it. It is asked
	// after AppendBatch.
	AppendEpochs(dst []int64, epoch, step int64) []int64
}

// FedSequence is a Sequence of what the program hands in, batch by batch, such as
// dali.Input makes. It ends where nothing was handed in yet, which a Feed that knows nothing
// of it would take for the end of the epoch. So NewRunner asks it first.
type FedSequence interface {
	datum.Sequence
	// Admit returns an error if feed does not go by what was handed in.
	Admit(feed Feed) error
}
