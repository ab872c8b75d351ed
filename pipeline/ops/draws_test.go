package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Distributions have the moments that they should have, whatever the number of workers, with
// arguments per sample as with fixed ones.
func TestDraws(t *testing.T) {
	const n, per = 200, 100
	many := ops.DrawOptions{Shape: []int{per}}
	c := func(g *pipeline.Graph, xs ...float64) pipeline.Value { return ops.Constant(g, xs...) }
	for name, d := range map[string]struct {
		define         func(g *pipeline.Graph, half pipeline.Value) pipeline.Value
		mean, variance float64
		lo, hi         float64
	}{
		"normal": {func(g *pipeline.Graph, _ pipeline.Value) pipeline.Value {
			return ops.Normal(g, ops.NormalOptions{DrawOptions: many, Mean: c(g, 3), StdDev: c(g, 2)})
		}, 3, 4, -20, 20},
		"normal by sample": {func(g *pipeline.Graph, half pipeline.Value) pipeline.Value {
			return ops.Normal(g, ops.NormalOptions{DrawOptions: many, Mean: half, StdDev: half})
		}, 0.5, 0.25, -10, 10},
		"uniform": {func(g *pipeline.Graph, half pipeline.Value) pipeline.Value {
			return ops.Uniforms(g, ops.UniformOptions{DrawOptions: many, Max: half})
		}, -0.25, 1.5 * 1.5 / 12, -1, 0.5},
		"values": {func(g *pipeline.Graph, _ pipeline.Value) pipeline.Value {
			return ops.Uniforms(g, ops.UniformOptions{DrawOptions: many, Values: c(g, 1, 2, 6)})
		}, 3, 14. / 3, 1, 6},
		"coins": {func(g *pipeline.Graph, half pipeline.Value) pipeline.Value {
			return ops.CoinFlips(g, ops.CoinFlipOptions{DrawOptions: many, Probability: half})
		}, 0.5, 0.25, 0, 1},
		"beta": {func(g *pipeline.Graph, half pipeline.Value) pipeline.Value {
			return ops.Beta(g, ops.BetaOptions{DrawOptions: many, Alpha: half, Beta: c(g, 2)})
		}, 0.2, 0.2 * 0.8 / 3.5, 0, 1},
		"choice": {func(g *pipeline.Graph, _ pipeline.Value) pipeline.Value {
			return ops.Choice(g, ops.Constants(g, datum.Int16, 10, 20, 30), ops.ChoiceOptions{Shape: []int{per}, P: c(g, 0.5, 0, 0.5)})
		}, 20, 100, 10, 30},
		"choice of n": {func(g *pipeline.Graph, _ pipeline.Value) pipeline.Value {
			return ops.Choice(g, ops.Constants(g, datum.Int32, 5), ops.ChoiceOptions{Shape: []int{per}})
		}, 2, 2, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var first []array
			for workers := 1; workers <= 2; workers++ {
				got, err := epoch(t, pipeline.Options{BatchSize: 7, Workers: workers, Seed: 3}, func(g *pipeline.Graph) {
					half := make([]float32, n)
					for i := range half {
						half[i] = 0.5
					}
					g.Output("out", d.define(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(half))[0]))
				})
				require.NoError(t, err)
				if first == nil {
					first = got["out"]
				}
				require.Equal(t, first, got["out"])
			}
			sum, squares := 0.0, 0.0
			for _, a := range first {
				require.Equal(t, []int{per}, a.shape)
				for _, x := range a.data {
					require.True(t, d.lo <= x && x <= d.hi, x)
					sum += x
					squares += (x - d.mean) * (x - d.mean)
				}
			}
			require.Len(t, first, n)
			require.InDelta(t, d.mean, sum/n/per, 5*math.Sqrt(d.variance/n/per))
			require.InDelta(t, d.variance, squares/n/per, 0.05*d.variance)
		})
	}
}

// A window lies in its picture, has the area and aspect ratio that were asked for, and cuts a
// picture and its mask alike.
func TestRandomWindow(t *testing.T) {
	got, err := epoch(t, pipeline.Options{Seed: 2}, func(g *pipeline.Graph) {
		shapes := make([]int32, 3*300)
		for i := range 300 {
			copy(shapes[3*i:], []int32{40, 60, 3})
		}
		shape := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(shapes, 3))[0]
		anchor, extents := ops.RandomWindow(g, shape, ops.RandomWindowOptions{Area: [2]float64{0.2, 0.5}, Aspect: [2]float64{0.5, 2}})
		g.Output("anchor", anchor)
		g.Output("extents", extents)
		mask := ops.Constants(g, datum.Uint8, make([]float64, 40*60)...)
		mask = ops.Reshape(g, mask, ops.ReshapeOptions{Shape: ops.Constant(g, 40, 60)})
		g.Output("mask", ops.Slice(g, mask, ops.SliceOptions{Start: anchor, Shape: extents}))
	})
	require.NoError(t, err)
	for i, a := range got["anchor"] {
		y, x, h, w := a.data[0], a.data[1], got["extents"][i].data[0], got["extents"][i].data[1]
		require.True(t, y >= 0 && x >= 0 && y+h <= 40 && x+w <= 60)
		require.InDelta(t, 0.35, h*w/(40*60), 0.17)
		require.InDelta(t, 1.25, w/h, 0.8)
		require.Equal(t, []int{int(h), int(w)}, got["mask"][i].shape)
	}
	require.Len(t, got["anchor"], 300)
}

func TestDrawMistakes(t *testing.T) {
	number := readers.Rows([]float64{-1})
	for want, define := range map[string]func(g *pipeline.Graph, v pipeline.Value) pipeline.Value{
		"normal: StdDev is -1; it must not be negative": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Normal(g, ops.NormalOptions{StdDev: v})
		},
		"uniform: the range is [1, -1); it must be finite and not empty": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Uniforms(g, ops.UniformOptions{Min: ops.Constant(g, 1), Max: v})
		},
		"coin_flip: Probability is -1; it must be 0 … 1": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.CoinFlips(g, ops.CoinFlipOptions{Probability: v})
		},
		"choice: the probabilities add up to 0.5; 1 is wanted": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Choice(g, ops.Constant(g, 1, 2), ops.ChoiceOptions{P: ops.Constant(g, 0.25, 0.25)})
		},
		"choice: P has 1 values; 2 are wanted": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Choice(g, ops.Constant(g, 1, 2), ops.ChoiceOptions{P: v})
		},
		"beta: Alpha is -1 and Beta 1; both must be positive and finite": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return ops.Beta(g, ops.BetaOptions{Alpha: v})
		},
	} {
		require.Contains(t, fails(t, number, define), "readers.Slices[0]: "+want)
	}
}
