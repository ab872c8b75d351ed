// Package run runs compiled pipelines: workers that make rows, flights that hold batches,
// the memory of both, what is counted, and the Runner that an iterator takes batches from.
//
// It reads a compiled.Pipeline, which never changes, and knows nothing of how that was
// defined. Names such as Options.MemoryBudget in the comments are those of package
// pipeline, where the options are documented. docs/running.md says who runs what.
package run
