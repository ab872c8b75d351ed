// Package pipeline builds and runs input pipelines: readers and operators that
// make the batches of a training loop.
//
//	p, err := pipeline.New(pipeline.Options{BatchSize: 64}, func(g *pipeline.Graph) {
//		jpeg, label := readers.File(g, readers.FileOptions{Root: dir, Shuffle: true})
//		img := ops.DecodeImage(g, jpeg, ops.DecodeOptions{})
//		img = ops.Resize(g, img, ops.ResizeOptions{Height: 224, Width: 224})
//		g.Output("image", img)   // uint8 64×224×224×3
//		g.Output("label", label) // int32 64
//	})
//
// The function describes the pipeline: readers (package readers, or a datum.Source of
// one's own; Graph.Mix draws from several), operators (package ops, or Graph.Add),
// and outputs. Types, layouts and shapes are checked by New, whose error names the
// operator at fault. A Pipeline is then given to a loader (package iterator), which
// decides which samples a batch holds. Package dali runs it without one, as NVIDIA DALI does.
//
// # How it runs
//
// Workers carry one sample at a time through all operators, in memory of their
// own, and write the results into the rows of a batch. Batches are made ahead of
// the one in use, Options.PrefetchDepth of them, and used again after their
// release; nothing is allocated per sample once the largest one has been seen.
// Results depend on the definition, the seed and the data alone, not on the number of
// workers or the scheduler.
//
// Control flow is per sample: Graph.If and Graph.While. Operators that work on
// whole batches, on the host or on a device's streams, come behind the others:
// Graph.AddBatch. Options.HostPrefetchDepth and DevicePrefetchDepth say how far both parts
// run ahead, each of the one behind it.
//
// # Outputs
//
// An output whose samples all have one known shape is dense: one array, rows one
// after the other, which Gorgonia can read in place. Other outputs are ragged: a
// tensor per row (Batch.Sample). Rows that are not valid, because the epoch has no
// more samples or a sample was skipped, are zero and marked in Batch.Mask.
//
// # Bad samples
//
// What becomes of a sample that cannot be read or processed is
// Options.OnError: the epoch ends with a *SampleError that names the file and the
// operator, or the row is skipped, or replaced by a neighbour.
//
// # Statistics
//
// What operators, workers and the consumer do is always counted. stats.Run.Verdict
// says in words what limits a run, Options.Autotune follows it, and
// Options.Events holds functions to call when something happens.
package pipeline
