package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Index says what Subscript takes along one dimension of an array.
type Index struct {
	kind     indexKind
	from, to bound // of a range
	step     int
	name     string // of a new dimension
}

type indexKind uint8

const (
	oneElement indexKind = iota
	aRange
	newDimension
)

// bound is an end of a range: a number, a number per sample, or the array's own end.
type bound struct {
	set bool
	at  int
	v   pipeline.Value
}

// At takes element i, counted from the back where i is negative. The dimension goes away.
func At(i int) Index { return Index{from: bound{set: true, at: i}} }

// AtValue is At for a number per sample.
func AtValue(i pipeline.Value) Index { return Index{from: bound{set: true, v: i}} }

// All takes a whole dimension.
func All() Index { return Index{kind: aRange, step: 1} }

// NewAxis inserts a dimension of extent 1. Its name is a letter of the layout; without one the
// layout goes away.
func NewAxis(name string) Index { return Index{kind: newDimension, name: name} }

// From takes the elements from i on, counted from the back where i is negative.
func (x Index) From(i int) Index { x.from = bound{set: true, at: i}; return x }

// FromValue is From for a number per sample.
func (x Index) FromValue(i pipeline.Value) Index { x.from = bound{set: true, v: i}; return x }

// To takes the elements before i, counted from the back where i is negative.
func (x Index) To(i int) Index { x.to = bound{set: true, at: i}; return x }

// ToValue is To for a number per sample.
func (x Index) ToValue(i pipeline.Value) Index { x.to = bound{set: true, v: i}; return x }

// Step takes every n-th element; backwards, from the last one on, where n is negative.
func (x Index) Step(n int) Index { x.step = n; return x }

// Range takes the elements from … to−1: All().From(from).To(to).
func Range(from, to int) Index { return All().From(from).To(to) }

// Subscript takes a part of an array, as Python's x[1, :, 2::-1] does:
// Subscript(g, x, At(1), All(), All().From(2).Step(-1)). Dimensions without an index are taken
// whole. Ranges are cut to the array; an element outside of it is the sample's error.
func Subscript(g *pipeline.Graph, v pipeline.Value, index ...Index) pipeline.Value {
	const name = "tensor_subscript"
	given(g, name, v)
	in := v.Spec()
	a := newArgs(g, name, v)
	k := subscript{}
	out := datum.Spec{DType: in.DType}
	named := in.Layout != "" || len(in.Shape) == 0
	dims := 0
	for _, x := range index {
		if x.kind != newDimension {
			dims++
		}
	}
	if dims > len(in.Shape) {
		g.Fail(name, fmt.Errorf("%d indices for an input of %d dimensions", dims, len(in.Shape)))
	}
	for ; dims < len(in.Shape); dims++ {
		index = append(index[:len(index):len(index)], All())
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	dims = 0
	for _, x := range index {
		d := subscriptDim{kind: x.kind, step: x.step, from: a.end(x.from), to: a.end(x.to)}
		k.dims = append(k.dims, d)
		if x.kind == newDimension {
			out.Shape, out.Layout = append(out.Shape, 1), out.Layout+datum.Layout(x.name)
			named = named && len(x.name) == 1
			if len(x.name) > 1 {
				g.Fail(name, fmt.Errorf("the new dimension has the name %q; one letter is wanted", x.name))
			}
			continue
		}
		extent := in.Shape[dims]
		if x.kind == aRange {
			if x.step == 0 {
				g.Fail(name, errors.New("the step of a range is 0; another number is wanted"))
				return pipeline.Value{}
			}
			out.Shape = append(out.Shape, -1)
			if in.Layout != "" {
				out.Layout += in.Layout[dims : dims+1]
			}
		}
		if extent >= 0 && !x.from.v.Set() && !x.to.v.Set() {
			_, n, err := d.place(dims, extent, x.from.at, x.to.at)
			g.Fail(name, err)
			if x.kind == aRange {
				out.Shape[len(out.Shape)-1] = n
			}
		}
		dims++
	}
	if !named {
		out.Layout = ""
	}
	k.layout = out.Layout
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{out}, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})
}

// end is number for an end of a range.
func (a *args) end(b bound) end {
	if s := b.v.Spec(); b.v.Set() && !arrays.IsInteger(s.DType) && s.DType != datum.Float64 {
		a.g.Fail(a.op, fmt.Errorf("an index is %s; integers are wanted", s))
	}
	return end{b.set, a.number("an index", b.v, float64(b.at))}
}

type end struct {
	set bool
	arg arg
}

type subscriptDim struct {
	kind     indexKind
	from, to end
	step     int
}

// place returns the first element and how many are taken of a dimension of so many elements.
func (d *subscriptDim) place(dim, extent, from, to int) (first, n int, err error) {
	if d.kind == oneElement {
		at := from
		if at < 0 {
			at += extent
		}
		if at < 0 || at >= extent {
			return 0, 0, fmt.Errorf("there is no element %d in dimension %d, which has %d", from, dim, extent)
		}
		return at, 1, nil
	}
	lo, hi := 0, extent // of what an end may be
	if d.step < 0 {
		lo, hi = -1, extent-1
	}
	cut := func(set bool, at, otherwise int) int {
		if !set {
			return otherwise
		}
		if at < 0 {
			at += extent
		}
		return min(max(at, lo), hi)
	}
	if d.step > 0 {
		first, to = cut(d.from.set, from, lo), cut(d.to.set, to, hi)
		return first, max(0, (to-first+d.step-1)/d.step), nil
	}
	first, to = cut(d.from.set, from, hi), cut(d.to.set, to, lo)
	return first, max(0, (first-to-d.step-1)/-d.step), nil
}

type subscript struct {
	dims   []subscriptDim
	layout datum.Layout

	first, step, count, shape []int
}

func (k *subscript) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	k.first, k.step, k.count, k.shape = k.first[:0], k.step[:0], k.count[:0], k.shape[:0]
	for i := range k.dims {
		d := &k.dims[i]
		if d.kind == newDimension {
			k.shape = append(k.shape, 1)
			continue
		}
		from, err := d.from.arg.of(in)
		if err != nil {
			return err
		}
		to, err := d.to.arg.of(in)
		if err != nil {
			return err
		}
		dim := len(k.first)
		first, n, err := d.place(dim, in[0].Shape()[dim], int(from), int(to))
		if err != nil {
			return err
		}
		k.first, k.step, k.count = append(k.first, first), append(k.step, max(d.step, 1)), append(k.count, n)
		if d.kind == aRange {
			k.step[dim] = d.step
			k.shape = append(k.shape, n)
		}
	}
	dst, err := out[0].ResizeAs(in[0].DType(), k.shape...)
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	return arrays.Stride(dst, in[0].Bytes(), in[0].DType().Size(), in[0].Shape(), k.first, k.step, k.count)
}
