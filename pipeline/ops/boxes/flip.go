package boxes

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// FlipOptions configures Flip. Give the same numbers to ops.Flip of the picture.
type FlipOptions struct {
	Layout     Layout         // default LTRB
	Horizontal pipeline.Value // mirror left and right where it is not 0; default yes
	Vertical   pipeline.Value // mirror top and bottom where it is not 0; default no
	Anywhere   bool           // boxes may reach beyond their picture, as DALI lets them
}

// Flip mirrors boxes with their picture: DALI's bb_flip.
func Flip(g *pipeline.Graph, v pipeline.Value, o FlipOptions) pipeline.Value {
	const name = "bb_flip"
	spec := boxSpec(g, name, v, o.Layout)
	a := ops.NewArgs(g, name, v)
	k := flip{layout: o.Layout, anywhere: o.Anywhere, horizontal: a.Number("Horizontal", o.Horizontal, 1), vertical: a.Number("Vertical", o.Vertical, 0)}
	return g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Outputs: []datum.Spec{{DType: datum.Float32, Shape: spec.Shape}}, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})[0]
}

type flip struct {
	layout               Layout
	anywhere             bool
	horizontal, vertical ops.Number
}

func (k *flip) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	src, err := boxesOf(in[0], k.layout)
	if err != nil && (src == nil || !k.anywhere) {
		return err
	}
	if err := out[0].CopyFrom(in[0]); err != nil {
		return err
	}
	dst := out[0].Float32s()
	for axis, arg := range [2]ops.Number{k.horizontal, k.vertical} {
		yes, err := arg.Of(in)
		if err != nil {
			return err
		}
		for i := axis; yes != 0 && i < len(src); i += 4 {
			begin, end := src[i], src[i+2]
			if k.layout == XYWH {
				dst[i] = 1 - (begin + end)
				continue
			}
			dst[i], dst[i+2] = 1-end, 1-begin
		}
	}
	return nil
}
