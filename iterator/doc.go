// Package iterator delivers the epochs of pipelines as loops to range over.
//
//	for batch, err := range loader.Epoch(ctx) {
//		if err != nil {
//			return err
//		}
//		train(batch.Float32s("image"), batch.Int32s("label"))
//	}
//
// An error is the last thing that a loop yields. A loop that does not take the error, such as
// "for batch := range", runs its body once more, with a nil batch, and ends. Loader.Err has
// the error then, and Loader.Close returns it.
//
// A Loader decides which samples a batch holds, by the plan of its reader
// (package shard). Its pipelines make batches ahead of the one in use. A batch belongs to
// the body of the loop until the body ends; then the pipeline uses its memory again, so
// that a loop allocates nothing. Results do not depend on the number of
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
// Loader.State says where a loader is, and what data, pipelines and plan it has. A program
// takes it in the body of a loop, for example, and stores it beside the weights:
//
//	state, err := loader.State()
//	…
//	text, err := json.Marshal(checkpoint{state, weights})
//
// Loader.Restore goes on from there in another process: the batches are those that would
// have followed, bit for bit. There may be another number of ranks. Restore refuses a state
// of other data, another pipeline or another plan, and says what differs.
// Sequences, which can only be read from their beginning, have no states.
//
// # Statistics
//
// Loader.Stats says how long loops waited for data and, by its Verdict, why; it
// can be called at any time from any goroutine. Progress shows it on a terminal.
package iterator
