// Package fakedriver builds a CUDA driver that works on host memory, for tests
// on machines without a GPU. Its streams are asynchronous, with a thread each and
// random delays. It is strict: calls without a current context, stale handles,
// writes beyond memory and memory that is used after it was freed are reported,
// and what the host reads of device memory faults. Vector clocks find accesses
// that no stream, event or wait of the host orders, whatever the interleaving was
// (Mattern 1988). The kernels are those of package kernels, compiled for the host.
//
// It needs Linux and a C compiler, $CC or cc.
package fakedriver
