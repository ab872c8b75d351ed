package ops

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Squeeze removes dimensions of extent 1, given by their numbers, negative ones counted from
// the back, or by their names in the layout. An extent other than 1 is an error.
func Squeeze(g *pipeline.Graph, v pipeline.Value, axes []int, axisNames string) pipeline.Value {
	const name = "squeeze"
	given(g, name, v)
	in := v.Spec()
	if axes == nil && axisNames == "" {
		g.Fail(name, fmt.Errorf("no axes are given; name those to be removed"))
	}
	found, err := dimsOf(in, axes, axisNames)
	g.Fail(name, err)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	removed := make([]bool, len(in.Shape))
	out := datum.Spec{DType: in.DType, Classes: in.Classes}
	for i, d := range in.Shape {
		removed[i] = slices.Contains(found, i)
		switch {
		case !removed[i]:
			out.Shape = append(out.Shape, d)
		case d >= 0 && d != 1:
			g.Fail(name, wrongExtent(i, d))
		}
	}
	out.Layout = without(in.Layout, removed)
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{out}, Config: fmt.Sprint(found),
		New: func() (datum.Kernel, error) {
			return &reshape{layout: out.Layout, shape: func(dst []int, in []*datum.Tensor) ([]int, error) {
				for i, d := range in[0].Shape() {
					switch {
					case !removed[i]:
						dst = append(dst, d)
					case d != 1:
						return nil, wrongExtent(i, d)
					}
				}
				return dst, nil
			}}, nil
		},
	})
}

func wrongExtent(axis, extent int) error {
	return fmt.Errorf("axis %d has extent %d; only dimensions of extent 1 can be removed", axis, extent)
}

// ExpandDims inserts dimensions of extent 1, so that they stand at the given places of the
// result. Their names are inserted in the layout, which is empty without names.
func ExpandDims(g *pipeline.Graph, v pipeline.Value, axes []int, newAxisNames string) pipeline.Value {
	const name = "expand_dims"
	given(g, name, v)
	in := v.Spec()
	ndim := len(in.Shape) + len(axes)
	switch {
	case newAxisNames != "" && len(newAxisNames) != len(axes):
		g.Fail(name, fmt.Errorf("%d names for %d axes; one for each is wanted", len(newAxisNames), len(axes)))
	case newAxisNames != "" && in.Layout == "" && len(in.Shape) > 0:
		g.Fail(name, fmt.Errorf("the new dimensions have the names %q, but those of the input have none; leave them out, or set a layout with Reshape", newAxisNames))
	}
	place := make([]int, ndim) // 0 for a dimension of the input, else the number of the axis, from 1
	for i, axis := range axes {
		switch {
		case axis < 0 || axis >= ndim:
			g.Fail(name, fmt.Errorf("axis %d is not one of the %d dimensions of the result", axis, ndim))
		case place[axis] != 0:
			g.Fail(name, fmt.Errorf("axis %d is named twice", axis))
		default:
			place[axis] = i + 1
		}
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	expand := func(dst, shape []int) []int {
		for _, p := range place {
			if p != 0 {
				dst = append(dst, 1)
				continue
			}
			dst, shape = append(dst, shape[0]), shape[1:]
		}
		return dst
	}
	out := datum.Spec{DType: in.DType, Shape: expand(nil, in.Shape), Classes: in.Classes}
	if newAxisNames != "" || len(axes) == 0 {
		old := in.Layout
		for _, p := range place {
			if p != 0 {
				out.Layout += datum.Layout(newAxisNames[p-1 : p])
			} else if old != "" {
				out.Layout, old = out.Layout+old[:1], old[1:]
			}
		}
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{out}, Config: fmt.Sprint(place, out.Layout),
		New: func() (datum.Kernel, error) {
			return &reshape{layout: out.Layout, shape: func(dst []int, in []*datum.Tensor) ([]int, error) {
				return expand(dst, in[0].Shape()), nil
			}}, nil
		},
	})
}
