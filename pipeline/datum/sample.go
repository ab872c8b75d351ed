package datum

import "context"

// Sample is what a kernel may know of the sample that it works on. It is valid during
// Kernel.Run.
type Sample struct {
	host  Host // nil for a sample without a pipeline
	ctx   context.Context
	epoch int64
	id    int64 // in the first reader, as in Batch.IDs
	key   uint64
}

// Context ends when the work is no longer wanted; long kernels look at it.
func (s *Sample) Context() context.Context { return s.ctx }

// Epoch returns the number of the epoch, from 0. In a mix of sources (pipeline.Graph.Mix)
// it is the epoch of the sample's source.
func (s *Sample) Epoch() int64 { return s.epoch }

// Index returns the place of the sample in the whole data set of the pipeline's first
// reader, from 0. By it a program can look up what it keeps for every sample.
//
// Where a pipeline.Split shows a part of the data set, Index counts in the whole, while
// pipeline.Batch.IDs counts in the part; pipeline.Reader.WholeIndex turns an id into an
// index. In a mix of sources the whole is all sources, one behind the other.
func (s *Sample) Index() int64 {
	if s.host == nil {
		return s.id
	}
	return s.host.WholeIndex(s.id)
}

// Reserve says that the kernel is about to hold n bytes in all beside the tensors, from
// now on and for later samples as well. The bytes count as the pipeline's memory. Under a
// memory budget Reserve waits until they fit; more than the machine has is an error. Where
// it returns an error, the kernel must allocate nothing, and return the error from Run. A
// kernel that reserves memory must be a Releaser.
func (s *Sample) Reserve(n int64) error {
	if s.host == nil {
		return nil
	}
	return s.host.Reserve(n)
}

// Warn says that something is amiss with the sample, which the kernel makes all the same.
// If the sample becomes a row of a batch, the statistics count and name it, and listeners
// are told; if an operator fails, its error alone counts.
func (s *Sample) Warn(err error) {
	if s.host != nil {
		s.host.Warn(err)
	}
}

// Host is what a Sample asks of whoever runs the kernel. Each method does what the one of
// the same name does in Sample; WholeIndex is Index.
type Host interface {
	Reserve(n int64) error
	Warn(err error)
	WholeIndex(id int64) int64
}

// NewSample names sample id of an epoch to a kernel. A nil host counts no memory, drops
// warnings, and takes the id for the index.
func NewSample(ctx context.Context, host Host, seed uint64, epoch, id int64) Sample {
	return Sample{host: host, ctx: ctx, epoch: epoch, id: id, key: sampleKey(seed, epoch, id)}
}

// Within returns s as iteration n of a loop around the kernel sees it: the random numbers
// are those of the iteration.
func Within(s *Sample, n uint64) Sample {
	in := *s
	in.key = hash64(s.key ^ n*golden)
	return in
}
