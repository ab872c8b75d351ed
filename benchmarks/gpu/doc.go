// Package gpu judges streams/cuda, device pipelines and Gorgonia on a GPU, in one table with
// a verdict for each line (package verdict has the lines): kernels by name against the
// host's functions; a thousand training steps of a dense layer and of a convolutional net
// against plain Go; batches that RunAll uploads, and how long it waits for data; uploads
// against a plain page-locked copy, and how much of them computing hides; the normalise
// kernel against the bandwidth of the memory; whether anything grows in a thousand steps;
// images per second of pipelines and of trainings that decode on the host and on the GPU;
// states resumed on another device. Beside the table it answers what a driver does that
// its documentation leaves open.
//
// No figures of a GPU have been recorded yet. GPU machines are often bare, so run.sh
// builds the tests here and runs the binaries there:
//
//	benchmarks/gpu/run.sh build DIR   # where there is Go; no C compiler is needed
//	DIR/run.sh run RESULTS            # on the machine with the GPU, which needs only the driver
//
// The build adds Gorgonia's lines where CGO_CFLAGS names CUDA's headers. On a GPU a line whose
// goal is missed fails. RESULTS/summary.txt has the table and what is printed beside it;
// kernels-*.txt have every kernel by name, *.log what everything printed, and there are
// timelines for https://ui.perfetto.dev. The steps take 200 seconds each at the most, and
// the results of one do not depend on the others.
//
// With PLANKTON_FAKE=1 everything runs on the fake driver: what is right or wrong is judged
// there, too, with fewer steps; lines whose answer is a time are not run.
package gpu
