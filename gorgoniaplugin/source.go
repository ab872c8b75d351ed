//go:build cuda

package gorgoniaplugin

import (
	"errors"
	"fmt"
	"hash"
	"sync/atomic"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// batchOp is an operator without inputs whose value is the batch. A machine copies
// the value of an input to the GPU in every run, wherever it is; what an operator
// for the GPU returns it reads in place.
//
// Feeds that share a node share its operator.
type batchOp struct {
	id     uint32 // of the operator: nodes with equal ones would be merged
	dtype  tensor.Dtype
	shape  tensor.Shape
	header *tensor.Dense // over what is shown; machines get clones
	view   view
	err    error // of showing it
}

var batchOps atomic.Uint32

// newSource makes a node that shows an output on the GPU.
func newSource(g *gorgonia.ExprGraph, in *input) *gorgonia.Node {
	op := &batchOp{id: batchOps.Add(1), dtype: in.dtype, shape: in.shape}
	in.source = op
	return gorgonia.NewUniqueNode(gorgonia.In(g), gorgonia.WithOp(op), gorgonia.WithType(op.Type()),
		gorgonia.WithShape(in.shape...), gorgonia.WithName(in.output))
}

// sourceOf returns the operator of a node that newSource has made, nil for others.
func sourceOf(n *gorgonia.Node) source {
	if op, ok := n.Op().(*batchOp); ok {
		return op
	}
	return nil
}

func (op *batchOp) current() view { return op.view }

func (op *batchOp) show(v view) {
	op.view, op.err = v, nil
	if v.mem == nil {
		return
	}
	mem := v.mem
	if shared := v.on.managed[op]; shared != nil {
		op.err = v.on.copy(shared, mem)
		mem = shared
	}
	if op.header == nil { // FromMemory marks it as memory that is not Gorgonia's, which its engine demands
		op.header = tensor.New(tensor.Of(op.dtype), tensor.WithShape(op.shape...), tensor.FromMemory(address(mem), uintptr(len(mem))))
	}
	op.header.Raw = mem
}

// CUDADo returns a header of its own in every run, since the machine's Reset wipes
// it.
func (op *batchOp) CUDADo(on gorgonia.External, _ gorgonia.Device, _ gorgonia.Value, _ ...gorgonia.Value) (gorgonia.Value, error) {
	switch {
	case op.view.mem == nil:
		return nil, ErrNoBatch
	case op.err != nil:
		return nil, op.err
	case any(on) != any(op.view.on.vm):
		return nil, errors.New("gorgoniaplugin: the batch is in the memory of another machine than the one that runs: attach the feed to the machine that its loop's body runs")
	}
	return op.header.ShallowClone(), nil
}

// Do is for machines that do not use the GPU, of which Gorgonia's tag leaves none.
func (op *batchOp) Do(...gorgonia.Value) (gorgonia.Value, error) {
	return nil, fmt.Errorf("gorgoniaplugin: %w: a batch on the GPU is read by machines that run on it", errors.ErrUnsupported)
}

func (op *batchOp) Arity() int { return 0 }

func (op *batchOp) Type() hm.Type { return gorgonia.TensorType{Dims: len(op.shape), Of: op.dtype} }

func (op *batchOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return op.shape.Clone(), nil
}
func (op *batchOp) ReturnsPtr() bool      { return false }
func (op *batchOp) CallsExtern() bool     { return false }
func (op *batchOp) OverwritesInput() int  { return -1 }
func (op *batchOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "plankton batch %d", op.id) }
func (op *batchOp) Hashcode() uint32      { return op.id }
func (op *batchOp) String() string        { return "Batch" }
