package solvers

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type float interface{ float32 | float64 }

// node is a node of the model, with what a solver keeps for it.
type node interface {
	title() string
	header() nodeHeader
	// find looks for the weights and gradients of a step in a node.
	find(gorgonia.ValueGrad) error
	// step changes the weights that were found, and sets their gradients to zero.
	step()
	// forget lets go of what was found.
	forget()
	// store appends what is kept, and load takes it from the front of stored numbers.
	store(to []byte) []byte
	load(from []byte) (rest []byte)
}

// nodeOf is a node of numbers T.
type nodeOf[T float] struct {
	name    string
	shape   tensor.Shape
	numbers func(gorgonia.Value) []T // of a value, as they lie in memory
	update  func(w, g []T, kept [][]T)
	kept    [][]T // slot by slot; each in the order of rows
	w, g    layout[T]
}

func newNode[T float](name string, shape tensor.Shape, numbers func(gorgonia.Value) []T, update func(w, g []T, kept [][]T), slots []string) node {
	n := &nodeOf[T]{name: name, shape: shape, numbers: numbers, update: update}
	for range slots {
		n.kept = append(n.kept, make([]T, shape.TotalSize()))
	}
	return n
}

func (n *nodeOf[T]) title() string { return n.name }

// float32s returns the numbers of a value, or nil if there are no such.
func float32s(v gorgonia.Value) []float32 {
	switch v := v.(type) {
	case *tensor.Dense:
		if v.Dtype() == tensor.Float32 && v.IsNativelyAccessible() {
			return v.Float32s()
		}
	case *gorgonia.F32:
		return unsafe.Slice((*float32)(v), 1)
	}
	return nil
}

// float64s is float32s for the other type.
func float64s(v gorgonia.Value) []float64 {
	switch v := v.(type) {
	case *tensor.Dense:
		if v.Dtype() == tensor.Float64 && v.IsNativelyAccessible() {
			return v.Float64s()
		}
	case *gorgonia.F64:
		return unsafe.Slice((*float64)(v), 1)
	}
	return nil
}

func (n *nodeOf[T]) find(from gorgonia.ValueGrad) error {
	named, ok := from.(gorgonia.Namer)
	if !ok || named.Name() != n.name {
		return ErrOtherModel
	}
	value := from.Value()
	if value == nil {
		return ErrNoValue
	}
	if err := n.look(&n.w, value); err != nil {
		return fmt.Errorf("its value: %w", err)
	}
	gradient, err := from.Grad()
	if err != nil || gradient == nil {
		return ErrNoGradient
	}
	if err := n.look(&n.g, gradient); err != nil {
		return fmt.Errorf("its gradient: %w", err)
	}
	return nil
}

// look says where the numbers of a value lie.
func (n *nodeOf[T]) look(at *layout[T], v gorgonia.Value) error {
	if !slices.Equal(v.Shape(), n.shape) {
		return fmt.Errorf("%w: its shape was %v, now it is %v", ErrOtherModel, n.shape, v.Shape())
	}
	at.data, at.strides = n.numbers(v), nil
	if d, ok := v.(*tensor.Dense); ok {
		at.strides = d.Strides()
	}
	if !at.covers(n.shape) {
		return ErrLayout
	}
	return nil
}

func (n *nodeOf[T]) step() {
	size := n.shape.TotalSize()
	w, g := n.w.gather(n.shape, size), n.g.gather(n.shape, size)
	n.update(w, g, n.kept)
	clear(g)
	n.w.scatter(n.shape)
	n.g.scatter(n.shape)
}

func (n *nodeOf[T]) forget() {
	n.w.data, n.w.strides = nil, nil
	n.g.data, n.g.strides = nil, nil
}

func (n *nodeOf[T]) header() nodeHeader {
	var zero T
	return nodeHeader{Name: n.name, Type: fmt.Sprintf("%T", zero), Shape: slices.Clone(n.shape)}
}

func (n *nodeOf[T]) store(to []byte) []byte {
	for _, k := range n.kept {
		to, _ = binary.Append(to, binary.LittleEndian, k) // there is no type that could fail
	}
	return to
}

func (n *nodeOf[T]) load(from []byte) []byte {
	for _, k := range n.kept {
		size, _ := binary.Decode(from, binary.LittleEndian, k)
		from = from[size:]
	}
	return from
}
