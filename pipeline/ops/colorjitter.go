package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ColorJitterOptions configures ColorJitter. Each field is the smallest and the largest value
// that is drawn, each between them as often; the zero value leaves its property as it is.
type ColorJitterOptions struct {
	Brightness [2]float64 // factor of levels
	Contrast   [2]float64 // factor of the distance from the picture's mean grey level
	Saturation [2]float64 // factor of the distance from each pixel's grey level
	Hue        [2]float64 // share of the circle of colours, -0.5 … 0.5
}

// ColorJitter changes brightness, contrast, saturation and hue of each picture by random values,
// in a random order, as torchvision v2 does: the brightness b there is Brightness {1-b, 1+b} here.
// Pictures are uint8 RGB, H×W×3. ColorTwist changes the same by one linear transform.
func ColorJitter(g *pipeline.Graph, v pipeline.Value, o ColorJitterOptions) pipeline.Value {
	const name = "color_jitter"
	spec := uint8RGB(g, name, v)
	for _, f := range []struct {
		field string
		r     [2]float64
	}{{"Brightness", o.Brightness}, {"Contrast", o.Contrast}, {"Saturation", o.Saturation}} {
		if r := f.r; !(r[0] >= 0 && r[0] <= r[1] && r[1] <= 1<<20) {
			g.Fail(name, fmt.Errorf("%s is %g … %g; factors must be 0 or more, the smallest first", f.field, r[0], r[1]))
		}
	}
	if r := o.Hue; !(r[0] >= -0.5 && r[0] <= r[1] && r[1] <= 0.5) {
		g.Fail(name, fmt.Errorf("Hue is %g … %g; it must lie in -0.5 … 0.5, the smallest first", r[0], r[1]))
	}
	random := g.NewRandom()
	if g.Err() != nil {
		return pipeline.Value{}
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Expensive: true,
		Config: fmt.Sprintf("%v %+v", o, random),
		New:    func() (datum.Kernel, error) { return &colorJitter{o: o, random: random}, nil },
	})
}

type colorJitter struct {
	o      ColorJitterOptions
	random datum.Random
	rand   datum.Rand
}

// tone is what a jitter changes.
type tone uint8

const (
	toneBrightness tone = iota
	toneContrast
	toneSaturation
	toneHue
)

// jitter is what is drawn for a sample: values, and the order in which they are applied.
type jitter struct {
	value [4]float64
	order [4]tone
}

func (k *colorJitter) draw(r *datum.Rand) (j jitter) {
	for i, span := range [...][2]float64{k.o.Brightness, k.o.Contrast, k.o.Saturation, k.o.Hue} {
		j.value[i], j.order[i] = r.Range(span[0], span[1]), tone(i)
	}
	for i := len(j.order) - 1; i > 0; i-- {
		n := r.IntN(i + 1)
		j.order[i], j.order[n] = j.order[n], j.order[i]
	}
	return j
}

func (k *colorJitter) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	if _, _, err := rgb(in[0]); err != nil {
		return err
	}
	dst, err := output(out[0], in[0], 0)
	if err != nil {
		return err
	}
	k.rand = k.random.At(c)
	j, src := k.draw(&k.rand), in[0].Bytes()
	spans := [...][2]float64{k.o.Brightness, k.o.Contrast, k.o.Saturation, k.o.Hue}
	for _, what := range j.order {
		if spans[what] == [2]float64{} {
			continue
		}
		switch x := j.value[what]; what {
		case toneBrightness:
			imaging.ScaleTones(dst, src, x)
		case toneContrast:
			imaging.ContrastTones(dst, src, x)
		case toneSaturation:
			imaging.SaturateTones(dst, src, x)
		case toneHue:
			imaging.TurnTones(dst, src, x)
		}
		src = dst // pixels change where they are
	}
	if len(dst) > 0 && &src[0] != &dst[0] {
		copy(dst, src)
	}
	return nil
}
