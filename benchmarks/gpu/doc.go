// Package gpu measures streams/cuda on a GPU: copies against a plain page-locked
// copy, kernels against the bandwidth of the memory, whether copies and kernels
// overlap, and whether anything grows in a thousand steps.
//
// GPU machines are often bare, so run.sh builds the tests here and runs the
// binaries there:
//
//	benchmarks/gpu/run.sh build DIR   # where there is Go; no C compiler is needed
//	DIR/run.sh run RESULTS            # on the machine with the GPU, which needs only the driver
//
// With PLANKTON_FAKE=1 everything runs on the fake driver: that the measurements
// work, not what they measure.
package gpu
