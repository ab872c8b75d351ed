package ops

import (
	"errors"

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
		New: func() (datum.Kernel, error) { return cast{to}, nil },
	})
}

type cast struct{ to datum.DType }

func (k cast) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	mem, err := output(out[0], in[0], k.to)
	if err != nil {
		return err
	}
	return imaging.Cast(mem, k.to, in[0].Bytes(), in[0].DType())
}

// RunRows implements datum.RowsKernel.
func (k cast) RunRows(_ int, in, out []datum.Rows) bool {
	return imaging.Cast(out[0].Data, k.to, in[0].Data, in[0].Spec.DType) == nil
}

// CastLike is Cast to the type of another value, of which nothing else counts.
func CastLike(g *pipeline.Graph, v, like pipeline.Value) pipeline.Value {
	const name = "cast_like"
	given(g, name, v)
	given(g, name, like)
	if g.Err() == nil && like.Spec().DType == 0 {
		g.Fail(name, errors.New("the type of the second input is known only at run time; use Cast"))
	}
	return Cast(g, v, like.Spec().DType)
}
