package solvers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/solvers"
)

// paper is a rule as its paper writes it, for one weight in float64: kept belongs to that
// weight, step counts from 1.
type paper func(w, g float64, kept *[2]float64, step int) float64

func clipped(g, w, l2, clip float64) float64 {
	return math.Max(-clip, math.Min(clip, g+l2*w))
}

func paperAdam(o solvers.AdamOptions, decay float64) paper {
	return func(w, g float64, kept *[2]float64, step int) float64 {
		g = clipped(g, w, o.L2, o.Clip)
		kept[0] = o.Beta1*kept[0] + (1-o.Beta1)*g
		kept[1] = o.Beta2*kept[1] + (1-o.Beta2)*g*g
		mean := kept[0] / (1 - math.Pow(o.Beta1, float64(step)))
		square := kept[1] / (1 - math.Pow(o.Beta2, float64(step)))
		return w - o.LearnRate*(mean/(math.Sqrt(square)+o.Epsilon)+decay*w)
	}
}

func paperRMSProp(o solvers.RMSPropOptions) paper {
	return func(w, g float64, kept *[2]float64, _ int) float64 {
		g = clipped(g, w, o.L2, o.Clip)
		kept[0] = o.Decay*kept[0] + (1-o.Decay)*g*g
		return w - o.LearnRate*g/(math.Sqrt(kept[0])+o.Epsilon)
	}
}

func paperMomentum(o solvers.MomentumOptions) paper {
	return func(w, g float64, kept *[2]float64, _ int) float64 {
		kept[0] = o.Momentum*kept[0] - o.LearnRate*clipped(g, w, o.L2, o.Clip)
		return w + kept[0]
	}
}

var never = math.Inf(1)

// papers are the rules of kinds, in their order. The defaults are written out.
var papers = []paper{
	paperAdam(solvers.AdamOptions{LearnRate: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Clip: never}, 0),
	paperAdam(adamOptions, 0),
	paperAdam(solvers.AdamOptions{LearnRate: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Clip: never}, 0.01),
	paperAdam(solvers.AdamOptions{LearnRate: 0.02, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-4, Clip: 0.7}, 0.2),
	paperRMSProp(solvers.RMSPropOptions{LearnRate: 0.01, Decay: 0.99, Epsilon: 1e-8, Clip: never}),
	paperRMSProp(rmsPropOptions),
	paperMomentum(solvers.MomentumOptions{LearnRate: 0.001, Momentum: 0.9, Clip: never}),
	paperMomentum(momentumOptions),
	paperMomentum(solvers.MomentumOptions{LearnRate: 0.001, Clip: never}),
	paperMomentum(solvers.MomentumOptions{LearnRate: 0.02, L2: 0.1, Clip: 0.7}),
}

// Every rule computes what its paper says, on numbers of both types, for a thousand steps.
func TestTheFormulasOfThePapers(t *testing.T) {
	const steps = 1000
	for i, k := range kinds {
		for of, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
			t.Run(k.name+" "+of.String(), func(t *testing.T) {
				v := newValues(of, 1)
				var want [][]float64
				for _, w := range v.w {
					want = append(want, append([]float64(nil), floats(w)...))
				}
				kept := make([][100][2]float64, len(want))
				s, err := k.make(v.nodes())
				require.NoError(t, err)
				for step := range steps {
					v.gradients(7, step)
					for n := range want {
						for j, g := range floats(v.g[n]) {
							want[n][j] = papers[i](want[n][j], g, &kept[n][j], step+1)
						}
					}
					require.NoError(t, s.Step(v.model()))
					for n := range want {
						got, g := floats(v.w[n]), floats(v.g[n])
						for j, w := range want[n] {
							if !(math.Abs(got[j]-w) <= tolerance*(1+math.Abs(w))) || g[j] != 0 {
								t.Fatalf("step %d, node %d: weight %v, want %v; gradient %v", step, n, got[j], w, g[j])
							}
						}
					}
				}
				require.EqualValues(t, steps, s.Steps())
			})
		}
	}
}

// The learning rate is that of the step to come.
func TestTheLearningRateChanges(t *testing.T) {
	v := newValues(tensor.Float64, 1)
	s, err := solvers.NewVanilla(v.nodes(), solvers.VanillaOptions{LearnRate: 0.5})
	require.NoError(t, err)
	require.Equal(t, 0.5, s.LearnRate())
	for _, rate := range []float64{0.25, 0, 4} {
		require.NoError(t, s.SetLearnRate(rate))
		v.gradients(1, 1)
		g, w := floats(v.g[0])[3], floats(v.w[0])[3]
		require.NoError(t, s.Step(v.model()))
		require.Equal(t, w-rate*g, floats(v.w[0])[3])
	}
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1)} {
		require.ErrorContains(t, s.SetLearnRate(rate), "it must be a finite number, 0 or more")
		require.Equal(t, 4.0, s.LearnRate())
	}
}
