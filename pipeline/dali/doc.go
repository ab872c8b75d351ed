// Package dali runs pipelines as NVIDIA DALI's class Pipeline does, without an
// iterator: batch after batch, by a call for each.
//
//	d := dali.New(p) // p is a *pipeline.Pipeline
//	defer d.Close()
//	b, err := d.Run(ctx)
//
// There are two ways, each with its own rule of who holds a batch for how long: Run; and
// ScheduleRun, ShareOutputs and ReleaseOutputs. Input and FeedInput bring the program's own
// data into a pipeline. EpochSize and ReaderMeta describe the readers.
//
// Training loops are better served by package iterator, which ends epochs, shares them
// among processes and goes on where a run was interrupted.
package dali
