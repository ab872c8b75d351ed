package gorgoniaplugin

import (
	"fmt"
	"unsafe"

	"github.com/planktonml/plankton/iterator"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// share is the weight of a valid row in a batch with that many.
func share(valid int) float64 { return 1 / float64(valid) }

// one is the mask of a valid row.
func one(int) float64 { return 1 }

// newRows returns an input, without a node, that is a number per row:
// value(NumValid) where the row is valid, else 0.
func (f *Feed) newRows(value func(valid int) float64) *input {
	in := &input{dtype: f.float, shape: tensor.Shape{f.rows}}
	if f.float == tensor.Float64 {
		in.memory = rows[float64](f.rows, value)
	} else {
		in.memory = rows[float32](f.rows, value)
	}
	return in
}

// rows returns a function that fills one vector of n rows anew for every batch.
func rows[T float32 | float64](n int, value func(valid int) float64) func(*iterator.Batch) []byte {
	v := make([]T, n)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), n*int(unsafe.Sizeof(v[0])))
	return func(b *iterator.Batch) []byte {
		x := T(value(b.NumValid()))
		for i, valid := range b.Mask() {
			v[i] = 0
			if valid {
				v[i] = x
			}
		}
		return mem
	}
}

// addRows adds a number per row with a node of its own. Inputs of one name and
// shape are one node to Gorgonia, so the name must be free: if two feeds shared
// their weights unknowingly, the inner loop's would be those of the outer one.
func (f *Feed) addRows(name string, value func(valid int) float64) *gorgonia.Node {
	free := name
	for i := 2; len(f.graph.ByName(free)) > 0; i++ {
		free = fmt.Sprintf("%s %d", name, i)
	}
	in := f.newRows(value)
	in.node = gorgonia.NewVector(f.graph, in.dtype, gorgonia.WithShape(in.shape...), gorgonia.WithName(free))
	f.inputs = append(f.inputs, in)
	return in.node
}
