package ops

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// channelsLast checks that the last dimension of v's samples are channels, as of pictures
// H×W×C, sequences F×H×W×C and volumes D×H×W×C; channels, where it is not 0, is how many.
func channelsLast(g *pipeline.Graph, op string, v pipeline.Value, channels int) datum.Spec {
	given(g, op, v)
	s := v.Spec()
	n := len(s.Shape)
	switch l := string(s.Layout); {
	case g.Err() != nil:
	case n < 3 || l != "" && l[len(l)-1] != 'C':
		g.Fail(op, fmt.Errorf("the input is %s; a picture H×W×C (layout HWC) is wanted: %s", s, toPicture(s)))
	case channels > 0 && s.Shape[n-1] >= 0 && s.Shape[n-1] != channels:
		g.Fail(op, fmt.Errorf("the input is %s; %d channels are wanted", s, channels))
	}
	return s
}

// channelsOf returns the extent of the last dimension.
func channelsOf(t *datum.Tensor) int {
	s := t.Shape()
	if len(s) == 0 {
		return 1
	}
	return s[len(s)-1]
}

// wanted returns the type of an operator's output, that of the input where it is not set.
func wanted(g *pipeline.Graph, op string, to datum.DType, in datum.Spec) datum.DType {
	if to == 0 {
		return in.DType
	}
	element(g, op, to)
	return to
}

// output gives an output the shape and the layout of an input, and the type to, or the
// input's where it is 0.
func output(out, in *datum.Tensor, to datum.DType) ([]byte, error) {
	if to == 0 {
		to = in.DType()
	}
	out.SetLayout(in.Layout())
	return out.ResizeAs(to, in.Shape()...)
}
