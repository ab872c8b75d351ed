// Package iterator delivers the epochs of pipelines as loops to range over.
//
//	for batch, err := range loader.Epoch(ctx) {
//		if err != nil {
//			return err
//		}
//		train(batch.Float32s("image"), batch.Int32s("label"))
//	}
//
// A Loader decides which samples a batch holds, by the plan of its reader
// (package shard), and its pipelines make the batches ahead of the one in use. A
// batch belongs to the loop's body until it ends, and then to the pipeline
// again, so a loop allocates nothing. Results do not depend on the number of
// workers, the prefetch depth or where a run was interrupted.
package iterator
