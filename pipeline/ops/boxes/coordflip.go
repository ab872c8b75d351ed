package boxes

import (
	"fmt"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// CoordFlipOptions configures CoordFlip.
type CoordFlipOptions struct {
	Layout                    string         // the order of a point's coordinates, as "xy"; default x, xy or xyz after their number
	FlipX, FlipY, FlipZ       pipeline.Value // mirror the coordinate where it is not 0; default x alone
	CenterX, CenterY, CenterZ pipeline.Value // where the mirror stands; default 0.5
}

// CoordFlip mirrors points, float32 N×D in any unit: a coordinate x becomes 2·center − x.
func CoordFlip(g *pipeline.Graph, v pipeline.Value, o CoordFlipOptions) pipeline.Value {
	const name = "coord_flip"
	s := v.Spec()
	ok := v.Set() && s.DType == datum.Float32 && len(s.Shape) == 2 && s.Shape[1] >= 0
	if !ok {
		g.Fail(name, fmt.Errorf("the input is %s; points, float32 N×D with a known D, are wanted", s))
		return pipeline.Value{}
	}
	if d := s.Shape[1]; o.Layout == "" && d <= 3 {
		o.Layout = "xyz"[:d]
	}
	a := ops.NewArgs(g, name, v)
	k := coordFlip{}
	flips, centers := [3]pipeline.Value{o.FlipX, o.FlipY, o.FlipZ}, [3]pipeline.Value{o.CenterX, o.CenterY, o.CenterZ}
	for i, c := range o.Layout {
		axis := strings.IndexRune("xyz", c)
		if axis < 0 || strings.ContainsRune(o.Layout[:i], c) {
			g.Fail(name, fmt.Errorf("Layout is %q; x, y and z are wanted, each at most once", o.Layout))
			return pipeline.Value{}
		}
		flip := 0.0
		if axis == 0 {
			flip = 1
		}
		k.flips = append(k.flips, a.Number("Flip"+strings.ToUpper(string(c)), flips[axis], flip))
		k.centers = append(k.centers, a.Number("Center"+strings.ToUpper(string(c)), centers[axis], 0.5))
	}
	if len(o.Layout) != s.Shape[1] {
		g.Fail(name, fmt.Errorf("Layout is %q for points of %d coordinates; one letter for each is wanted", o.Layout, s.Shape[1]))
	}
	return g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Outputs: []datum.Spec{s}, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})[0]
}

type coordFlip struct{ flips, centers []ops.Number } // by coordinate

func (k *coordFlip) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	if err := out[0].CopyFrom(in[0]); err != nil {
		return err
	}
	points := out[0].Float32s()
	for i := range k.flips {
		yes, err := k.flips[i].Of(in)
		if err != nil {
			return err
		}
		center, err := k.centers[i].Of(in)
		if err != nil {
			return err
		}
		for j := i; yes != 0 && j < len(points); j += len(k.flips) {
			points[j] = 2*float32(center) - points[j]
		}
	}
	return nil
}
