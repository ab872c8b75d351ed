package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// dimsOf returns dimensions of s by their numbers, negative ones counted from the back, or by
// their names in its layout; all of them where neither is given. Each may be named once. A
// list that is there but empty names none.
func dimsOf(s datum.Spec, axes []int, names string) ([]int, error) {
	if axes != nil && names != "" {
		return nil, errors.New("give Axes or AxisNames, not both")
	}
	found := []int{}
	if axes == nil && names == "" {
		for i := range s.Shape {
			found = append(found, i)
		}
	}
	for _, c := range names {
		i := strings.IndexRune(string(s.Layout), c)
		if i < 0 {
			return nil, fmt.Errorf("axis %q is not in the layout %q of the input", c, s.Layout)
		}
		found = append(found, i)
	}
	for _, i := range axes {
		axis, err := axisOf(i, len(s.Shape))
		if err != nil {
			return nil, err
		}
		found = append(found, axis)
	}
	for n, i := range found {
		if slices.Contains(found[:n], i) {
			return nil, fmt.Errorf("axis %d is named twice", i)
		}
	}
	return found, nil
}

// someDims is dimsOf for an operator that has nothing to do without a dimension.
func someDims(g *pipeline.Graph, op string, s datum.Spec, axes []int, names string) []int {
	found, err := dimsOf(s, axes, names)
	if axes != nil && len(axes) == 0 {
		err = errors.New("Axes is empty; name dimensions, or leave it nil for the default")
	}
	g.Fail(op, err)
	return found
}

// axisOf returns axis i of ndim dimensions, counted from the back where it is negative.
func axisOf(i, ndim int) (int, error) {
	if i < -ndim || i >= ndim {
		return 0, fmt.Errorf("axis %d is not one of the %d dimensions of the input", i, ndim)
	}
	if i < 0 {
		i += ndim
	}
	return i, nil
}

// without returns a layout without some of its dimensions.
func without(l datum.Layout, removed []bool) datum.Layout {
	var kept strings.Builder
	for i := range l {
		if !removed[i] {
			kept.WriteByte(l[i])
		}
	}
	return datum.Layout(kept.String())
}

// channelAxis returns the dimension of channels, the last where a picture has no layout, -1
// where there is none.
func channelAxis(s datum.Spec) int {
	if s.Layout == "" && len(s.Shape) == 3 {
		return 2
	}
	return strings.IndexByte(string(s.Layout), 'C')
}

// spatial returns the dimensions of a picture or an array that are no channels and no
// frames; at most two or three, which filters work along.
func spatial(g *pipeline.Graph, op string, v pipeline.Value) (axes []int) {
	given(g, op, v)
	s := v.Spec()
	c := channelAxis(s)
	for i := range s.Shape {
		if i != c && !(i < len(s.Layout) && s.Layout[i] == 'F') {
			axes = append(axes, i)
		}
	}
	if g.Err() == nil && (len(axes) < 1 || len(axes) > 3) {
		g.Fail(op, fmt.Errorf("the input is %s; a picture is wanted, with one to three dimensions beside channels and frames", s))
	}
	return axes
}
