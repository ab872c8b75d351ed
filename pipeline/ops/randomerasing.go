package ops

import (
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// RandomErasingOptions configures RandomErasing.
type RandomErasingOptions struct {
	Probability *float64       // of pictures that lose a region; default 0.5
	Area        [2]float64     // share of the picture's area, smallest and largest; default 0.02 … 0.33
	Aspect      [2]float64     // height / width of the region, smallest and largest; default 0.3 … 3.3
	Fill        pipeline.Value // one number per sample, or one per channel; default 0
}

// erasingAttempts is how often a region is drawn before the picture stays as it is.
const erasingAttempts = 10

// RandomErasing fills a random region of each picture (Zhong and others: Random Erasing Data
// Augmentation, 2020), drawn as torchvision v2 does. Pictures are H×W×C or C×H×W, of any type but
// float16. Behind CropMirrorNormalize the default of Fill, 0, is the mean.
func RandomErasing(g *pipeline.Graph, v pipeline.Value, o RandomErasingOptions) pipeline.Value {
	const name = "random_erasing"
	given(g, name, v)
	k := erasing{probability: 0.5, area: o.Area, aspect: o.Aspect, random: g.NewRandom()}
	if o.Probability != nil {
		k.probability = *o.Probability
	}
	if o.Area == [2]float64{} {
		k.area = [2]float64{0.02, 0.33}
	}
	if o.Aspect == [2]float64{} {
		k.aspect = [2]float64{0.3, 3.3}
	}
	switch s := v.Spec(); {
	case g.Err() != nil:
	case len(s.Shape) != 3 || s.Layout != "" && s.Layout != datum.HWC && s.Layout != datum.CHW:
		g.Fail(name, fmt.Errorf("the input is %s; a picture H×W×C or C×H×W is wanted", s))
	case s.DType == datum.Float16:
		g.Fail(name, fmt.Errorf("the input is %s; erase before it is cast", s))
	case !(k.probability >= 0 && k.probability <= 1):
		g.Fail(name, fmt.Errorf("Probability is %g; it must be 0 … 1", k.probability))
	case !(k.area[0] >= 0 && k.area[0] <= k.area[1] && k.area[1] <= 1):
		g.Fail(name, fmt.Errorf("Area is %g … %g; it must lie in 0 … 1, the smallest first", k.area[0], k.area[1]))
	case !(k.aspect[0] > 0 && k.aspect[0] <= k.aspect[1] && k.aspect[1] <= math.MaxFloat32):
		g.Fail(name, fmt.Errorf("Aspect is %g … %g; it must be positive, the smallest first", k.aspect[0], k.aspect[1]))
	case s.Layout == datum.CHW:
		k.first = 1
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	spec := v.Spec()
	spec.Classes = 0 // Fill is no label
	a := newArgs(g, name, v)
	k.fill, k.channels = fills{list: a.list("Fill", o.Fill, 0)}, 2-2*k.first
	op := pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	}
	op.Fuse = func(p *pipeline.Op) *pipeline.Op { return eraseBehind(p, op) }
	return one(g, op)
}

type erasing struct {
	probability  float64
	area, aspect [2]float64
	first        int // the dimension of rows
	channels     int // that of channels
	fill         fills
	random       datum.Random
	start, end   [3]int
}

func (k *erasing) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	dims, t := in[0].Shape(), in[0].DType()
	fill, err := k.fill.of(in, t, dims[k.channels])
	if err != nil {
		return err
	}
	dst, err := ownCopy(out[0], in[0])
	if err != nil {
		return err
	}
	r := k.random.At(c)
	region := k.draw(&r, dims[k.first], dims[k.first+1])
	k.start, k.end = [3]int{}, [3]int(dims)
	k.start[k.first], k.end[k.first] = region.y0, region.y1
	k.start[k.first+1], k.end[k.first+1] = region.x0, region.x1
	return plain(imaging.FillRegion(dst, t.Size(), dims, k.start[:], k.end[:], fill, k.channels))
}

// draw draws a region that is smaller than the picture both ways.
func (k *erasing) draw(r *datum.Rand, h, w int) rectangle {
	if r.Float64() >= k.probability {
		return rectangle{}
	}
	for range erasingAttempts {
		area := float64(h*w) * r.Range(k.area[0], k.area[1])
		aspect := math.Exp(r.Range(math.Log(k.aspect[0]), math.Log(k.aspect[1])))
		dh, dw := int(math.RoundToEven(math.Sqrt(area*aspect))), int(math.RoundToEven(math.Sqrt(area/aspect)))
		if dh < h && dw < w {
			y, x := r.IntN(h-dh+1), r.IntN(w-dw+1)
			return rectangle{y, x, y + dh, x + dw}
		}
	}
	return rectangle{}
}
