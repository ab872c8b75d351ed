package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// AugMixOptions configures AugMix.
type AugMixOptions struct {
	AugmentOptions
	Severity  int     // how strong operations are, 1 … 10; default 3
	Width     int     // chains of operations that are mixed, 1 … 64; default 3
	Depth     int     // operations of a chain, up to 64; default 1 … 3, drawn for each chain
	Alpha     float64 // of the distributions of shares; default 1
	Geometric bool    // without brightness, colour, contrast and sharpness, which some test sets are corrupted by
}

// augMixBins is how many magnitudes an operation has, of which Severity allows the first.
const augMixBins = 10

// augMixSpace is torchvision's list; the last four change tones.
var augMixSpace = []magnitudes{
	{shearX, 0, 0.3, nil, eitherSign},
	{shearY, 0, 0.3, nil, eitherSign},
	{translateX, 0, 1. / 3, ofWidth, eitherSign},
	{translateY, 0, 1. / 3, ofHeight, eitherSign},
	{rotateBy, 0, 30, nil, eitherSign},
	{posterize, 4, 0, nil, wholeBits},
	{solarize, 1, 0, nil, fixedSign},
	{do: autoContrast},
	{do: equalize},
	{brighten, 0, 0.9, nil, eitherSign},
	{saturate, 0, 0.9, nil, eitherSign},
	{contrastBy, 0, 0.9, nil, eitherSign},
	{sharpen, 0, 0.9, nil, eitherSign},
}

// AugMix mixes each picture with what random chains of operations make of it (Hendrycks and
// others: AugMix, 2020), with the draws of torchvision v2. Levels are rounded, where torchvision
// cuts them off. Pictures are uint8 RGB, H×W×3.
func AugMix(g *pipeline.Graph, v pipeline.Value, o AugMixOptions) pipeline.Value {
	const name = "augmix"
	for _, f := range []struct {
		field    string
		value    *int
		def, max int
	}{{"Severity", &o.Severity, 3, augMixBins}, {"Width", &o.Width, 3, 64}, {"Depth", &o.Depth, 0, 64}} {
		if *f.value == 0 {
			*f.value = f.def
		}
		if *f.value < 0 || *f.value > f.max {
			g.Fail(name, fmt.Errorf("%s is %d; it must be 1 … %d", f.field, *f.value, f.max))
		}
	}
	if o.Alpha == 0 {
		o.Alpha = 1
	}
	if !(o.Alpha > 0 && o.Alpha <= math.MaxFloat32) {
		g.Fail(name, fmt.Errorf("Alpha is %g; it must be positive and finite", o.Alpha))
	}
	spec, k := augmentSpec(g, name, v, o.AugmentOptions, Linear)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	space := augMixSpace
	if o.Geometric {
		space = space[:len(space)-4]
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Expensive: true,
		Config: fmt.Sprintf("severity=%d width=%d depth=%d alpha=%g geometric=%t nearest=%t fill=%g %+v", o.Severity, o.Width, o.Depth, o.Alpha, o.Geometric, k.nearest, k.fill, k.random),
		New:    func() (datum.Kernel, error) { return &augMix{augmenter: k, o: o, space: space}, nil },
	})
}

type augMix struct {
	augmenter
	o      AugMixOptions
	space  []magnitudes
	steps  []step
	shares []float64 // of the picture, then of the chains
	sums   []float32
	chains []byte // what a chain makes
}

func (k *augMix) Release() {
	k.augmenter.Release()
	k.sums, k.chains = nil, nil
}

func (k *augMix) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	h, w, err := rgb(in[0])
	if err != nil {
		return err
	}
	n := 3 * h * w
	if err := k.room(c, h, w, n); err != nil {
		return err
	}
	dst, err := output(out[0], in[0], 0)
	if err != nil {
		return err
	}
	src, sums, made := in[0].Bytes(), k.sums[:n], k.chains[:n]
	k.rand = k.random.At(c)
	k.draw()
	for i, x := range src {
		sums[i] = float32(x) * float32(k.shares[0])
	}
	for _, share := range k.shares[1:] {
		k.chainOf(h, w)
		if err := k.chain(made, src, h, w, k.steps); err != nil {
			return err
		}
		for i, x := range made {
			sums[i] += float32(float32(x) * float32(share))
		}
	}
	for i, x := range sums {
		dst[i] = byte(max(0, min(x+0.5, 255)))
	}
	return nil
}

// room reserves what a picture of n bytes takes.
func (k *augMix) room(c *datum.Sample, h, w, n int) error {
	if cap(k.sums) < n {
		grown := n + n/4
		if err := c.Reserve(k.reserved() + int64(5*grown) + int64(5*cap(k.sums))); err != nil {
			return err
		}
		k.sums, k.chains = make([]float32, grown), make([]byte, grown)
	}
	depth := k.o.Depth
	if depth == 0 {
		depth = 3
	}
	return k.reserve(c, h, w, depth, int64(5*cap(k.sums)))
}

// draw draws the shares: that of the picture is of a beta distribution, those of the chains are
// of a Dirichlet distribution.
func (k *augMix) draw() {
	k.shares = slices.Grow(k.shares[:0], k.o.Width+1)[:k.o.Width+1]
	x, y := logGamma(&k.rand, k.o.Alpha), logGamma(&k.rand, k.o.Alpha)
	own := 1 / (1 + math.Exp(y-x))
	most := math.Inf(-1)
	for i := range k.shares[1:] {
		k.shares[i+1] = logGamma(&k.rand, k.o.Alpha)
		most = max(most, k.shares[i+1])
	}
	sum := 0.0
	for i, x := range k.shares[1:] {
		k.shares[i+1] = math.Exp(x - most)
		sum += k.shares[i+1]
	}
	k.shares[0] = own
	for i := range k.shares[1:] {
		k.shares[i+1] *= (1 - own) / sum
	}
}

// chainOf draws the operations of a chain.
func (k *augMix) chainOf(h, w int) {
	depth := k.o.Depth
	if depth == 0 {
		depth = 1 + k.rand.IntN(3)
	}
	k.steps = k.steps[:0]
	for range depth {
		m := anyOf(&k.rand, k.space)
		k.steps = append(k.steps, m.draw(&k.rand, k.rand.IntN(k.o.Severity), augMixBins, h, w))
	}
}
