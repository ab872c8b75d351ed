package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// TrivialAugmentWide, RandAugment, AutoAugment and AugMix draw from one list of operations on
// uint8 RGB pictures, each of one magnitude. Operations, magnitudes and distributions are those
// of torchvision v2.

type augmentation uint8

const (
	unchanged augmentation = iota
	shearX
	shearY
	translateX
	translateY
	rotateBy
	brighten
	saturate // torchvision's Color
	contrastBy
	sharpen
	posterize
	solarize
	autoContrast
	equalize
	invert
	unknown // none: how many there are
)

// AugmentOptions says how augmentations move pixels.
type AugmentOptions struct {
	Interp Interp  // Nearest or Linear; default Nearest, of AugMix Linear
	Fill   float64 // level of what lies outside of the picture, 0 … 255; default 0
}

// step is one augmentation of a sample.
type step struct {
	do        augmentation
	magnitude float64
}

// magnitudes is an operation of a list, and how its magnitude grows from bin to bin.
type magnitudes struct {
	do       augmentation
	from, to float64
	of       func(h, w int) float64 // a factor; nil: 1
	kind     magnitudeKind
}

type magnitudeKind uint8

const (
	noMagnitude magnitudeKind = iota
	fixedSign
	eitherSign
	wholeBits
)

func ofWidth(_, w int) float64  { return float64(w) }
func ofHeight(h, _ int) float64 { return float64(h) }

// at returns the magnitude of a bin, before a sign is drawn.
func (m *magnitudes) at(bin, bins, h, w int) float64 {
	x := m.from + (m.to-m.from)*float64(bin)/float64(bins-1)
	switch {
	case m.kind == noMagnitude:
		return 0
	case m.kind == wholeBits:
		return math.RoundToEven(x)
	case m.of != nil:
		x *= m.of(h, w)
	}
	return x
}

// draw returns the operation with a bin's magnitude; half of those of either sign are negative.
func (m *magnitudes) draw(r *datum.Rand, bin, bins, h, w int) step {
	x := m.at(bin, bins, h, w)
	if m.kind == eitherSign && r.Float64() < 0.5 {
		x = -x
	}
	return step{m.do, x}
}

// anyOf draws an operation of a list.
func anyOf(r *datum.Rand, space []magnitudes) *magnitudes { return &space[r.IntN(len(space))] }

// augmentSpec checks what all augmentations ask for.
func augmentSpec(g *pipeline.Graph, name string, v pipeline.Value, o AugmentOptions, def Interp) (datum.Spec, augmenter) {
	s := uint8RGB(g, name, v)
	if !(o.Fill >= 0 && o.Fill <= 255) {
		g.Fail(name, fmt.Errorf("Fill is %g; it must be 0 … 255", o.Fill))
	}
	return s, augmenter{nearest: nearest(g, name, o.Interp, def), fill: float32(o.Fill), random: g.NewRandom()}
}

// uint8RGB checks that v is an RGB picture of bytes.
func uint8RGB(g *pipeline.Graph, name string, v pipeline.Value) datum.Spec {
	s := picture(g, name, v)
	if g.Err() == nil && (s.DType != datum.Uint8 || s.Shape[2] != 3 && s.Shape[2] >= 0) {
		g.Fail(name, fmt.Errorf("the input is %s; a uint8 RGB picture H×W×3 is wanted: augment before pictures are cast or normalized", s))
	}
	return s
}

// addAugmentation adds an operator that does the steps that draw appends for a sample.
func addAugmentation(g *pipeline.Graph, name string, v pipeline.Value, o AugmentOptions, config string, draw func(r *datum.Rand, h, w int, steps []step) []step) pipeline.Value {
	spec, k := augmentSpec(g, name, v, o, Nearest)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Expensive: true,
		Config: fmt.Sprintf("%s nearest=%t fill=%g %+v", config, k.nearest, k.fill, k.random),
		New:    func() (datum.Kernel, error) { return &augmentKernel{augmenter: k, draw: draw}, nil },
	})
}

type augmentKernel struct {
	augmenter
	draw  func(r *datum.Rand, h, w int, steps []step) []step
	steps []step
}

func (k *augmentKernel) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	h, w, err := rgb(in[0])
	if err != nil {
		return err
	}
	k.rand = k.random.At(c)
	k.steps = k.draw(&k.rand, h, w, k.steps[:0])
	if err := k.reserve(c, h, w, len(k.steps), 0); err != nil {
		return err
	}
	dst, err := output(out[0], in[0], 0)
	if err != nil {
		return err
	}
	return k.chain(dst, in[0].Bytes(), h, w, k.steps)
}

// rgb returns the extents of a picture of three channels.
func rgb(t *datum.Tensor) (h, w int, err error) {
	h, w, c, err := shape3(t)
	if err == nil && c != 3 {
		err = fmt.Errorf("the picture has %d channels; 3 are wanted", c)
	}
	return h, w, err
}

// augmenter does augmentations.
type augmenter struct {
	nearest bool
	fill    float32
	random  datum.Random

	rand datum.Rand
	work imaging.Warper
	bufs [2][]byte // pictures between one step and the next
}

// reserve makes room for the pictures between n steps; the kernel holds other bytes beside them.
func (k *augmenter) reserve(c *datum.Sample, h, w, n int, beside int64) error {
	size := 3 * h * w
	for i := range min(n-1, len(k.bufs)) {
		if cap(k.bufs[i]) < size {
			grown := size + size/4
			if err := c.Reserve(beside + k.reserved() + int64(grown)); err != nil {
				return err
			}
			k.bufs[i] = make([]byte, grown)
		}
	}
	return nil
}

func (k *augmenter) reserved() int64 { return int64(cap(k.bufs[0]) + cap(k.bufs[1])) }

// Release gives up what is kept from sample to sample.
func (k *augmenter) Release() { k.bufs = [2][]byte{} }

// chain does one step after the other.
func (k *augmenter) chain(dst, src []byte, h, w int, steps []step) error {
	if len(steps) == 0 {
		copy(dst, src)
		return nil
	}
	for i, s := range steps {
		to := dst
		if i < len(steps)-1 {
			to = slices.Grow(k.bufs[i%2][:0], len(src))[:len(src)]
		}
		if err := k.apply(to, src, h, w, s); err != nil {
			return plain(err)
		}
		src = to
	}
	return nil
}

// apply writes an augmented picture of h×w pixels.
func (k *augmenter) apply(dst, src []byte, h, w int, s step) error {
	m := s.magnitude
	switch s.do {
	case unchanged:
		copy(dst, src)
	case shearX:
		return k.move(dst, src, h, w, [6]float64{1, m, 0, 0, 1, 0})
	case shearY:
		return k.move(dst, src, h, w, [6]float64{1, 0, 0, m, 1, 0})
	case translateX:
		return k.move(dst, src, h, w, [6]float64{1, 0, -math.Trunc(m), 0, 1, 0})
	case translateY:
		return k.move(dst, src, h, w, [6]float64{1, 0, 0, 0, 1, -math.Trunc(m)})
	case rotateBy:
		sin, cos := math.Sincos(m * math.Pi / 180)
		return k.move(dst, src, h, w, imaging.Rotation(h, w, h, w, sin, cos))
	case brighten:
		imaging.ScaleTones(dst, src, 1+m)
	case saturate:
		imaging.SaturateTones(dst, src, 1+m)
	case contrastBy:
		imaging.ContrastTones(dst, src, 1+m)
	case sharpen:
		imaging.SharpenTones(dst, src, h, w, 1+m)
	case posterize:
		imaging.PosterizeTones(dst, src, int(m))
	case solarize:
		imaging.SolarizeTones(dst, src, 255*m)
	case autoContrast:
		imaging.StretchTones(dst, src)
	case equalize:
		imaging.EqualizeTones(dst, src)
	case invert:
		imaging.SolarizeTones(dst, src, 0)
	default:
		return errors.New("an unknown augmentation")
	}
	return nil
}

// move warps a picture within its size.
func (k *augmenter) move(dst, src []byte, h, w int, m [6]float64) error {
	if len(dst) == 0 {
		return nil
	}
	from := imaging.Image{Pix: src, Type: datum.Uint8, H: h, W: w, C: 3}
	return k.work.Apply(dst, datum.Uint8, h, w, &from, &imaging.WarpSpec{M: m, Nearest: k.nearest, Constant: true, Fill: k.fill})
}
