// Package datum is the vocabulary of pipelines: what an author of an operator or a reader
// needs. Nothing in it runs; package pipeline puts operators and readers into a graph and
// runs them.
//
// # Operators
//
// A [Kernel] does the work of an operator for one sample at a time: it reads tensors and
// writes others. A [Tensor] is the data of one sample at one place of a pipeline: elements
// of a [DType], a shape, and a [Layout], which names the dimensions. A [Spec] is what is
// known of a tensor when the pipeline is built.
//
// A [Sample] is what a kernel may know of the sample at hand. A kernel takes its random
// numbers from a [Random], so that a sample looks the same whoever makes it. A kernel that
// holds memory of its own is a [Releaser]. One whose result depends on the inputs alone can be
// a [RowsKernel], which works on many samples by one call.
//
// # Readers
//
// A [Source] is a data set that can be read in any order, a [Sequence] one that can only be
// read from its beginning. A Source can also be [Named], so that it can be paired with
// another one, a [Prefetcher], which brings files nearer before they are read, a
// [Toucher], which does the same for memory, a [Gatherer], which copies many samples by one
// call, or [Stored], which tells statistics where its
// samples lie.
//
// # Running a kernel
//
// The rest is for whoever runs kernels and readers: package pipeline, and a test that runs
// a kernel by itself. Such a test declares tensors ([Tensor.Declare]), fills the inputs, calls
// [Begin] for the outputs and [NewSample] for the sample, runs the kernel, and asks
// [Unwritten] whether all outputs were written; see the example of [Kernel]. The tensors
// have their memory from Go's heap then. A [Cell] is a tensor whose memory comes from
// elsewhere. Authors of operators and readers need none of this.
package datum
