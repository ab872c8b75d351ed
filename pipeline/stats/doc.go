// Package stats says what a run of a pipeline did, and what bounds it: counts and times
// ([Run]), the verdict on them ([Run.Verdict]), memory by operator ([Memory]), what happens
// and when ([Events]), and their forms for people and for Prometheus. A [Tuner] decides on
// the number of workers and the prefetch depth by them.
//
// The figures are plain values. Nothing in this package runs, waits or locks; package
// pipeline counts. Options and Autotune are those of package pipeline.
package stats
