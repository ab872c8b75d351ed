// Package stats says what a run of a pipeline did, and what bounds it.
//
//   - [Run] holds counts and times, and [Run.Verdict] judges them.
//   - [Memory] holds the memory that each operator has needed.
//   - [Events] are functions that a pipeline calls when something happens.
//   - [WritePrometheus] writes counts for Prometheus; the String methods write for people.
//   - A [Tuner] decides on the number of workers and the prefetch depth.
//
// Nothing in this package counts, runs, waits or locks: package pipeline counts, and hands
// out plain values. Where the documentation names Options and Autotune, they are those of
// package pipeline.
package stats
