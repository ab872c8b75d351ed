package datum

import "context"

// Sample is what a kernel may know of the sample it works on. It is valid
// during Run.
type Sample struct {
	host  Host // nil for a sample without a pipeline
	ctx   context.Context
	epoch int64
	id    int64 // in the first reader, as in Batch.IDs
	key   uint64
}

// Host is what a Sample asks of whoever runs the kernel. What the methods mean stands at
// those of Sample.
type Host interface {
	Reserve(n int64) error
	Warn(err error)
	WholeIndex(id int64) int64
}

// NewSample names sample id of an epoch to a kernel. A nil host counts no memory, drops
// warnings, and takes id for the index.
func NewSample(ctx context.Context, host Host, seed uint64, epoch, id int64) Sample {
	return Sample{host: host, ctx: ctx, epoch: epoch, id: id, key: sampleKey(seed, epoch, id)}
}

// Within returns the sample as iteration n of a loop around the kernel sees it, with
// random numbers of its own.
func (c *Sample) Within(n uint64) Sample {
	in := *c
	in.key = mix(c.key ^ n*golden)
	return in
}

// Context ends when the work is no longer wanted; long kernels look at it.
func (c *Sample) Context() context.Context { return c.ctx }

// Epoch returns the number of the epoch, from 0; in a mix of sources (pipeline.Graph.Mix)
// the epoch of the sample's source.
func (c *Sample) Epoch() int64 { return c.epoch }

// Index returns the sample's index in the whole data set of the pipeline's first reader, so
// that a program can look up by it what it keeps for every sample. Where a pipeline.Split
// shows a part of the data set, Index still counts in the whole, and pipeline.Batch.IDs
// counts in the part; pipeline.Reader.WholeIndex turns such an id into an index. In a mix of
// sources (pipeline.Graph.Mix) the whole are all sources, one after the other.
func (c *Sample) Index() int64 {
	if c.host == nil {
		return c.id
	}
	return c.host.WholeIndex(c.id)
}

// Reserve says that the kernel is about to hold n bytes in all beside the
// tensors, from now on and beyond this sample. They count as the pipeline's
// memory, and under a memory budget Reserve waits until they fit. Its error is to be
// returned from Run; nothing may be allocated then. More than the machine has is an
// error as well. Kernels that reserve anything must be Releasers.
func (c *Sample) Reserve(n int64) error {
	if c.host == nil {
		return nil
	}
	return c.host.Reserve(n)
}

// Warn says that there is something amiss with a sample which the kernel makes all the
// same. If the sample becomes a row, the statistics count and name it, and listeners are
// told; if an operator fails, its error alone counts.
func (c *Sample) Warn(err error) {
	if c.host != nil {
		c.host.Warn(err)
	}
}
