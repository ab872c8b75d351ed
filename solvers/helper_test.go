package solvers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/solvers"
)

// kind is a way to make a solver.
type kind struct {
	name string
	make func(gorgonia.Nodes) (*solvers.Solver, error)
}

// kinds are solvers of every rule, with the defaults and with all options.
var kinds = []kind{
	{"Adam", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewAdam(m, solvers.AdamOptions{}) }},
	{"Adam, all options", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewAdam(m, adamOptions) }},
	{"AdamW", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewAdamW(m, solvers.AdamWOptions{}) }},
	{"AdamW, all options", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewAdamW(m, adamWOptions) }},
	{"RMSProp", func(m gorgonia.Nodes) (*solvers.Solver, error) {
		return solvers.NewRMSProp(m, solvers.RMSPropOptions{})
	}},
	{"RMSProp, all options", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewRMSProp(m, rmsPropOptions) }},
	{"Momentum", func(m gorgonia.Nodes) (*solvers.Solver, error) {
		return solvers.NewMomentum(m, solvers.MomentumOptions{})
	}},
	{"Momentum, all options", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewMomentum(m, momentumOptions) }},
	{"Vanilla", func(m gorgonia.Nodes) (*solvers.Solver, error) {
		return solvers.NewVanilla(m, solvers.VanillaOptions{})
	}},
	{"Vanilla, all options", func(m gorgonia.Nodes) (*solvers.Solver, error) { return solvers.NewVanilla(m, vanillaOptions) }},
}

var (
	adamOptions     = solvers.AdamOptions{LearnRate: 0.02, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-4, L2: 0.1, Clip: 0.7}
	adamWOptions    = solvers.AdamWOptions{LearnRate: 0.02, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-4, WeightDecay: 0.2, Clip: 0.7}
	rmsPropOptions  = solvers.RMSPropOptions{LearnRate: 0.02, Decay: 0.8, Epsilon: 1e-4, L2: 0.1, Clip: 0.7}
	momentumOptions = solvers.MomentumOptions{LearnRate: 0.02, Momentum: 0.8, L2: 0.1, Clip: 0.7}
	vanillaOptions  = solvers.VanillaOptions{LearnRate: 0.02, L2: 0.1, Clip: 0.7}
)

// shapes are those of the nodes of a test's model; the last one is a scalar.
var shapes = []tensor.Shape{{3, 4}, {1, 4}, {5}, {2, 3, 2}, {}}

// values is a model without a graph: weights and gradients by node.
type values struct {
	of   tensor.Dtype
	w, g []gorgonia.Value
}

// newValues makes weights of a type at random, with gradients of zero.
func newValues(of tensor.Dtype, seed uint64) *values {
	v := &values{of: of}
	r := rand.New(rand.NewPCG(seed, 1))
	for _, s := range shapes {
		v.w, v.g = append(v.w, value(of, s, r.NormFloat64)), append(v.g, value(of, s, func() float64 { return 0 }))
	}
	return v
}

// value makes a tensor, or a scalar, of what a function returns.
func value(of tensor.Dtype, s tensor.Shape, next func() float64) gorgonia.Value {
	if len(s) == 0 {
		if of == tensor.Float32 {
			return gorgonia.NewF32(float32(next()))
		}
		return gorgonia.NewF64(next())
	}
	d := tensor.New(tensor.WithShape(s...), tensor.Of(of))
	fill(d, next)
	return d
}

// fill sets the numbers of a value.
func fill(v gorgonia.Value, next func() float64) {
	switch v := v.(type) {
	case *gorgonia.F32:
		*v = gorgonia.F32(next())
	case *gorgonia.F64:
		*v = gorgonia.F64(next())
	case *tensor.Dense:
		for i := range v.DataSize() {
			if v.Dtype() == tensor.Float32 {
				v.Float32s()[i] = float32(next())
			} else {
				v.Float64s()[i] = next()
			}
		}
	}
}

// floats returns the numbers of a value.
func floats(v gorgonia.Value) (all []float64) {
	switch v := v.Data().(type) {
	case float32:
		return []float64{float64(v)}
	case float64:
		return []float64{v}
	case []float32:
		for _, x := range v {
			all = append(all, float64(x))
		}
		return all
	default:
		return v.([]float64)
	}
}

func title(i int) string { return fmt.Sprintf("w%d", i) }

// nodes returns nodes of a graph with the shapes of the model, for constructors.
func (v *values) nodes() (all gorgonia.Nodes) {
	g := gorgonia.NewGraph()
	for i, s := range shapes {
		all = append(all, gorgonia.NodeFromAny(g, v.w[i], gorgonia.WithName(title(i))))
		if !all[i].Shape().Eq(s) {
			panic("shape")
		}
	}
	return all
}

// holder shows a value and a gradient as a node does.
type holder struct {
	name string
	w, g gorgonia.Value
	err  error
}

func (h *holder) Name() string                  { return h.name }
func (h *holder) Value() gorgonia.Value         { return h.w }
func (h *holder) Grad() (gorgonia.Value, error) { return h.g, h.err }

// model returns what Step takes.
func (v *values) model() (all []gorgonia.ValueGrad) {
	for i := range v.w {
		all = append(all, &holder{name: title(i), w: v.w[i], g: v.g[i]})
	}
	return all
}

// gradients sets the gradients of a step: a function of the seed and the step. They vary
// in size over six orders of magnitude, and some are zero.
func (v *values) gradients(seed uint64, step int) {
	r := rand.New(rand.NewPCG(seed, uint64(step)))
	for _, g := range v.g {
		fill(g, func() float64 {
			scale := []float64{0, 1e-4, 1e-2, 1, 100}[r.IntN(5)]
			return scale * r.NormFloat64()
		})
	}
}

// steps takes the steps from first to last.
func (v *values) steps(t testing.TB, s gorgonia.Solver, seed uint64, first, last int) {
	t.Helper()
	for step := first; step < last; step++ {
		v.gradients(seed, step)
		require.NoError(t, s.Step(v.model()))
	}
}
