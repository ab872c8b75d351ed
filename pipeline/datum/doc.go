// Package datum is the vocabulary of pipelines: what an author of an operator or a reader
// needs, and nothing that runs.
//
//   - A [Tensor] is one sample's data at one place of a pipeline, of a [DType], a [Layout]
//     and a shape; a [Spec] is what is known of it beforehand.
//   - A [Kernel] does an operator's work for one sample at a time: it reads tensors and
//     writes others. A [Sample] is what it may know of the sample, and a [Random] where it
//     takes random numbers from, so that a sample looks the same whoever makes it.
//   - A [Source] is a data set that can be read in any order, a [Sequence] one that can only
//     be read from its beginning. A Source may be [Named], a [Prefetcher] or a [Toucher] as
//     well.
//
// Package pipeline puts operators and readers into a graph and runs them. A kernel can
// also be run by itself, as in a test: declare the tensors, fill the inputs, call
// [Begin] for the outputs, run the kernel, and ask [Unwritten] whether it has done its
// part. Tensors have their memory from Go's heap then, and belong to whoever made them.
package datum
