package ops

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// TransposeOptions configures Transpose.
type TransposeOptions struct {
	Perm       []int        // dimension i of the result is dimension Perm[i] of the input; default the dimensions backwards
	KeepLayout bool         // the result has the layout of the input; default its names go with the dimensions
	Layout     datum.Layout // of the result, instead of both
}

// Transpose reorders the dimensions of an array: HWC becomes CHW with Perm 2, 0, 1.
func Transpose(g *pipeline.Graph, v pipeline.Value, o TransposeOptions) pipeline.Value {
	const name = "transpose"
	given(g, name, v)
	in := v.Spec()
	perm := slices.Clone(o.Perm)
	if o.Perm == nil {
		for i := range in.Shape {
			perm = append(perm, len(in.Shape)-1-i)
		}
	}
	out := datum.Spec{DType: in.DType, Shape: make([]int, len(in.Shape)), Layout: in.Layout}
	sorted := slices.Sorted(slices.Values(perm))
	for i, d := range sorted {
		if i != d {
			g.Fail(name, fmt.Errorf("Perm is %v; every dimension must stand in it once", o.Perm))
		}
	}
	switch {
	case g.Err() != nil:
	case len(perm) != len(in.Shape):
		g.Fail(name, fmt.Errorf("Perm is %v, for an input of %d dimensions; one number for each is wanted", o.Perm, len(in.Shape)))
	case o.Layout != "" && len(o.Layout) != len(perm):
		g.Fail(name, fmt.Errorf("Layout is %q, for %d dimensions", o.Layout, len(perm)))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	names := make([]byte, len(in.Layout))
	for i, p := range perm {
		out.Shape[i] = in.Shape[p]
		if len(names) > 0 {
			names[i] = in.Layout[p]
		}
	}
	switch {
	case o.Layout != "":
		out.Layout = o.Layout
	case !o.KeepLayout:
		out.Layout = datum.Layout(names)
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{out}, Config: fmt.Sprint(perm, out.Layout),
		New: func() (datum.Kernel, error) { return &transpose{perm: perm, layout: out.Layout}, nil },
	})
}

type transpose struct {
	perm   []int
	layout datum.Layout
	shape  []int
}

func (k *transpose) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	k.shape = k.shape[:0]
	for _, p := range k.perm {
		k.shape = append(k.shape, in[0].Shape()[p])
	}
	dst, err := out[0].ResizeAs(in[0].DType(), k.shape...)
	if err != nil {
		return err
	}
	out[0].SetLayout(k.layout)
	return plain(imaging.Transpose(dst, in[0].Bytes(), in[0].DType().Size(), in[0].Shape(), k.perm))
}
