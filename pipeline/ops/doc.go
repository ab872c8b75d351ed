// Package ops holds the operators of a pipeline under the names of NVIDIA
// DALI's, which they follow: docs/operators.md says what agrees and what does
// not. Each adds itself to a graph and returns its output; a mistake, such as a
// picture operator on a label, comes out of pipeline.New and names the operator.
//
// Pictures are uint8 H×W×C (layout HWC) unless an operator says otherwise,
// values 0 … 255. Sizes are in pixels, height before width. An option of type
// pipeline.Value takes a number per sample, such as the result of CoinFlip;
// Constant makes one of a fixed number, and none means the option's default.
package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// dtype returns the element type under the name that the kernels use.
func dtype(t datum.DType) imaging.DType { return imaging.DType(t) }

// given checks that the input v is there.
func given(g *pipeline.Graph, op string, v pipeline.Value) {
	if !v.Set() {
		g.Fail(op, errors.New("the input is missing"))
	}
}

// element checks that t is an element type.
func element(g *pipeline.Graph, op string, t datum.DType) {
	if t.Size() == 0 {
		g.Fail(op, fmt.Errorf("DType is %v, which is no element type", t))
	}
}

// picture checks that v is a picture in HWC order and returns what is known of
// it.
func picture(g *pipeline.Graph, op string, v pipeline.Value) datum.Spec {
	given(g, op, v)
	s := v.Spec()
	switch {
	case g.Err() != nil:
	case len(s.Shape) != 3 || (s.Layout != datum.HWC && s.Layout != ""):
		g.Fail(op, fmt.Errorf("the input is %s; a picture H×W×C (layout HWC) is wanted: %s", s, toPicture(s)))
	}
	return s
}

// toPicture says what makes a picture of an array that is none.
func toPicture(s datum.Spec) string {
	switch {
	case s.Layout == datum.CHW:
		return "put this operator before the one that makes CHW, or have that make HWC"
	case len(s.Shape) > 1:
		return "give it a third dimension for its channels, one for grey"
	}
	return "decode it first"
}

// pictureSpec returns the spec of a picture; negative extents are not known.
func pictureSpec(t datum.DType, h, w, c int) datum.Spec {
	return datum.Spec{DType: t, Layout: datum.HWC, Shape: []int{h, w, c}}
}

// one adds an operator with one output.
func one(g *pipeline.Graph, op pipeline.Op) pipeline.Value { return g.Add(op)[0] }

// each makes a New of a kernel that has no state.
func each(run func(c *datum.Sample, in, out []*datum.Tensor) error) func() (datum.Kernel, error) {
	return func() (datum.Kernel, error) { return datum.KernelFunc(run), nil }
}

// shape3 returns the extents of a picture.
func shape3(t *datum.Tensor) (h, w, c int, err error) {
	s := t.Shape()
	if len(s) != 3 {
		return 0, 0, 0, fmt.Errorf("the input has shape %v, a picture H×W×C is wanted", s)
	}
	return s[0], s[1], s[2], nil
}

// plain returns a kernel's error without the operator's name, which the
// pipeline adds.
func plain(err error) error {
	if err == nil {
		return nil
	}
	var bad *imaging.ArgumentError // on the heap, so behind the return of the common case
	if errors.As(err, &bad) {
		return errors.New(bad.What)
	}
	return err
}
