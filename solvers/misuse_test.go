package solvers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/solvers"
)

func TestOptionsAreRefused(t *testing.T) {
	nodes := newValues(tensor.Float32, 1).nodes()
	adam := func(o solvers.AdamOptions) error { _, err := solvers.NewAdam(nodes, o); return err }
	adamW := func(o solvers.AdamWOptions) error { _, err := solvers.NewAdamW(nodes, o); return err }
	rmsProp := func(o solvers.RMSPropOptions) error { _, err := solvers.NewRMSProp(nodes, o); return err }
	momentum := func(o solvers.MomentumOptions) error { _, err := solvers.NewMomentum(nodes, o); return err }
	vanilla := func(o solvers.VanillaOptions) error { _, err := solvers.NewVanilla(nodes, o); return err }
	for message, err := range map[string]error{
		"solvers: Adam: LearnRate is -1; it must be a finite number, 0 or more":     adam(solvers.AdamOptions{LearnRate: -1}),
		"solvers: Adam: Beta1 is 1; it must be in [0, 1)":                           adam(solvers.AdamOptions{Beta1: 1}),
		"solvers: Adam: Beta2 is NaN; it must be in [0, 1)":                         adam(solvers.AdamOptions{Beta2: math.NaN()}),
		"solvers: Adam: Epsilon is -1; it must be a finite number, 0 or more":       adam(solvers.AdamOptions{Epsilon: -1}),
		"solvers: Adam: L2 is +Inf; it must be a finite number, 0 or more":          adam(solvers.AdamOptions{L2: math.Inf(1)}),
		"solvers: Adam: Clip is -2; it must be a finite number, 0 or more":          adam(solvers.AdamOptions{Clip: -2}),
		"solvers: AdamW: WeightDecay is -2; it must be a finite number, 0 or more":  adamW(solvers.AdamWOptions{WeightDecay: -2}),
		"solvers: AdamW: Beta1 is -0.1; it must be in [0, 1)":                       adamW(solvers.AdamWOptions{Beta1: -0.1}),
		"solvers: RMSProp: Decay is 1.5; it must be in [0, 1)":                      rmsProp(solvers.RMSPropOptions{Decay: 1.5}),
		"solvers: Momentum: Momentum is 1; it must be in [0, 1)":                    momentum(solvers.MomentumOptions{Momentum: 1}),
		"solvers: Vanilla: LearnRate is NaN; it must be a finite number, 0 or more": vanilla(solvers.VanillaOptions{LearnRate: math.NaN()}),
	} {
		var refused *solvers.OptionError
		require.ErrorAs(t, err, &refused)
		require.EqualError(t, err, message)
	}
}

func TestModelsAreRefused(t *testing.T) {
	g := gorgonia.NewGraph()
	named := func(of tensor.Dtype, name string) *gorgonia.Node {
		return gorgonia.NewMatrix(g, of, gorgonia.WithShape(2, 3), gorgonia.WithName(name))
	}
	for _, c := range []struct {
		model gorgonia.Nodes
		want  error
		text  string
	}{
		{gorgonia.Nodes{named(tensor.Float32, "a"), named(tensor.Float64, "a")}, solvers.ErrName, `node "a"`},
		{gorgonia.Nodes{gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 3))}, solvers.ErrName, "WithName"},
		{gorgonia.Nodes{named(tensor.Float32, "\xff")}, solvers.ErrName, "WithName"},
		{gorgonia.Nodes{named(tensor.Int, "i")}, solvers.ErrType, `node "i"`},
		{gorgonia.Nodes{nil}, nil, "node 0 of the model is nil"},
		{nil, nil, "the model has no node"},
	} {
		for _, k := range kinds {
			_, err := k.make(c.model)
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "\n")
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		}
	}
}

// A step that is refused changes nothing, also of the nodes that are in order.
func TestStepsAreRefused(t *testing.T) {
	device := tensor.New(tensor.WithShape(5), tensor.Of(tensor.Float32), tensor.WithEngine(far{}))
	for name, c := range map[string]struct {
		spoil func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad
		want  error
		text  string
	}{
		"too few nodes": {func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad { return m[1:] }, solvers.ErrOtherModel, "it has 4 nodes, those were 5"},
		"another order": {func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad { m[0], m[1] = m[1], m[0]; return m }, solvers.ErrOtherModel, `node "w0"`},
		"no name": {func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad {
			m[3] = struct{ gorgonia.ValueGrad }{m[3]}
			return m
		}, solvers.ErrOtherModel, `node "w3"`},
		"no value":            {spoil(func(h *holder) { h.w = nil }), solvers.ErrNoValue, `node "w2"`},
		"no gradient":         {spoil(func(h *holder) { h.g = nil }), solvers.ErrNoGradient, "gorgonia.BindDualValues"},
		"a gradient's error":  {spoil(func(h *holder) { h.err = solvers.ErrDamaged }), solvers.ErrNoGradient, `node "w2"`},
		"another shape":       {spoil(func(h *holder) { h.g = value(tensor.Float32, tensor.Shape{6}, zero) }), solvers.ErrOtherModel, "its gradient: the model is not the one that the solver was made for: its shape was (5), now it is (6)"},
		"a column":            {spoil(func(h *holder) { h.g = value(tensor.Float32, tensor.Shape{5, 1}, zero) }), solvers.ErrOtherModel, "now it is (5, 1)"},
		"another type":        {spoil(func(h *holder) { h.w = value(tensor.Float64, tensor.Shape{5}, zero) }), solvers.ErrLayout, "its value: "},
		"memory of a device":  {spoil(func(h *holder) { h.g = device }), solvers.ErrLayout, "memory of the host"},
		"a scalar's type":     {func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad { m[4].(*holder).g = gorgonia.NewF64(1); return m }, solvers.ErrLayout, `node "w4"`},
		"a scalar of a shape": {func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad { m[4].(*holder).g = m[2].(*holder).g; return m }, solvers.ErrOtherModel, `node "w4"`},
	} {
		t.Run(name, func(t *testing.T) {
			v := newValues(tensor.Float32, 1)
			s, err := solvers.NewAdam(v.nodes(), solvers.AdamOptions{})
			require.NoError(t, err)
			v.steps(t, s, 1, 0, 2)
			v.gradients(1, 2)
			state, weights, gradient := s.State(), v.bits(), append([]float64(nil), floats(v.g[0])...)
			err = s.Step(c.spoil(v.model()))
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, state, s.State())
			require.Equal(t, weights, v.bits())
			require.Equal(t, gradient, floats(v.g[0]))
		})
	}
}

func zero() float64 { return 0 }

// spoil changes node 2.
func spoil(change func(*holder)) func([]gorgonia.ValueGrad) []gorgonia.ValueGrad {
	return func(m []gorgonia.ValueGrad) []gorgonia.ValueGrad {
		change(m[2].(*holder))
		return m
	}
}

// far is an engine whose memory programs cannot look at.
type far struct{ tensor.StdEng }

func (far) AllocAccessible() bool { return false }

func (far) Alloc(size int64) (tensor.Memory, error) {
	return tensor.New(tensor.WithShape(int(size)), tensor.Of(tensor.Uint8)), nil
}
