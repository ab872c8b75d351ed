package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ReshapeOptions configures Reshape and Reinterpret. Shape and RelShape are mutually exclusive;
// one extent of either may be negative and becomes what is left of the elements.
type ReshapeOptions struct {
	Shape    pipeline.Value // extents of the result
	RelShape pipeline.Value // extents as multiples of those of the input, or of SrcDims
	// SrcDims are the dimensions of the input to which RelShape refers, one per dimension of
	// the result; -1 is a new one of extent 1. Without RelShape they are the result.
	SrcDims []int
	// Layout of the result; default that of the input if the number of dimensions stays.
	Layout   datum.Layout
	NoLayout bool // the result has no layout
}

// Reshape shows an array's elements, in their order, as an array of another shape or layout.
func Reshape(g *pipeline.Graph, v pipeline.Value, o ReshapeOptions) pipeline.Value {
	return reinterpret(g, "reshape", v, v.Spec().DType, o)
}

// Reinterpret shows an array's bytes as elements of another type. Without another shape the
// innermost extent changes with the size of the elements.
func Reinterpret(g *pipeline.Graph, v pipeline.Value, to datum.DType, o ReshapeOptions) pipeline.Value {
	element(g, "reinterpret", to)
	return reinterpret(g, "reinterpret", v, to, o)
}

func reinterpret(g *pipeline.Graph, name string, v pipeline.Value, to datum.DType, o ReshapeOptions) pipeline.Value {
	given(g, name, v)
	in := v.Spec()
	a := newArgs(g, name, v)
	k := reshape{layout: o.Layout, to: to, srcDims: o.SrcDims}
	if o.Shape.Set() {
		k.extents = a.list("Shape", o.Shape)
	}
	if o.RelShape.Set() {
		k.factors = a.list("RelShape", o.RelShape)
	}
	ndim, err := k.dims(in, o)
	g.Fail(name, err)
	switch {
	case o.Layout != "" && (o.NoLayout || len(o.Layout) != ndim):
		g.Fail(name, fmt.Errorf("Layout is %q, for %d dimensions; one letter for each is wanted", o.Layout, ndim))
	case o.Layout == "" && !o.NoLayout && ndim == len(in.Shape):
		k.layout = in.Layout
	case to == 0:
		g.Fail(name, errors.New("the type of the input is known only at run time; put a Cast behind what makes it"))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	k.shape = k.shapeOf
	out := datum.Spec{DType: to, Shape: k.static(g, name, in, o, ndim), Layout: k.layout}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{out}, Config: fmt.Sprint(to, o.SrcDims, k.extents, k.factors, k.layout),
		New: func() (datum.Kernel, error) { k := k; k.shape = k.shapeOf; return &k, nil },
	})
}

// dims returns the number of dimensions of the result.
func (k *reshape) dims(in datum.Spec, o ReshapeOptions) (int, error) {
	for _, d := range k.srcDims {
		if d < -1 || d >= len(in.Shape) {
			return 0, fmt.Errorf("SrcDims has %d; the input has %d dimensions", d, len(in.Shape))
		}
	}
	given, what := o.Shape, "Shape"
	if o.RelShape.Set() {
		given, what = o.RelShape, "RelShape"
	}
	switch {
	case o.Shape.Set() && o.RelShape.Set():
		return 0, errors.New("give Shape or RelShape, not both")
	case !given.Set() && k.srcDims != nil:
		return len(k.srcDims), nil
	case !given.Set() && o.Layout == "" && !o.NoLayout && k.to == in.DType:
		return 0, errors.New("nothing is asked for; set Shape, RelShape, SrcDims or a layout")
	case !given.Set():
		return len(in.Shape), nil
	}
	_, n := known(given)
	switch {
	case n < 0:
		return 0, fmt.Errorf("%s is %s; its length must be known", what, given.Spec())
	case o.RelShape.Set() && k.srcDims != nil && len(k.srcDims) != n:
		return 0, fmt.Errorf("SrcDims has %d dimensions and RelShape %d; as many are wanted", len(k.srcDims), n)
	case o.RelShape.Set() && k.srcDims == nil && n > len(in.Shape)+1:
		return 0, fmt.Errorf("RelShape has %d numbers for an input of %d dimensions; set SrcDims", n, len(in.Shape))
	}
	return n, nil
}

// static returns what is known of the result's shape.
func (k *reshape) static(g *pipeline.Graph, name string, in datum.Spec, o ReshapeOptions, ndim int) []int {
	unknown := make([]int, ndim)
	for i := range unknown {
		unknown[i] = -1
	}
	shape, _ := known(o.Shape)
	factors, _ := known(o.RelShape)
	if o.Shape.Set() && shape == nil || o.RelShape.Set() && factors == nil {
		return unknown
	}
	if in.Dense() {
		got, err := k.fit(nil, in.Shape, in.DType.Size(), shape, factors)
		g.Fail(name, err)
		return got
	}
	if o.Shape.Set() {
		for i, d := range shape {
			if d >= 0 {
				unknown[i] = int(d)
			}
		}
	}
	return unknown
}

// reshape copies elements to an array whose shape is what a function says.
type reshape struct {
	shape  func(dst []int, in []*datum.Tensor) ([]int, error)
	layout datum.Layout

	// Of Reshape and Reinterpret:
	to               datum.DType // 0: that of the input
	extents, factors listArg
	srcDims          []int

	extent []int
}

func (k *reshape) Run(_ *datum.Sample, in, out []*datum.Tensor) (err error) {
	if k.extent, err = k.shape(k.extent[:0], in); err != nil {
		return err
	}
	to := k.to
	if to == 0 {
		to = in[0].DType()
	}
	dst, err := out[0].ResizeAs(to, k.extent...)
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	copy(dst, in[0].Bytes())
	return nil
}

// RunRows implements datum.RowsKernel.
func (k *reshape) RunRows(_ int, in, out []datum.Rows) bool {
	return copy(out[0].Data, in[0].Data) == len(out[0].Data) && len(in[0].Data) == len(out[0].Data)
}

// shapeOf is shape for the arguments of a sample.
func (k *reshape) shapeOf(dst []int, in []*datum.Tensor) (_ []int, err error) {
	var extents, factors []float64
	switch {
	case k.extents.given():
		extents, err = k.extents.of(in)
	case k.factors.given():
		factors, err = k.factors.of(in)
	}
	if err != nil {
		return nil, err
	}
	return k.fit(dst, in[0].Shape(), in[0].DType().Size(), extents, factors)
}

// fit appends the shape that an array of shape in, with elements of size bytes, gets.
func (k *reshape) fit(dst, in []int, size int, extents, factors []float64) ([]int, error) {
	bytes := size
	for _, d := range in {
		bytes *= d
	}
	to := k.to.Size()
	switch {
	case extents != nil:
		for _, x := range extents {
			if x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
				return nil, fmt.Errorf("Shape has %g; integers are wanted", x)
			}
			dst = append(dst, int(x))
		}
	case factors != nil:
		for i, f := range factors {
			src := 1
			switch {
			case k.srcDims == nil && i < len(in):
				src = in[i]
			case k.srcDims != nil && k.srcDims[i] >= 0:
				src = in[k.srcDims[i]]
			case k.srcDims == nil && f >= 0:
				return nil, fmt.Errorf("RelShape has %d numbers for an input of %d dimensions; set SrcDims", len(factors), len(in))
			}
			if f < 0 {
				dst = append(dst, -1)
				continue
			}
			dst = append(dst, int(math.Round(float64(float32(f))*float64(src))))
		}
	case k.srcDims != nil:
		for _, d := range k.srcDims {
			if d < 0 {
				dst = append(dst, 1)
			} else {
				dst = append(dst, in[d])
			}
		}
	default:
		dst = append(dst, in...)
	}
	if extents == nil && factors == nil && to != size && len(dst) > 0 { // what is left, of the innermost dimension
		last := &dst[len(dst)-1]
		if *last*size%to != 0 {
			return nil, fmt.Errorf("%d elements of %d bytes are not elements of %d bytes; give a shape", *last, size, to)
		}
		*last = *last * size / to
	}
	return dst, fill(dst, in, bytes, to)
}

// fill sets the negative extent of shape, and checks that bytes fill it.
func fill(shape, in []int, bytes, size int) error {
	open, n := -1, size
	for i, d := range shape {
		switch {
		case d >= 0:
			n *= d
		case open >= 0:
			return fmt.Errorf("the shape %v has two negative extents; one at most can be found out", append([]int{}, shape...))
		default:
			open = i
		}
	}
	if open >= 0 && n > 0 && bytes%n == 0 {
		shape[open] = bytes / n
		return nil
	}
	if open >= 0 || n != bytes {
		return fmt.Errorf("an input of shape %v and %d bytes does not fill the shape %v of elements of %d bytes", append([]int{}, in...), bytes, append([]int{}, shape...), size)
	}
	return nil
}
