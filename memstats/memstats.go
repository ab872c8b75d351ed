// Package memstats manages the memory of pipelines: it allocates buffers, uses them again
// from batch to batch, lets them grow and shrink by rules, counts what is held, and asks
// before more is taken. The counts gave the package its name; it has nothing to do with
// runtime.MemStats.
//
//   - A [Pool] hands out memory of one [Kind] (the host's, page-locked, a device's) from an
//     [Allocator], and counts it ([Pool.Stats]). Every piece begins on a 64-byte boundary,
//     which vector instructions and cache lines like.
//   - A [Buffer] is a piece of a pool's memory that follows the sizes it is asked for.
//   - [Rules] say by how much a buffer grows, and when it shrinks.
//   - A [Gate] is asked before a pool takes memory. A [Budget] is one that refuses what would
//     exceed a number of bytes.
//   - [MachineMemory] is how much the process can have, and [Room] refuses what is more.
//
// # Growing and shrinking
//
// A buffer grows when it is too small, by a factor beyond what is asked for if
// the Rules say so. Page-locked and device memory never shrinks, since giving it
// back makes the whole device wait: a pool keeps it for whoever asks next, and gives
// idle blocks back only when its gate or its allocator refuses more. Host memory
// may shrink, but not request by request: samples differ in size, and a buffer that
// followed each of them would allocate for each. Its user calls Buffer.Fit when it knows what is enough, such
// as the largest sample of many; the buffer is given up if that is below the shrink
// threshold. One that was presized (Buffer.Reserve) keeps that size.
//
// # Environment
//
// RulesFromEnv reads the rules from PLANKTON_HOST_BUFFER_SHRINK_THRESHOLD,
// PLANKTON_BUFFER_GROWTH_FACTOR, PLANKTON_HOST_BUFFER_GROWTH_FACTOR and
// PLANKTON_DEVICE_BUFFER_GROWTH_FACTOR, and from the same names of NVIDIA DALI
// with DALI_ in front, which come second.
//
// A Pool may be used by any number of goroutines, a Buffer by one at a time.
package memstats

// Align is the alignment of every piece of memory, in bytes.
const Align = 64
