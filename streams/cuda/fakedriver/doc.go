// Package fakedriver builds a CUDA driver that works on host memory, for tests
// on machines without a GPU. Its streams are asynchronous, with a thread each and
// random delays. It is strict: calls without a current context, stale handles,
// writes beyond memory and memory that is used after it was freed are reported,
// what the host reads of device memory faults, memory ends with its context, and
// nothing works any more after a kernel that failed. Vector clocks find accesses
// that no stream, event or wait of the host orders, whatever the interleaving was
// (Mattern 1988). The kernels are those of packages kernels and elementwise, compiled for
// the host.
//
// Beside the driver it has an nvJPEG that decodes what tests declare, and a cuBLAS that
// multiplies matrices. Programs that are linked to libcuda, as those with Gorgonia's
// build tag cuda are, can be linked to the fake: libs/build makes it, with a cuDNN that
// convolves. Open then returns the one in the program.
//
// It needs Linux and a C compiler, $CC or cc.
package fakedriver
