package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Cat joins arrays along one of their dimensions, counted from the back where it is negative.
// They have one type and, along the other dimensions, one shape; shapes that differ there are
// the sample's error. The layout is that of the first that has one.
func Cat(g *pipeline.Graph, axis int, vs ...pipeline.Value) pipeline.Value {
	const name = "cat"
	spec, ok := alike(g, name, vs)
	if !ok {
		return pipeline.Value{}
	}
	axis, err := axisOf(axis, len(spec.Shape))
	g.Fail(name, err)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	out := spec
	out.Shape = append([]int{}, spec.Shape...)
	for _, v := range vs[1:] {
		for i, d := range v.Spec().Shape {
			switch {
			case i == axis && (d < 0 || out.Shape[i] < 0):
				out.Shape[i] = -1
			case i == axis:
				out.Shape[i] += d
			case out.Shape[i] < 0:
				out.Shape[i] = d
			}
		}
	}
	return join(g, name, vs, out, axis, false)
}

// Stack joins arrays of one type and one shape along a new dimension, which stands at the given
// place of the result, counted from the back where it is negative. With the name of that
// dimension the result has a layout. Shapes that differ are the sample's error.
func Stack(g *pipeline.Graph, axis int, axisName string, vs ...pipeline.Value) pipeline.Value {
	const name = "stack"
	spec, ok := alike(g, name, vs)
	if !ok {
		return pipeline.Value{}
	}
	axis, err := axisOf(axis, len(spec.Shape)+1)
	g.Fail(name, err)
	switch {
	case len(axisName) > 1:
		g.Fail(name, fmt.Errorf("the new dimension has the name %q; one letter is wanted", axisName))
	case axisName != "" && spec.Layout == "" && len(spec.Shape) > 0:
		g.Fail(name, fmt.Errorf("the new dimension has the name %q, but those of the inputs have none; leave it out, or set a layout with Reshape", axisName))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	out := datum.Spec{DType: spec.DType}
	for i := range len(spec.Shape) + 1 {
		if i == axis {
			out.Shape = append(out.Shape, len(vs))
		}
		if i < len(spec.Shape) {
			out.Shape = append(out.Shape, spec.Shape[i])
		}
	}
	if axisName != "" {
		out.Layout = spec.Layout[:axis] + datum.Layout(axisName) + spec.Layout[axis:]
	}
	return join(g, name, vs, out, axis, true)
}

// alike checks inputs that are to be joined and returns what the first is, with the first
// layout.
func alike(g *pipeline.Graph, name string, vs []pipeline.Value) (datum.Spec, bool) {
	if len(vs) == 0 {
		g.Fail(name, errors.New("the inputs are missing"))
		return datum.Spec{}, false
	}
	for _, v := range vs {
		given(g, name, v)
	}
	spec := vs[0].Spec()
	for i, v := range vs {
		s := v.Spec()
		switch {
		case g.Err() != nil:
			return spec, false
		case s.DType != spec.DType || len(s.Shape) != len(spec.Shape):
			g.Fail(name, fmt.Errorf("input %d is %s and input 0 %s; one type and one number of dimensions are wanted", i, s, vs[0].Spec()))
		case spec.Layout == "":
			spec.Layout = s.Layout
		}
	}
	spec.Classes = 0
	return spec, g.Err() == nil
}

func join(g *pipeline.Graph, name string, vs []pipeline.Value, out datum.Spec, axis int, stack bool) pipeline.Value {
	return one(g, pipeline.Op{
		Name: name, Inputs: vs, Outputs: []datum.Spec{out}, Config: fmt.Sprint(axis, out.Layout),
		New: func() (datum.Kernel, error) { return &joiner{axis: axis, stack: stack, layout: out.Layout}, nil },
	})
}

// joiner joins arrays along a dimension, a new one where they are stacked.
type joiner struct {
	axis   int
	stack  bool
	layout datum.Layout
	shape  []int
}

func (k *joiner) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	first := in[0].Shape()
	inner := k.axis // the first dimension that is copied whole
	if !k.stack {
		inner++
	}
	total := 0
	for i, t := range in {
		for d := range first {
			if k.differs(first, t.Shape(), d) {
				return fmt.Errorf("input %d has shape %v and input 0 %v; they may differ %s", i, append([]int{}, t.Shape()...), append([]int{}, first...), k.where())
			}
		}
		if k.stack {
			total++
		} else {
			total += t.Shape()[k.axis]
		}
	}
	k.shape = append(append(append(k.shape[:0], first[:k.axis]...), total), first[inner:]...)
	dst, err := out[0].ResizeAs(in[0].DType(), k.shape...)
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	outer := k.outer(first)
	for o := range outer {
		for _, t := range in {
			dst = dst[copy(dst, rowOf(t.Bytes(), outer, o)):]
		}
	}
	return nil
}

// RunRows implements datum.RowsKernel: rows are one more dimension outside.
func (k *joiner) RunRows(n int, in, out []datum.Rows) bool {
	first, dst := in[0].Spec.Shape, out[0].Data
	for _, r := range in {
		for d := range first {
			if k.differs(first, r.Spec.Shape, d) {
				return false
			}
		}
	}
	outer := n * k.outer(first)
	for o := range outer {
		for _, r := range in {
			dst = dst[copy(dst, rowOf(r.Data, outer, o)):]
		}
	}
	return len(dst) == 0
}

// differs reports whether an input has another extent than the first one where it must not.
func (k *joiner) differs(first, shape []int, d int) bool {
	return shape[d] != first[d] && (k.stack || d != k.axis)
}

// outer returns how many blocks of an input lie one behind the other.
func (k *joiner) outer(shape []int) int {
	n := 1
	for _, d := range shape[:k.axis] {
		n *= d
	}
	return n
}

func (k *joiner) where() string {
	if k.stack {
		return "nowhere; crop or pad them first"
	}
	return fmt.Sprintf("along axis %d alone", k.axis)
}
