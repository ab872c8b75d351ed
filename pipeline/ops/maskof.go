package ops

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// MaskOf returns a copy of a mask H×W×C of any type, and makes it an error of the sample if its picture
// H×W×C has another height or width: operators that change both alike see one of them at a
// time, and a mask of another size would come out shifted or stretched.
func MaskOf(g *pipeline.Graph, img, mask pipeline.Value) pipeline.Value {
	const name = "mask_of"
	spec, p := picture(g, name, mask), picture(g, name, img)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	for i := range 2 {
		switch {
		case spec.Shape[i] < 0:
			spec.Shape = append([]int{}, spec.Shape...)
			spec.Shape[i] = p.Shape[i]
		case p.Shape[i] >= 0 && p.Shape[i] != spec.Shape[i]:
			g.Fail(name, fmt.Errorf("the mask is %s and the picture %s; one height and width is wanted", mask.Spec(), p))
			return pipeline.Value{}
		}
	}
	return one(g, pipeline.Op{Name: name, Inputs: []pipeline.Value{img, mask}, Outputs: []datum.Spec{spec}, New: each(copyMask)})
}

func copyMask(_ *datum.Sample, in, out []*datum.Tensor) error {
	ph, pw, _, err := shape3(in[0])
	if err != nil {
		return err
	}
	h, w, _, err := shape3(in[1])
	if err != nil {
		return err
	}
	if h != ph || w != pw {
		return fmt.Errorf("the mask has %d×%d pixels and its picture %d×%d; make them alike, or leave the pair out", h, w, ph, pw)
	}
	return out[0].CopyFrom(in[1])
}
