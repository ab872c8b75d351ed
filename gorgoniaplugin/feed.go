package gorgoniaplugin

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/planktonml/plankton/internal/sticky"
	"github.com/planktonml/plankton/iterator"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Feed shows the batches of a loader to the nodes of a graph. It belongs to one
// goroutine.
type Feed struct {
	loader *iterator.Loader
	graph  *gorgonia.ExprGraph
	rows   int          // the batch size
	float  tensor.Dtype // of weights and mask
	inputs []*input     // outputs, weights and mask

	weights, mask *gorgonia.Node // nil until asked for

	machine    machine
	placements []Placement

	declared bool // rows that are not valid do no harm, says the user
	masked   bool // or the graph; known since Attach
	attached bool
	looping  bool
	closed   bool
	failed   sticky.Error // of its own loops
}

// Node returns the node of an output. It panics if the feed has none of that
// name.
func (f *Feed) Node(output string) *gorgonia.Node {
	for _, in := range f.inputs {
		if in.output == output && output != "" {
			return in.node
		}
	}
	panic(&BindError{Output: output, Err: fmt.Errorf("the feed has no node for it; it has %q", names(f.inputs))})
}

// Weights returns a node with a weight per row, a vector of batch size: 1/valid in
// the rows that are valid and 0 in the others, so that a sum of weighted row
// losses is their mean over the valid rows, and 0 where there are none.
//
// Its type is that of the first output the feed shows, float32 or float64. The
// node is made by the first call, which must come before the machine is built.
func (f *Feed) Weights() *gorgonia.Node {
	if f.weights == nil {
		f.weights = f.addRows("weights", share)
	}
	return f.weights
}

// Mask is Weights with 1 in the rows that are valid.
func (f *Feed) Mask() *gorgonia.Node {
	if f.mask == nil {
		f.mask = f.addRows("mask", one)
	}
	return f.mask
}

// Attach readies the feed for loops whose bodies run vm, a machine of the nodes'
// graph. It allocates what the feed needs and binds the nodes that are bound to
// nothing to zeros. Nothing is read before the first loop. On a GPU it opens the
// pipeline's Device in the machine's context, in which all memory of batches will
// be; errors of streams/cuda come from there. Placements tells what it found.
//
// The error is ErrUnmasked, wrapped, when batches of the loader may have rows that
// are not valid (iterator.Loader.Uneven) and the graph reads neither Weights nor
// Mask, unless LabelsMasked or Unmasked was given. Call Attach when the graph is
// complete; it may be called again, for another machine.
func (f *Feed) Attach(vm gorgonia.VM) error {
	switch {
	case f.closed:
		return ErrClosed
	case f.looping:
		return f.busy()
	case vm == nil:
		return errors.New("gorgoniaplugin: Attach was given no machine: pass the one that the loop runs, such as NewTapeMachine(graph)")
	}
	masked := f.declared || f.reads(f.weights) || f.reads(f.mask)
	if !masked && f.loader.Uneven() {
		return f.unmasked("batches of this loader may have rows without a sample")
	}
	placements, err := f.machine.attach(f, vm)
	if err != nil {
		return err
	}
	f.masked, f.placements = masked, placements
	for _, in := range f.inputs {
		in.attach(&f.machine)
	}
	f.attached = true
	return nil
}

// reads reports whether the graph computes something from n.
func (f *Feed) reads(n *gorgonia.Node) bool {
	return n != nil && f.graph.To(n.ID()).Len() > 0
}

func (f *Feed) unmasked(why string) error {
	return fmt.Errorf("gorgoniaplugin: %w: %s (last batch %s, on error %s), and the graph uses neither Weights nor Mask of the feed: "+
		"multiply each row's loss by its weight, use the policy drop or fill, or declare LabelsMasked or Unmasked",
		ErrUnmasked, why, f.loader.Options().LastBatch, f.loader.Pipelines()[0].Options().OnError)
}

// Epoch returns an iterator over the batches left in the loader's epoch, as
// iterator.Loader.Epoch does. In the body of the loop the nodes hold the batch;
// when the body ends, also by break, return or panic, they hold zeros and the
// memory is the pipeline's again.
//
// The error that ends a loop is that of the loader, or ErrNotAttached, ErrClosed,
// ErrNotReset, or ErrBusy in the body of another loop over this feed
// or its loader. It leaves an outer loop as it was. A loop that does not take the error,
// such as "for range", runs its body once more, on zeros; Err tells then.
func (f *Feed) Epoch(ctx context.Context) iter.Seq2[*iterator.Batch, error] {
	return f.loop(f.loader.Epoch(ctx))
}

// Epochs is Epoch for n epochs, the one begun included, without a pause in
// between. Batch.Epoch tells them apart.
func (f *Feed) Epochs(ctx context.Context, n int) iter.Seq2[*iterator.Batch, error] {
	return f.loop(f.loader.Epochs(ctx, n))
}

// Steps is Epoch for the next n batches, wherever epochs end in between.
func (f *Feed) Steps(ctx context.Context, n int) iter.Seq2[*iterator.Batch, error] {
	return f.loop(f.loader.Steps(ctx, n))
}

// Prefetch makes the first batch of the next loop ahead, as iterator.Loader.Prefetch does.
// The nodes do not change. It needs Attach, and fails with ErrBusy in the body of a loop.
func (f *Feed) Prefetch(ctx context.Context) error {
	if err := f.ready(); err != nil {
		return err
	}
	return f.loader.Prefetch(ctx)
}

// Err returns the error that ended a loop over the feed or its loader, nil if all went
// well; see iterator.Loader.Err.
func (f *Feed) Err() error {
	if err := f.failed.First(); err != nil {
		return err
	}
	return f.loader.Err()
}

// loop shows the batches of a loop over the loader.
func (f *Feed) loop(batches iter.Seq2[*iterator.Batch, error]) iter.Seq2[*iterator.Batch, error] {
	return func(yield func(*iterator.Batch, error) bool) {
		if err := f.enter(); err != nil {
			sticky.End(&f.failed, err, yield)
			return
		}
		defer f.leave()
		for b, err := range batches {
			if err != nil {
				if !yield(nil, err) { // which is how the loader knows what the body did
					return
				}
				continue
			}
			if !f.masked && b.NumValid() < b.Size() {
				err := f.unmasked(fmt.Sprintf("%d of %d rows are valid in step %d of epoch %d", b.NumValid(), b.Size(), b.Step(), b.Epoch()))
				sticky.End(&f.failed, err, yield)
				return
			}
			f.machine.begin()
			if !f.lend(b, yield) {
				return
			}
			if err := f.machine.ran(); err != nil {
				sticky.End(&f.failed, err, yield)
				return
			}
		}
	}
}

// lend shows a batch to the nodes while the loop's body runs.
func (f *Feed) lend(b *iterator.Batch, yield func(*iterator.Batch, error) bool) bool {
	for _, in := range f.inputs {
		in.show(in.memory(b))
	}
	defer func() {
		f.park()
		f.machine.finish() // its error is that of ran
	}()
	return yield(b, nil)
}

func (f *Feed) park() {
	for _, in := range f.inputs {
		in.park()
	}
}

// ready reports what keeps a loop from beginning.
func (f *Feed) ready() error {
	switch {
	case f.closed:
		return ErrClosed
	case !f.attached:
		return ErrNotAttached
	case f.looping:
		return f.busy()
	}
	return f.machine.check()
}

// busy is ErrBusy with what is running.
func (f *Feed) busy() error {
	return fmt.Errorf("gorgoniaplugin: %w: a loop over the feed of %q is running; end it first, or make another loader and feed for what is done in its body", ErrBusy, names(f.inputs))
}

func (f *Feed) enter() error {
	if err := f.ready(); err != nil {
		return err
	}
	f.looping = true
	for _, in := range f.inputs {
		in.enter()
	}
	return nil
}

func (f *Feed) leave() {
	for _, in := range f.inputs {
		in.leave()
	}
	f.looping = false
}

// Close ends the use of the feed; the loader stays open, unless its batches are on
// a GPU, in the machine's memory. It fails with ErrBusy in the body of a loop over the
// feed. Closing twice is no error. Call it before the machine's Close. It returns what
// ended a loop whose body went on, as iterator.Loader.Close does.
func (f *Feed) Close() error {
	if f.looping {
		return f.busy()
	}
	if f.closed {
		return nil
	}
	f.closed = true
	return errors.Join(f.failed.Ignored(), f.machine.close(f))
}
