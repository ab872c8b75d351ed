// Package gomlxplugin makes a loader of package iterator a data set of GoMLX
// (github.com/gomlx/gomlx v0.28.2), for its trainer, its loop and its other data sets.
//
//	mem := gomlxplugin.NewMemory(backend, 0)
//	p, err := pipeline.New(pipeline.Options{BatchSize: 64, OutputMemory: mem}, define)
//	…
//	loader, err := iterator.New(iterator.Options{}, p)
//	…
//	ds, err := gomlxplugin.New(ctx, loader, gomlxplugin.Options{
//		Inputs: []string{"image"}, Labels: []string{"label"}, Rows: gomlxplugin.Masked,
//	})
//	…
//	_, err = train.NewLoop(trainer).RunEpochs(ds, 10)
//
// # Memory
//
// GoMLX owns what a data set yields: its trainer donates the tensors of a batch to the
// computation or finalizes them, and its other data sets keep them for as long as they like.
// So a batch is given away (pipeline.Batch.Take): the pipeline writes a batch into memory of
// the backend, the tensors of the batch are that memory, and the pipeline goes on with other
// memory of the backend. Nothing is copied, and nothing that GoMLX does with a batch
// can reach another one: Buffer, InMemory, ParallelMap and the like may hold as many as they
// want. A pipeline makes batches ahead by itself, so Buffer gains nothing; in v0.28.2 it has a
// data race where its loop ends early, too.
//
// On GoMLX's Go backend that memory is the result of a computation. The backend takes such
// memory into its pool when it is done with it, where the pipeline finds it again: a
// loop allocates next to nothing. Memory that GoMLX's documentation calls shared is
// not taken into the pool in v0.28.2, so that every batch would cost new memory, which costs more
// than a copy. Other backends with shared buffers, such as XLA on a processor, give shared
// buffers. A backend without them, such as XLA on a GPU, gets every batch copied, which is
// the upload.
//
// Outputs of less than 32 KiB a batch, such as labels, are copied: small memory of the Go
// backend does not start where a pipeline needs it to.
//
// # Epochs and places
//
// An iteration over a data set goes on where the one before was left, as
// iterator.Loader.Epoch does: after a whole epoch with the next one, after a break with the
// first batch that was not yielded. Loop.RunSteps, which breaks, thus leaves nothing out.
// iterator.Loader.Reset gives up the rest of an epoch. RunSteps wants a data set that does not
// end: Options.Endless.
//
// iterator.Loader.State is the place behind the batch that was yielded last. In a hook of
// Loop.OnStep, for example, it is the place behind the step; stored beside the model's
// checkpoint it is where iterator.Loader.Restore goes on, with another number of ranks as well.
// A data set that something reads ahead of the trainer, such as Buffer, is further on than the trainer.
//
// # Rows that are not valid
//
// Every batch has the same shape, since GoMLX compiles the model for each shape. A batch with
// fewer samples has rows that are not valid, and a loader that may have such batches
// (iterator.Loader.Uneven) is refused (ErrUnmasked) unless Options.Rows says what is to become
// of them. Masked suits training with GoMLX's losses. Trimmed suits evaluation, since GoMLX's mean
// metrics count a batch by the size of its predictions, masked rows included.
//
// # Several ranks and devices
//
// For processes that share an epoch the pipeline's reader is told its rank
// (pipeline.ReaderOptions), as without GoMLX. For several devices of one backend NewDistributed takes a loader of
// one pipeline for each device, and yields their batches as shards of one.
package gomlxplugin
