// Package gpu measures streams/cuda and device pipelines on a GPU: uploads against a
// plain page-locked copy, the normalise kernel against the bandwidth of the memory,
// how much of the uploads computing hides, images per second with and without the
// GPU, whether anything grows in a thousand steps, and what a driver does that its
// documentation leaves open.
//
// No figures of a GPU have been recorded yet. GPU machines are often bare, so run.sh
// builds the tests here and runs the binaries there:
//
//	benchmarks/gpu/run.sh build DIR   # where there is Go; no C compiler is needed
//	DIR/run.sh run RESULTS            # on the machine with the GPU, which needs only the driver
//
// The build adds a run of Gorgonia itself where CGO_CFLAGS names CUDA's headers. Every
// measurement with a target prints a line that begins with "verdict:" and says whether
// it is met, and by how much; on a GPU one that is missed fails. What only a GPU can
// answer is printed as "question:". RESULTS/summary.txt has these lines; beside it are
// what everything printed, and timelines for https://ui.perfetto.dev. The steps take
// four minutes each at the most, and the results of one do not depend on the others.
//
// With PLANKTON_FAKE=1 everything runs on the fake driver: that the measurements
// work, not what they measure.
package gpu
