package ops

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// RandAugmentOptions configures RandAugment.
type RandAugmentOptions struct {
	AugmentOptions
	Ops       int  // operations for each picture, one after the other, 1 … 64; default 2
	Magnitude *int // of all operations, 0 … Bins-1; default 9
	Bins      int  // different magnitudes of an operation, 2 or more; default 31
}

// randAugmentSpace is the list of the paper.
var randAugmentSpace = []magnitudes{
	{do: unchanged},
	{shearX, 0, 0.3, nil, eitherSign},
	{shearY, 0, 0.3, nil, eitherSign},
	{translateX, 0, 150. / 331, ofWidth, eitherSign},
	{translateY, 0, 150. / 331, ofHeight, eitherSign},
	{rotateBy, 0, 30, nil, eitherSign},
	{brighten, 0, 0.9, nil, eitherSign},
	{saturate, 0, 0.9, nil, eitherSign},
	{contrastBy, 0, 0.9, nil, eitherSign},
	{sharpen, 0, 0.9, nil, eitherSign},
	{posterize, 8, 4, nil, wholeBits},
	{solarize, 1, 0, nil, fixedSign},
	{do: autoContrast},
	{do: equalize},
}

// RandAugment changes each picture by random operations of one magnitude (Cubuk and others:
// RandAugment, 2020), as torchvision v2 does. Pictures are uint8 RGB, H×W×3.
func RandAugment(g *pipeline.Graph, v pipeline.Value, o RandAugmentOptions) pipeline.Value {
	const name = "rand_augment"
	if o.Ops == 0 {
		o.Ops = 2
	}
	bins, magnitude := binsOf(g, name, o.Bins), 9
	if o.Magnitude != nil {
		magnitude = *o.Magnitude
	}
	switch {
	case o.Ops < 0 || o.Ops > 64:
		g.Fail(name, fmt.Errorf("Ops is %d; it must be 1 … 64", o.Ops))
	case magnitude < 0 || magnitude >= bins:
		g.Fail(name, fmt.Errorf("Magnitude is %d; it must be 0 … %d, one less than Bins", magnitude, bins-1))
	}
	config := fmt.Sprintf("ops=%d magnitude=%d bins=%d", o.Ops, magnitude, bins)
	return addAugmentation(g, name, v, o.AugmentOptions, config, randAugment(o.Ops, magnitude, bins))
}

func randAugment(n, magnitude, bins int) func(r *datum.Rand, h, w int, steps []step) []step {
	return func(r *datum.Rand, h, w int, steps []step) []step {
		for range n {
			steps = append(steps, anyOf(r, randAugmentSpace).draw(r, magnitude, bins, h, w))
		}
		return steps
	}
}
