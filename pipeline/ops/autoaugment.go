package ops

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// AutoAugmentPolicy names the data set for which a policy of AutoAugment was found.
type AutoAugmentPolicy uint8

// The policies of the paper.
const (
	ForImageNet AutoAugmentPolicy = iota
	ForCIFAR10
	ForSVHN
)

var autoAugmentPolicies = []struct {
	name  string
	pairs []subPolicy
}{ForImageNet: {"imagenet", imageNetPolicy}, ForCIFAR10: {"cifar10", cifarPolicy}, ForSVHN: {"svhn", svhnPolicy}}

// String returns torchvision's name of the policy.
func (p AutoAugmentPolicy) String() string {
	if int(p) < len(autoAugmentPolicies) {
		return autoAugmentPolicies[p].name
	}
	return fmt.Sprintf("AutoAugmentPolicy(%d)", uint8(p))
}

// AutoAugmentOptions configures AutoAugment.
type AutoAugmentOptions struct {
	AugmentOptions
	Policy AutoAugmentPolicy // default ForImageNet
}

// autoAugmentBins is how many magnitudes an operation of a policy has.
const autoAugmentBins = 10

// autoAugmentSpace is the list of the paper: that of RandAugment, with Invert.
var autoAugmentSpace = append(slices.Clone(randAugmentSpace[1:]), magnitudes{do: invert})

// AutoAugment changes each picture by a random one of the 25 pairs of operations that a search
// found for a data set (Cubuk and others: AutoAugment, 2019), as torchvision v2 does. Pictures are
// uint8 RGB, H×W×3.
func AutoAugment(g *pipeline.Graph, v pipeline.Value, o AutoAugmentOptions) pipeline.Value {
	const name = "auto_augment"
	if int(o.Policy) >= len(autoAugmentPolicies) {
		g.Fail(name, fmt.Errorf("Policy is %v; it must be ForImageNet, ForCIFAR10 or ForSVHN", o.Policy))
		return pipeline.Value{}
	}
	pairs := autoAugmentPolicies[o.Policy].pairs
	return addAugmentation(g, name, v, o.AugmentOptions, "policy="+o.Policy.String(), func(r *datum.Rand, h, w int, steps []step) []step {
		return autoAugment(pairs, r, h, w, steps)
	})
}

func autoAugment(pairs []subPolicy, r *datum.Rand, h, w int, steps []step) []step {
	for _, p := range pairs[r.IntN(len(pairs))] {
		if r.Float64() >= p.probability {
			continue
		}
		at := slices.IndexFunc(autoAugmentSpace, func(m magnitudes) bool { return m.do == p.do })
		steps = append(steps, autoAugmentSpace[at].draw(r, p.bin, autoAugmentBins, h, w))
	}
	return steps
}
