// Package iterator delivers the epochs of pipelines as loops to range over.
//
//	for batch, err := range loader.Epoch(ctx) {
//		if err != nil {
//			return err
//		}
//		train(batch.Float32s("image"), batch.Int32s("label"))
//	}
//
// The error is the last pair of a loop. Written without it, as "for range", a loop ends early
// and runs its body once more, without a batch; Loader.Err has the error afterwards, and
// Loader.Close returns it.
//
// A Loader decides which samples a batch holds, by the plan of its reader
// (package shard), and its pipelines make the batches ahead of the one in use. A
// batch belongs to the loop's body until it ends, and then to the pipeline
// again, so a loop allocates nothing. Results do not depend on the number of
// workers, the prefetch depth or where a run was interrupted.
//
// # Epochs
//
// Options.LastBatch says what becomes of samples that do not fill a batch,
// Options.Partition how ranks share an epoch, and the reader's options which
// rank this is. All ranks take the same number of steps. Loader.Epoch goes on
// with the next epoch by itself; a break keeps the place within one, and
// Loader.Reset gives the rest of it up. Loader.Steps ranges over a number of
// batches instead.
//
// Nothing is read before the first loop asks for a batch, or Loader.Prefetch
// does.
//
// # States
//
// Loader.State is a place, with all that identifies data, pipeline and plan. It
// is taken in the body of a loop, say, and stored beside the weights:
//
//	state, err := loader.State()
//	…
//	text, err := json.Marshal(checkpoint{state, weights})
//
// Loader.Restore goes on from there in another process, with the bits that would
// have followed, and with another number of ranks if need be. It refuses a state
// of other data, another pipeline or another plan, and says what differs.
// Sequences, which can only be read from their beginning, have no states.
//
// # Statistics
//
// Loader.Stats says how long loops waited for data and, by its Verdict, why; it
// can be called at any time from any goroutine. Progress shows it on a terminal.
package iterator
