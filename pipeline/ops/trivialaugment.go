package ops

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// TrivialAugmentOptions configures TrivialAugmentWide.
type TrivialAugmentOptions struct {
	AugmentOptions
	Bins int // different magnitudes of an operation, 2 or more; default 31
}

// trivialAugmentSpace is the list of the paper under Wide.
var trivialAugmentSpace = []magnitudes{
	{do: unchanged},
	{shearX, 0, 0.99, nil, eitherSign},
	{shearY, 0, 0.99, nil, eitherSign},
	{translateX, 0, 32, nil, eitherSign},
	{translateY, 0, 32, nil, eitherSign},
	{rotateBy, 0, 135, nil, eitherSign},
	{brighten, 0, 0.99, nil, eitherSign},
	{saturate, 0, 0.99, nil, eitherSign},
	{contrastBy, 0, 0.99, nil, eitherSign},
	{sharpen, 0, 0.99, nil, eitherSign},
	{posterize, 8, 2, nil, wholeBits},
	{solarize, 1, 0, nil, fixedSign},
	{do: autoContrast},
	{do: equalize},
}

// TrivialAugmentWide changes each picture by one operation of 14, of a random magnitude (Müller
// and Hutter: TrivialAugment, 2021), as torchvision v2 does. Pictures are uint8 RGB, H×W×3.
func TrivialAugmentWide(g *pipeline.Graph, v pipeline.Value, o TrivialAugmentOptions) pipeline.Value {
	const name = "trivial_augment_wide"
	bins := binsOf(g, name, o.Bins)
	return addAugmentation(g, name, v, o.AugmentOptions, fmt.Sprint("bins=", bins), trivialAugment(bins))
}

func trivialAugment(bins int) func(r *datum.Rand, h, w int, steps []step) []step {
	return func(r *datum.Rand, h, w int, steps []step) []step {
		m := anyOf(r, trivialAugmentSpace)
		return append(steps, m.draw(r, r.IntN(bins), bins, h, w))
	}
}

// binsOf returns a number of magnitudes, or its default.
func binsOf(g *pipeline.Graph, name string, bins int) int {
	if bins == 0 {
		return 31
	}
	if bins < 2 {
		g.Fail(name, fmt.Errorf("Bins is %d; it must be 2 or more", bins))
	}
	return bins
}
