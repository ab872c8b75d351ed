package ops

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// RandomWindowOptions configures RandomWindow.
type RandomWindowOptions struct {
	Area     [2]float64 // share of the picture's area, smallest and largest; default 0.08 … 1
	Aspect   [2]float64 // width / height, smallest and largest; default 3/4 … 4/3
	Attempts int        // draws before the largest fitting region in the middle is taken; default 10
}

// RandomWindow draws the region that DecodeRandomCrop decodes, for a picture of a given shape,
// height and width first: DALI's random_crop_generator. It returns the first row and column and
// height and width, int64 arrays of two, for Slice of a picture and of its mask alike.
func RandomWindow(g *pipeline.Graph, shape pipeline.Value, o RandomWindowOptions) (anchor, extents pipeline.Value) {
	const name = "random_crop_generator"
	given(g, name, shape)
	if s := shape.Spec(); len(s.Shape) != 1 || s.Shape[0] >= 0 && s.Shape[0] < 2 {
		g.Fail(name, fmt.Errorf("the input is %s; the shape of a picture is wanted, height and width first", s))
	}
	crop := newRandomCrop(g, name, o.Area, o.Aspect, o.Attempts)
	if g.Err() != nil {
		return
	}
	a := newArgs(g, name)
	k := randomWindow{shape: a.list("the shape", shape), crop: crop}
	two := datum.Spec{DType: datum.Int64, Shape: []int{2}}
	vs := g.Add(pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{two, two}, Config: crop.config(),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})
	return vs[0], vs[1]
}

type randomWindow struct {
	shape listArg
	crop  *randomCrop
}

func (k *randomWindow) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	xs, err := k.shape.of(in)
	if err != nil {
		return err
	}
	const most = 1 << 24
	if len(xs) < 2 || !(xs[0] >= 1 && xs[1] >= 1 && xs[0] <= most && xs[1] <= most) {
		return fmt.Errorf("a picture of shape %v; height and width, 1 … 2²⁴, are wanted", append([]float64{}, xs...))
	}
	r := k.crop.draw(c, int(xs[0]), int(xs[1]))
	for i, p := range [2][2]int{{r.Min.Y, r.Min.X}, {r.Dy(), r.Dx()}} {
		if _, err := out[i].Resize(2); err != nil {
			return err
		}
		d := out[i].Int64s()
		d[0], d[1] = int64(p[0]), int64(p[1])
	}
	return nil
}
