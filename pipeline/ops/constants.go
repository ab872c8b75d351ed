package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Constants are the same numbers for every sample: an array of one dimension and of type t, or
// a scalar where there is one number. Numbers that t does not hold are refused. Arithmetic
// counts with the type: Mul(g, bytes, Constants(g, datum.Float32, 1.5)) is float32, where a
// Constant, which is float64, would make it float64.
func Constants(g *pipeline.Graph, t datum.DType, xs ...float64) pipeline.Value {
	const name = "constants"
	element(g, name, t)
	var shape []int
	if len(xs) != 1 {
		shape = []int{len(xs)}
	}
	mem := make([]byte, len(xs)*t.Size())
	if g.Err() == nil {
		g.Fail(name, convertExactly(mem, t, xs))
	}
	return one(g, pipeline.Op{
		Name: name, Outputs: []datum.Spec{{DType: t, Shape: shape}},
		Config: fmt.Sprint(t, xs), Detail: constant(xs),
		New: func() (datum.Kernel, error) { return constantKernel{shape, mem}, nil },
	})
}

type constantKernel struct {
	shape []int
	mem   []byte
}

func (k constantKernel) Run(_ *datum.Sample, _, out []*datum.Tensor) error {
	dst, err := out[0].Resize(k.shape...)
	copy(dst, k.mem)
	return err
}

// RunRows implements datum.RowsKernel.
func (k constantKernel) RunRows(n int, _, out []datum.Rows) bool {
	for dst := out[0].Data; len(dst) > 0; {
		dst = dst[copy(dst, k.mem):]
	}
	return true
}

// convertExactly writes numbers as elements of type t. Only what a floating-point type rounds
// may differ.
func convertExactly(mem []byte, t datum.DType, xs []float64) error {
	if err := imaging.Cast(mem, t, datum.BytesOf(xs), datum.Float64); err != nil {
		return err
	}
	if t == datum.Float16 || t == datum.Float32 || t == datum.Float64 {
		return nil
	}
	back := make([]float64, len(xs))
	if err := imaging.Cast(datum.BytesOf(back), datum.Float64, mem, t); err != nil {
		return err
	}
	for i, x := range xs {
		if back[i] != x {
			return fmt.Errorf("%g is not %v; give a number that it holds, or another type", x, t)
		}
	}
	return nil
}
