package iterator

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/shard"
)

// Options configures a Loader. The zero value is for pipelines with one reader: exact
// epochs, whose last batch may have fewer valid rows (shard.Partial). An option that would
// have no effect beside the others is an error.
type Options struct {
	// ReaderName names the reader that drives the loader: its size, shards and
	// padding decide the epochs. Default: the only reader there is that does not follow
	// another one. Each other reader of a pipeline reads on through epochs of its own, in
	// an order of its own if it shuffles, so rows of two readers do not belong together
	// unless one follows the other (pipeline.ReaderOptions.Follow). It excludes Size and
	// LastBatchPadded.
	ReaderName string

	// LastBatch says what becomes of samples that do not fill a batch; default
	// shard.Partial.
	LastBatch shard.Policy

	// Partition says how ranks share an epoch; default shard.ByShard.
	Partition shard.Partition

	// ShuffleBlock keeps a shuffled order cheap on media that are fast only in
	// order: blocks of this many consecutive samples come in a random order, and
	// so do the samples of each block. It needs a reader with Shuffle. Default 0:
	// all samples are shuffled.
	ShuffleBlock int64

	// ShuffleGroup mixes the samples of so many blocks, as blocks alone keep what is alike
	// side by side: blocks come in a random order, and the samples of each group of
	// neighbours in it are shuffled as one. A group is read together, and batches are as
	// varied as it is; docs/samplers.md says how large it should be. Blocks are those of
	// ShuffleBlock, or without it the shards of the reader's source (datum.Sharded), such as
	// tar archives and Parquet's row groups. It needs a reader with Shuffle and without
	// StickToShard. Default 0: each block is shuffled within itself.
	ShuffleGroup int64

	// Sampler lists other samples for an epoch than every one once, such as those that
	// shard.Weighted draws; see docs/samplers.md. Its columns have a value for each sample
	// of the reader that drives, by Batch.IDs; pipeline.ColumnOf takes them from those of a
	// whole data set; a sampler can also name a column of the reader, or take the reader's labels (shard.Fed). Random orders need a reader with Shuffle. Default nil: every sample
	// once, or what the reader's Graph.Mix draws.
	Sampler shard.Sampler

	// Groups forms batches of samples of similar length, or of a bounded cost, and shares
	// those of a step among the ranks. It needs Partition shard.ByStep. With a budget the
	// number of steps differs from epoch to epoch, and BatchSize is the largest number of
	// rows. Default nil: batches are stretches of the epoch's order.
	Groups *shard.Groups

	// Mode selects plankton's exact epochs, the default, or those of NVIDIA
	// DALI with their irregularities, shard.DALI. DALI mode takes pipelines with
	// one reader that does not shuffle, and Reset ends no epoch early.
	Mode shard.Mode

	// Size is the number of samples of an epoch over all pipelines of the
	// loader, in place of what the reader says; a negative one is an epoch
	// without end, of one pipeline and with the policy Fill. Only in DALI mode,
	// where it selects the bookkeeping of DALI's iterators with a size: an exact
	// epoch is the reader's, and Loader.Steps takes as many steps as one likes.
	Size int64

	// LastBatchPadded goes with a positive Size. It says that the reader repeats the
	// last sample of its shard at the end instead of going on with other samples.
	LastBatchPadded bool

	// FillLastBatch is the older form of LastBatch: true is shard.Fill and false
	// shard.Partial.
	//
	// Deprecated: use LastBatch.
	FillLastBatch *bool
}

// OptionError is an option that New refuses.
type OptionError struct {
	Field string // of Options, or "pipelines"
	Err   error  // what was given, and what to do
}

func (e *OptionError) Error() string { return fmt.Sprintf("iterator: %s: %v", e.Field, e.Err) }
func (e *OptionError) Unwrap() error { return e.Err }

// String writes the options, as in "reader train, last batch partial".
func (o Options) String() string {
	name := o.ReaderName
	if name == "" {
		name = "(only one)"
	}
	s := fmt.Sprintf("reader %s, last batch %s, partition by %s, mode %s", name, o.LastBatch, o.Partition, o.Mode)
	if o.ShuffleBlock != 0 {
		s += fmt.Sprintf(", shuffled in blocks of %d", o.ShuffleBlock)
	}
	switch {
	case o.ShuffleGroup != 0 && o.ShuffleBlock != 0:
		s += fmt.Sprintf(", %d at a time", o.ShuffleGroup)
	case o.ShuffleGroup != 0:
		s += fmt.Sprintf(", shuffled by %d shards at a time", o.ShuffleGroup)
	}
	if o.Sampler != nil {
		s += fmt.Sprintf(", sampler %T", o.Sampler)
	}
	if g := o.Groups; g != nil {
		s += fmt.Sprintf(", groups of windows of %d, budget %d, padded %t", g.Window, g.Budget, g.Padded)
	}
	if o.Size != 0 {
		s += fmt.Sprintf(", size %d, last batch padded %t", o.Size, o.LastBatchPadded)
	}
	return s
}

// resolve returns the options without those that are other forms of others, or
// an error where two of them contradict each other.
func (o Options) resolve() (Options, error) {
	if o.FillLastBatch != nil {
		policy := shard.Partial
		if *o.FillLastBatch {
			policy = shard.Fill
		}
		if o.LastBatch != policy && o.LastBatch != shard.Partial {
			return o, &OptionError{"FillLastBatch", fmt.Errorf("it is %t and LastBatch is %s; leave FillLastBatch out", *o.FillLastBatch, o.LastBatch)}
		}
		o.LastBatch, o.FillLastBatch = policy, nil
	}
	switch {
	case o.ReaderName != "" && o.Size != 0:
		return o, &OptionError{"Size", fmt.Errorf("it is %d, but reader %q decides the size of epochs; give one of the two", o.Size, o.ReaderName)}
	case o.ReaderName != "" && o.LastBatchPadded:
		return o, &OptionError{"LastBatchPadded", fmt.Errorf("reader %q says whether it pads; leave it out", o.ReaderName)}
	case o.Size != 0 && o.Mode != shard.DALI:
		return o, &OptionError{"Size", fmt.Errorf("it is %d, but in mode %s an epoch has the size of the reader; leave it out and take as many steps as you like from Loader.Steps, or set Mode to shard.DALI", o.Size, o.Mode)}
	case o.LastBatchPadded && o.Size <= 0:
		return o, &OptionError{"LastBatchPadded", errors.New("it belongs to a positive Size; without one the reader's PadLastBatch decides")}
	}
	return o, nil
}
