package gorgoniaplugin

import (
	"slices"

	"github.com/planktonml/plankton/iterator"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// input is a node that shows a part of every batch.
//
// The node is bound to one header, made for this feed and this node, that is
// pointed from batch to batch. Binding it anew for every batch would cost two
// allocations; a header that feeds share would show one feed's batch to the other.
type input struct {
	output string // name of the pipeline's output; "" for weights and mask
	node   *gorgonia.Node
	dtype  tensor.Dtype
	shape  tensor.Shape
	memory func(*iterator.Batch) []byte // the part of a batch to show

	onDevice bool // memory is a GPU's

	// source is the operator of a node that reads memory of a GPU, nil for an input
	// of the graph. The fields below are those of the other kind.
	source  source
	on      *machine
	showing view // what the operator showed when the loop began

	header *tensor.Dense
	shown  []byte         // what header was pointed at last
	parked []byte         // zeros, shown between bodies
	before gorgonia.Value // what the node was bound to when the loop began
}

// source is an operator that shows batches in the memory of a machine.
type source interface {
	show(view)
	current() view
}

// view is what a source shows: memory of a machine, or nothing.
type view struct {
	mem []byte
	on  *machine
}

// attach makes the header and binds it to a node that is bound to nothing.
func (in *input) attach(m *machine) {
	in.on = m
	if in.source != nil {
		return
	}
	if !in.intact() {
		in.renew()
	}
	if in.node.Value() == nil {
		in.bind(in.header)
	}
}

// show points the node at mem. It allocates nothing, unless somebody took the
// header away or bound the node to something else.
func (in *input) show(mem []byte) {
	if in.source != nil {
		in.source.show(view{mem, in.on})
		return
	}
	if !in.intact() {
		in.renew()
	}
	in.point(mem)
	if !in.bound() {
		in.bind(in.header)
	}
}

// park points the node at zeros, a source at nothing.
func (in *input) park() { in.show(in.parked) }

// point sets the header's memory. Raw is a slice, so the collector sees the
// memory and the compiler that it escapes; it sees neither through
// tensor.FromMemory, which takes an address.
func (in *input) point(mem []byte) { in.header.Raw, in.shown = mem, mem }

func (in *input) bound() bool { return in.node.Value() == gorgonia.Value(in.header) }

// bind binds the node to v. Let compares type and shape, which are the node's: it
// refuses only a value of another owner that was wiped since, and leaves the node
// as it is then.
func (in *input) bind(v gorgonia.Value) { _ = gorgonia.Let(in.node, v) }

// intact reports whether the header is still this input's. UnbindAll and
// ReturnTensor wipe it and put it into a pool of package tensor, from which
// anybody may have got it; code in the loop's body may have reshaped or transposed
// it.
func (in *input) intact() bool {
	h := in.header
	return h != nil && slices.Equal(h.Shape(), in.shape) && !h.IsMaterializable() &&
		len(h.Raw) == len(in.shown) && &h.Raw[0] == &in.shown[0]
}

// renew makes a header, pointed at zeros. It does not come from the pool of
// package tensor, where UnbindAll leaves a header twice when nodes share it, as
// those of operators that run in place do.
func (in *input) renew() {
	h := new(tensor.Dense)
	tensor.Of(in.dtype)(h)
	tensor.WithShape(in.shape...)(h)
	tensor.WithEngine(tensor.StdEng{})(h)
	if in.parked == nil {
		in.parked = make([]byte, in.shape.TotalSize()*int(in.dtype.Size()))
	}
	in.header = h
	in.point(in.parked)
}

// enter remembers what the node is bound to, unless it is this input's own.
func (in *input) enter() {
	if in.source != nil {
		in.showing = in.source.current()
		return
	}
	if !in.bound() {
		in.before = in.node.Value()
	}
}

// leave gives the node back to whom it belonged before the loop, such as the
// feed of an outer loop.
func (in *input) leave() {
	if in.source != nil {
		in.source.show(in.showing)
		in.showing = view{}
		return
	}
	if in.before != nil && in.bound() {
		in.bind(in.before)
	}
	in.before = nil
}
