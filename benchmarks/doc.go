// Package benchmarks measures plankton beside what Go programs do today, in one
// run:
//
//	PLANKTON_DATA=/path/to/data go test -run '^$' -bench . ./benchmarks
//
// The folder holds imagenet-sample (JPEG files) and mnist (IDX files); what is
// missing is skipped. Every benchmark reports images/s and allocations; those
// named Loop are hand-written loops without plankton.
package benchmarks
