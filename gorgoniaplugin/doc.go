// Package gorgoniaplugin makes the batches of a loader the inputs of a Gorgonia
// graph without copying them: the bytes that the pipeline's last operator wrote
// are the bytes that the graph's first operator reads.
//
// New makes a node for every output of a loader's pipeline, Bind takes nodes
// that exist already. In the body of a loop over Feed.Epoch the nodes hold the
// loop's batch, and a RunAll there computes with it.
//
// # Memory
//
// The batch belongs to the body of the loop. The graph may overwrite it, as
// Gorgonia does behind a Reshape, since the pipeline writes every batch anew.
// When the body ends, in whatever way, the nodes are pointed at zeros before the
// pipeline gets the memory back, so a late look at a node's value finds zeros
// rather than the next batch. Batch.Retain keeps the batch, but not the nodes,
// for longer.
//
// A feed holds, beside the batches of its loader, zeros of the size of one batch.
// Its nodes keep them until they are bound to something else or collected.
//
// # On a GPU
//
// With Gorgonia's build tag cuda a graph runs on the GPU. A batch that is there
// already is read in place, too, if its pipeline brings it there:
//
//	p, err := pipeline.New(pipeline.Options{BatchSize: 64, Device: gorgoniaplugin.Device()}, func(g *pipeline.Graph) {
//		…
//		g.Output("image", ops.ToDevice(g, image))
//	})
//
// Everything else is the same source with the tag and without: Device is nil then,
// and ToDevice does nothing. The pipeline uploads a batch ahead, once, on streams of
// its own in the context of the machine, and hands it over when it has arrived. Its
// node is an operator without inputs, since Gorgonia copies the value of an input in
// every RunAll. When the body ends, the feed waits for the machine to be done with
// the batch: for its default stream, on which Gorgonia issues everything.
//
// Pictures may be decoded there as well: ops.DeviceDecodeResize with a decoder of nvjpeg.New
// takes the place of ToDevice.
//
// Outputs without ToDevice, weights and masks are inputs, which the machine
// copies. So is what a graph reads on the host: operators that Gorgonia does not run
// on the GPU make it copy the batch back. An operator that is asked to run there
// and may read its input on the host gets it where both reach it (Managed).
// Feed.Placements lists what Attach has found.
//
// What is different on a GPU:
//
//   - Feed.Close closes the loader, too, whose batches are in the machine's memory,
//     those retained included (see pipeline.Batch). It must come before the machine's
//     Close, or fails with ErrMachineClosed: the batches are gone with the machine
//     then, and the feed leaves its context alone.
//   - A node that shows a batch there cannot be looked at: the bytes of its Value and
//     those of Batch.Bytes are out of reach for the host. Between bodies there is no
//     batch, whatever its Value says, and RunAll fails with ErrNoBatch.
//   - Attach takes one machine, for good.
//   - Bind takes nodes of another feed for outputs that are there, no inputs.
//   - After an error of the driver or of cuBLAS the machine computes nothing more on the
//     GPU: Attach fails with ErrMachineFailed, and the machine's own Close does not return,
//     since Gorgonia waits there for a goroutine that has ended.
//   - NewTapeMachine and VM.Close make calls of the driver that belong together on
//     whatever thread they are on: call them between runtime.LockOSThread and
//     UnlockOSThread.
//   - Gorgonia opens cuBLAS on a thread that has no context of the driver; Attach
//     opens it again in the machine's, for machines without batches on the GPU as
//     well.
//   - Gorgonia's operators for single elements need kernels. Attach loads those of package
//     streams/cuda/kernels/elementwise, for the operators that the graph has, in place of
//     what the machine lacks; what Gorgonia's command cudagen made stays. An operator of
//     integers is refused: Gorgonia would compute with its numbers as with floats. A
//     machine that no feed is attached to has none of them. Each kernel ends with a wait for
//     everything in the machine's context, uploads included: the pipeline's work is
//     hidden behind products and convolutions alone.
//   - The options WithNaNWatch and WithInfWatch of a machine see nothing on the GPU: Gorgonia
//     passes their kernels a number where they take an address, so there are none.
//   - Convolve with gorgonia.Conv2d: the host lays windows out, the GPU multiplies. The
//     convolutions of Gorgonia's package ops/nn, which cuDNN computes, train wrongly in
//     Gorgonia v0.9.18; docs/gpu.md says why.
//
// None of this has run on a GPU yet. The tests run Gorgonia's products of matrices, its
// operators for single elements and its convolutions on a fake driver, cuBLAS and cuDNN.
//
// # Rows that are not valid
//
// The batch size is fixed in the graph, so a batch with fewer samples has rows
// that are not valid. They are zero, hence finite, but a graph that treats them
// as data learns from them. Let the loss of a row count with Feed.Weights,
//
//	cost = Sum(HadamardProd(rowLoss, feed.Weights()))
//
// which gives the gradients of the mean over the valid rows, and a cost of zero
// for a batch that has none. Feed.Mask is 1 or 0 instead. One-hot labels are a
// mask of their own, see LabelsMasked. Feed.Attach refuses a loader whose rows may
// be invalid when the graph uses none of these (ErrUnmasked).
//
// # Several feeds on the same nodes
//
// A feed for training and one for validation may share nodes: New for the first,
// Bind for the second, with the weights of the first (WithWeights) if the graph
// reads them. Each has its own view of them, which it binds when its loop
// begins and takes away when the loop ends. Loops may be nested: after a
// validation loop inside the body of a training loop, the nodes hold the training
// batch again.
//
// A machine that trains must not also evaluate: with BindDualValues every RunAll
// adds to the gradients of the weights, and only a solver's step clears them, so
// the next training step would use those of the validation batches as well.
// Evaluate on a machine of its own, of the graph without its gradients,
//
//	gorgonia.NewTapeMachine(graph.ExactSubgraphRoots(logits))
//
// to which the validation feed is attached.
//
// # Traps
//
//   - A defer in the body of a loop runs when the function returns, long after
//     the batch was given back.
//   - The value of a cost node points into the machine: copy the number before
//     Reset.
//   - Call RunAll once per batch. A graph that overwrites its input computes
//     something else the second time.
//   - Call the machine's Reset at the end of the body. Without it a tape machine stands
//     behind its last instruction, and the next RunAll does nothing, without a word: the
//     solver then takes the same step again. A feed notices the first body in which the
//     machine that it is attached to has computed nothing for that reason, and ends the loop
//     with ErrNotReset. It cannot see it of a second machine in the same body, of a LispMachine,
//     of a machine on a GPU, or of a single body without Reset if the next one has it.
//   - Attach the machine that the body runs. One of another graph, which would see no
//     batch, is refused (ErrOtherGraph); a second machine of the same graph sees the batches.
//   - Take the error in every loop. "for range feed.Epoch(ctx)" ends early without a word
//     and runs its body once more, on zeros; Feed.Err has the error afterwards, and the
//     Close of feed and loader return it.
//   - A node that was computed from an input by Reshape or Slice points into the
//     batch as well, also after Reset. Read it in the body.
//   - After ExprGraph.UnbindAll or tensor.ReturnTensor of a node's value the nodes
//     hold nothing for the rest of the body; the next batch is bound afresh.
//   - Building graphs in several goroutines at once is a data race in Gorgonia;
//     running machines that are already built is not.
package gorgoniaplugin

// Package tensor imports assume-no-moving-gc, whose older versions panic at
// start under a newer Go. Naming it here keeps the version that asks the runtime
// instead a requirement of this module.
import _ "go4.org/unsafe/assume-no-moving-gc"
