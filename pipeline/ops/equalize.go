package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Equalize equalizes the histogram of every channel of a uint8 picture: H×W×C, C×H×W
// (layout CHW) or H×W. Type, shape and layout stay; any other input is refused.
func Equalize(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	const name = "equalize"
	given(g, name, v)
	spec := v.Spec()
	n := len(spec.Shape)
	known := spec.Layout == "" || n == 2 && spec.Layout == "HW" || n == 3 && (spec.Layout == datum.HWC || spec.Layout == datum.CHW)
	if g.Err() == nil && (spec.DType != datum.Uint8 || n != 2 && n != 3 || !known) {
		g.Fail(name, fmt.Errorf("the input is %s; a uint8 picture HWC, CHW or HW is wanted", spec))
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Expensive: true,
		New: each(func(_ *datum.Sample, in, out []*datum.Tensor) error {
			dst, err := output(out[0], in[0], 0)
			if err != nil {
				return err
			}
			s := in[0].Shape()
			outer, channels, inner := 1, 1, in[0].Len()
			switch {
			case len(s) == 3 && in[0].Layout() == datum.CHW:
				channels, inner = s[0], s[1]*s[2]
			case len(s) == 3:
				outer, channels, inner = s[0]*s[1], s[2], 1
			}
			return plain(imaging.Equalize(dst, in[0].Bytes(), outer, channels, inner))
		}),
	})
}
