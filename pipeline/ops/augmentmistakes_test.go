package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

func TestMistakesWithAugmentations(t *testing.T) {
	many := 31
	for want, define := range map[string]func(g *pipeline.Graph, v pipeline.Value){
		"pipeline: trivial_augment_wide: Bins is 1; it must be 2 or more": func(g *pipeline.Graph, v pipeline.Value) {
			ops.TrivialAugmentWide(g, v, ops.TrivialAugmentOptions{Bins: 1})
		},
		"pipeline: rand_augment: Magnitude is 31; it must be 0 … 30, one less than Bins": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandAugment(g, v, ops.RandAugmentOptions{Magnitude: &many})
		},
		"pipeline: color_jitter: Contrast is 2 … 1; factors must be 0 or more, the smallest first": func(g *pipeline.Graph, v pipeline.Value) {
			ops.ColorJitter(g, v, ops.ColorJitterOptions{Contrast: [2]float64{2, 1}})
		},
		"pipeline: color_jitter: Hue is -1 … 1; it must lie in -0.5 … 0.5, the smallest first": func(g *pipeline.Graph, v pipeline.Value) {
			ops.ColorJitter(g, v, ops.ColorJitterOptions{Hue: [2]float64{-1, 1}})
		},
		"pipeline: random_erasing: Area is 0 … 2; it must lie in 0 … 1, the smallest first": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandomErasing(g, v, ops.RandomErasingOptions{Area: [2]float64{0, 2}})
		},
		"pipeline: random_erasing: the input is uint8 48; a picture H×W×C or C×H×W is wanted": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandomErasing(g, ops.Reshape(g, v, ops.ReshapeOptions{Shape: ops.Constant(g, 48)}), ops.RandomErasingOptions{})
		},
		"pipeline: augmix: Severity is 11; it must be 1 … 10": func(g *pipeline.Graph, v pipeline.Value) {
			ops.AugMix(g, v, ops.AugMixOptions{Severity: 11})
		},
		"pipeline: augmix: Alpha is -1; it must be positive and finite": func(g *pipeline.Graph, v pipeline.Value) {
			ops.AugMix(g, v, ops.AugMixOptions{Alpha: -1})
		},
		"pipeline: auto_augment: the input is missing": func(g *pipeline.Graph, v pipeline.Value) {
			ops.AutoAugment(g, pipeline.Value{}, ops.AutoAugmentOptions{})
		},
		"pipeline: auto_augment: Policy is AutoAugmentPolicy(3); it must be ForImageNet, ForCIFAR10 or ForSVHN": func(g *pipeline.Graph, v pipeline.Value) {
			ops.AutoAugment(g, v, ops.AutoAugmentOptions{Policy: 3})
		},
		"pipeline: rand_augment: Ops is -1; it must be 1 … 64": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandAugment(g, v, ops.RandAugmentOptions{Ops: -1})
		},
		"pipeline: rand_augment: Fill is 256; it must be 0 … 255": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandAugment(g, v, ops.RandAugmentOptions{AugmentOptions: ops.AugmentOptions{Fill: 256}})
		},
		"pipeline: rand_augment: Interp is 4; it must be Nearest or Linear": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandAugment(g, v, ops.RandAugmentOptions{AugmentOptions: ops.AugmentOptions{Interp: ops.Cubic}})
		},
		"pipeline: rand_augment: the input is float32 HWC 4×4×3; a uint8 RGB picture H×W×3 is wanted: augment before pictures are cast or normalized": func(g *pipeline.Graph, v pipeline.Value) {
			ops.RandAugment(g, ops.Cast(g, v, datum.Float32), ops.RandAugmentOptions{})
		},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
			in := readers.Slices(g, readers.SlicesOptions{}, picture(4, 4, 3, ramp(96)...))
			define(g, in[0])
			g.Output("x", in[0])
		})
		require.EqualError(t, err, want)
	}
}
