package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// FlipOptions configures Flip. Both are numbers per sample: not 0 means yes.
type FlipOptions struct {
	Horizontal pipeline.Value // reverse the columns; default yes
	Vertical   pipeline.Value // reverse the rows; default no
}

// Flip mirrors a picture. Shape, type and layout stay.
func Flip(g *pipeline.Graph, v pipeline.Value, o FlipOptions) pipeline.Value {
	const name = "flip"
	spec := picture(g, name, v)
	a := newArgs(g, name, v)
	k := flip{
		horizontal: a.number("Horizontal", o.Horizontal, 1),
		vertical:   a.number("Vertical", o.Vertical, 0),
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec},
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
	})
}

type flip struct {
	horizontal, vertical arg
}

func (k *flip) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	hor, err := k.horizontal.of(in)
	if err != nil {
		return err
	}
	ver, err := k.vertical.of(in)
	if err != nil {
		return err
	}
	dst, err := out[0].ResizeAs(in[0].DType(), h, w, c)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	src, size := in[0].Bytes(), in[0].DType().Size()
	switch {
	case hor != 0 && ver != 0: // both at once turn the sequence of pixels around
		return imaging.Flip(dst, src, size, 1, h*w, c)
	case hor != 0:
		return imaging.Flip(dst, src, size, h, w, c)
	case ver != 0:
		return imaging.Flip(dst, src, size, 1, h, w*c)
	}
	copy(dst, src)
	return nil
}
