package ops

import (
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Cast converts elements to another type. Values outside the range of an
// integer type become its nearest end; fractions are rounded to the nearest
// integer, halves away from zero. The shape stays.
func Cast(g *pipeline.Graph, v pipeline.Value, to datum.DType) pipeline.Value {
	spec := v.Spec()
	given(g, "cast", v)
	element(g, "cast", to)
	spec.DType = to
	return one(g, pipeline.Op{
		Name: "cast", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Config: to.String(),
		New: each(func(_ *datum.Sample, in, out []*datum.Tensor) error {
			mem, err := out[0].Resize(in[0].Shape()...)
			if err != nil {
				return err
			}
			out[0].SetLayout(in[0].Layout())
			return imaging.Cast(mem, dtype(to), in[0].Bytes(), dtype(in[0].DType()))
		}),
	})
}
