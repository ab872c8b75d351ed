// Package imaging holds the arithmetic of pictures and small arrays: resampling, crops, flips, normalisation,
// casts and one-hot rows. It does no I/O, starts no goroutine and knows nothing of pipelines; of their vocabulary it
// takes the types of elements.
//
// Two families of functions live here. The array operators ([Slice], [Flip], [Transpose], [Cast], [OneHot],
// [Normalizer.Apply], [CropMirrorNormalizer.Apply], [Resampler.Resize]) take untyped bytes with a [datum.DType] and follow the
// conventions of the NVIDIA DALI operators of the same names: integer results agree within 1, floating-point results
// within 1e-4. The fused training path ([Resampler.ResizeYCbCr], [Resampler.ResizeBytes]) goes from decoded planes or
// interleaved bytes to the finished row of a batch and touches the destination once.
//
// Arrays are dense and row-major, in the byte order of the machine and aligned for their elements. The kernels that
// dominate have AVX2 versions, chosen at run time, NEON versions for arm64 but for colour matrices, and plain Go twins
// for other processors and for the build tag noasm.
// A kernel and its twin perform the same float32 operations in the same order, without fused multiply-add, so that
// results are equal bit for bit.
package imaging
