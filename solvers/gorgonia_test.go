//go:build !cuda

package solvers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/solvers"
)

// network is a machine that computes the gradients of a random network on random data.
type network struct {
	vm    gorgonia.VM
	model gorgonia.Nodes
	input *tensor.Dense
	seed  uint64
}

// newNetwork makes a network with one to three layers and a scalar that scales its output
// if asked for. The same seed makes the same one.
func newNetwork(t *testing.T, of tensor.Dtype, seed uint64, scalar bool) *network {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	g := gorgonia.NewGraph()
	n := &network{seed: seed}
	weights := func(name string, rows, cols int) *gorgonia.Node {
		node := gorgonia.NewMatrix(g, of, gorgonia.WithShape(rows, cols), gorgonia.WithName(name),
			gorgonia.WithValue(value(of, tensor.Shape{rows, cols}, func() float64 { return r.NormFloat64() / math.Sqrt(float64(rows)) })))
		n.model = append(n.model, node)
		return node
	}
	rows, width := 1+r.IntN(6), 2+r.IntN(6)
	n.input = tensor.New(tensor.WithShape(rows, width), tensor.Of(of))
	x := gorgonia.NewMatrix(g, of, gorgonia.WithShape(rows, width), gorgonia.WithName("x"), gorgonia.WithValue(n.input))
	for layer := range 1 + r.IntN(3) {
		to := 2 + r.IntN(6)
		w, b := weights(fmt.Sprintf("w%d", layer), width, to), weights(fmt.Sprintf("b%d", layer), 1, to)
		x = gorgonia.Must(gorgonia.Tanh(gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))))
		width = to
	}
	if scalar {
		scale := gorgonia.NewScalar(g, of, gorgonia.WithName("scale"), gorgonia.WithValue(value(of, nil, func() float64 { return 1.5 })))
		n.model = append(n.model, scale)
		x = gorgonia.Must(gorgonia.Mul(x, scale))
	}
	cost := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(x, gorgonia.NewConstant(tensor.Ones(of, rows, width))))))))
	_, err := gorgonia.Grad(cost, n.model...)
	require.NoError(t, err)
	n.vm = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(n.model...))
	t.Cleanup(func() { n.vm.Close() })
	return n
}

// step takes one step on the data of that number.
func (n *network) step(t *testing.T, s gorgonia.Solver, number int) {
	t.Helper()
	fill(n.input, rand.New(rand.NewPCG(n.seed, uint64(number)+10)).NormFloat64)
	require.NoError(t, n.vm.RunAll())
	require.NoError(t, s.Step(gorgonia.NodesToValueGrads(n.model)))
	n.vm.Reset()
}

// weights returns copies of all weights.
func (n *network) weights() (all []float64) {
	for _, node := range n.model {
		all = append(all, floats(node.Value())...)
	}
	return all
}

// Training with these solvers is training with Gorgonia's, but for rounding, with the same
// options. RMSProp's ε is chosen too small to matter, since Gorgonia adds it inside the root.
// Gorgonia rounds 1 - β to a multiple of 2⁻²⁴ where weights are float32, which is the
// larger tolerance.
func TestGorgoniasSolversAgree(t *testing.T) {
	for name, both := range map[string]struct {
		theirs func() gorgonia.Solver
		ours   func(gorgonia.Nodes) (*solvers.Solver, error)
		scalar bool // Gorgonia is right on scalars, too
	}{
		"Adam": {
			func() gorgonia.Solver { return gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01)) },
			func(m gorgonia.Nodes) (*solvers.Solver, error) {
				return solvers.NewAdam(m, solvers.AdamOptions{LearnRate: 0.01})
			}, true,
		},
		"Adam, all options": {
			func() gorgonia.Solver {
				return gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.02), gorgonia.WithBeta1(0.8), gorgonia.WithBeta2(0.95),
					gorgonia.WithEps(1e-4), gorgonia.WithL2Reg(0.1), gorgonia.WithClip(0.7))
			},
			func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewAdam(m, adamOptions) }, true,
		},
		"RMSProp": {
			func() gorgonia.Solver {
				return gorgonia.NewRMSPropSolver(gorgonia.WithLearnRate(0.003), gorgonia.WithRho(0.9), gorgonia.WithEps(1e-30))
			},
			func(m gorgonia.Nodes) (*solvers.Solver, error) {
				return solvers.NewRMSProp(m, solvers.RMSPropOptions{LearnRate: 0.003, Decay: 0.9, Epsilon: 1e-30})
			}, true,
		},
		"Momentum": {
			func() gorgonia.Solver {
				return gorgonia.NewMomentum(gorgonia.WithLearnRate(0.02), gorgonia.WithMomentum(0.8), gorgonia.WithClip(0.05))
			},
			func(m gorgonia.Nodes) (*solvers.Solver, error) {
				return solvers.NewMomentum(m, solvers.MomentumOptions{LearnRate: 0.02, Momentum: 0.8, Clip: 0.05})
			}, false,
		},
		"Vanilla": {
			func() gorgonia.Solver {
				return gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.02), gorgonia.WithL2Reg(0.1), gorgonia.WithClip(0.7))
			},
			func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewVanilla(m, vanillaOptions) }, true,
		},
	} {
		for of, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-3} {
			t.Run(name+" "+of.String(), func(t *testing.T) {
				for seed := range uint64(4) {
					a, b := newNetwork(t, of, seed, both.scalar), newNetwork(t, of, seed, both.scalar)
					before := a.weights()
					ours, err := both.ours(b.model)
					require.NoError(t, err)
					theirs := both.theirs()
					for step := range 100 {
						a.step(t, theirs, step)
						b.step(t, ours, step)
					}
					require.InDeltaSlice(t, a.weights(), b.weights(), tolerance, "network %d", seed)
					require.NotEqual(t, before, b.weights())
				}
			})
		}
	}
}

// What the package's documentation says of Gorgonia's solvers is so: it is to be changed
// when this fails.
func TestWhereGorgoniaIsWrong(t *testing.T) {
	t.Run("AdamW learns nothing", func(t *testing.T) {
		n := newNetwork(t, tensor.Float64, 1, false)
		before, s := n.weights(), gorgonia.NewAdamW()
		for step := range 10 {
			n.step(t, s, step)
		}
		require.Equal(t, before, n.weights())
	})
	// one takes two steps with a gradient of 1 for a weight of 1.
	one := func(t *testing.T, s gorgonia.Solver, scalar bool) (after []float64) {
		shape := tensor.Shape{1}
		if scalar {
			shape = nil
		}
		w := value(tensor.Float64, shape, func() float64 { return 1 })
		for range 2 {
			g := value(tensor.Float64, shape, func() float64 { return 1 })
			require.NoError(t, s.Step([]gorgonia.ValueGrad{&holder{name: "w", w: w, g: g}}))
			after = append(after, floats(w)[0])
		}
		return after
	}
	t.Run("Momentum forgets scalars", func(t *testing.T) {
		momentum := func() gorgonia.Solver {
			return gorgonia.NewMomentum(gorgonia.WithLearnRate(0.1), gorgonia.WithMomentum(0.5))
		}
		require.InDeltaSlice(t, []float64{0.9, 0.75}, one(t, momentum(), false), 1e-12)
		require.InDeltaSlice(t, []float64{0.9, 0.8}, one(t, momentum(), true), 1e-12)
	})
	t.Run("Momentum takes the penalty of the velocity", func(t *testing.T) {
		s := gorgonia.NewMomentum(gorgonia.WithLearnRate(0.1), gorgonia.WithMomentum(0.5), gorgonia.WithL2Reg(1))
		require.InDelta(t, 0.9, one(t, s, false)[0], 1e-12, "with the weight's it is 0.8")
	})
	t.Run("RMSProp clips behind the mean", func(t *testing.T) {
		s := gorgonia.NewRMSPropSolver(gorgonia.WithLearnRate(0.1), gorgonia.WithRho(0.5), gorgonia.WithClip(0.5))
		require.InDelta(t, 1-0.1*0.5/math.Sqrt(0.5), one(t, s, false)[0], 1e-6, "clipped before, it is 1 - 0.1/√0.5")
	})
	t.Run("RMSProp does not clip scalars", func(t *testing.T) {
		s := gorgonia.NewRMSPropSolver(gorgonia.WithLearnRate(0.1), gorgonia.WithRho(0.5), gorgonia.WithClip(0.5))
		require.InDelta(t, 1-0.1/math.Sqrt(0.5), one(t, s, true)[0], 1e-6)
	})
	t.Run("RMSProp decays without the learning rate", func(t *testing.T) {
		s := gorgonia.NewRMSPropSolver(gorgonia.WithLearnRate(0), gorgonia.WithL2Reg(0.25))
		require.InDelta(t, 0.75, one(t, s, false)[0], 1e-6)
	})
}
