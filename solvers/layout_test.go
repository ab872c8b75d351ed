package solvers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/solvers"
)

// layouts make an array of the same 4×3 numbers that lies in memory in several ways.
var layouts = map[string]func(rows []float32) *tensor.Dense{
	"in rows": func(rows []float32) *tensor.Dense {
		return tensor.New(tensor.WithShape(4, 3), tensor.WithBacking(append([]float32(nil), rows...)))
	},
	"in columns": func(rows []float32) *tensor.Dense {
		return tensor.New(tensor.WithShape(4, 3), tensor.AsFortran(append([]float32(nil), rows...)))
	},
	"transposed": func(rows []float32) *tensor.Dense {
		turned := make([]float32, 12)
		for i, x := range rows {
			turned[i%3*4+i/3] = x
		}
		d := tensor.New(tensor.WithShape(3, 4), tensor.WithBacking(turned))
		if err := d.T(); err != nil {
			panic(err)
		}
		return d
	},
	"a window": func(rows []float32) *tensor.Dense {
		large := tensor.New(tensor.WithShape(6, 5), tensor.Of(tensor.Float32))
		for i, x := range rows {
			large.Float32s()[(1+i/3)*5+2+i%3] = x
		}
		view, err := large.Slice(gorgonia.S(1, 5), gorgonia.S(2, 5))
		if err != nil {
			panic(err)
		}
		return view.(*tensor.Dense)
	},
}

// inRows returns the numbers of an array as At tells.
func inRows(t *testing.T, d *tensor.Dense) (all []float32) {
	t.Helper()
	require.Equal(t, tensor.Shape{4, 3}, d.Shape())
	for r := range 4 {
		for c := range 3 {
			x, err := d.At(r, c)
			require.NoError(t, err)
			all = append(all, x.(float32))
		}
	}
	return all
}

// Weights and gradients may lie in memory as they like: a weight meets its own gradient, and
// the state is the same.
func TestLayoutsMakeNoDifference(t *testing.T) {
	weights, gradient := make([]float32, 12), make([]float32, 12)
	for i := range weights {
		weights[i], gradient[i] = float32(i), float32(i*i)/100
	}
	node := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(4, 3), gorgonia.WithName("w"))
	take := func(t *testing.T, w, g func([]float32) *tensor.Dense) ([]float32, solvers.State) {
		s, err := solvers.NewAdam(gorgonia.Nodes{node}, solvers.AdamOptions{LearnRate: 0.1})
		require.NoError(t, err)
		value := w(weights)
		require.Equal(t, weights, inRows(t, value))
		for step := range 4 {
			scaled := make([]float32, 12)
			for i, x := range gradient {
				scaled[(i+step)%12] = x
			}
			gradient := g(scaled)
			require.Equal(t, scaled, inRows(t, gradient))
			require.NoError(t, s.Step([]gorgonia.ValueGrad{&holder{name: "w", w: value, g: gradient}}))
			require.Equal(t, make([]float32, 12), inRows(t, gradient))
		}
		return inRows(t, value), s.State()
	}
	want, state := take(t, layouts["in rows"], layouts["in rows"])
	require.NotEqual(t, weights, want)
	for a, w := range layouts {
		for b, g := range layouts {
			t.Run(a+", gradient "+b, func(t *testing.T) {
				got, kept := take(t, w, g)
				require.Equal(t, want, got)
				require.Equal(t, state, kept)
			})
		}
	}
}

// What surrounds a window stays as it is.
func TestAWindowIsAllThatChanges(t *testing.T) {
	large := tensor.New(tensor.WithShape(3, 3), tensor.WithBacking([]float32{1, 1, 1, 1, 1, 1, 1, 1, 1}))
	view, err := large.Slice(nil, gorgonia.S(1))
	require.NoError(t, err)
	node := gorgonia.NewVector(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(3), gorgonia.WithName("w"))
	s, err := solvers.NewVanilla(gorgonia.Nodes{node}, solvers.VanillaOptions{LearnRate: 1})
	require.NoError(t, err)
	gradient := tensor.New(tensor.WithShape(3), tensor.WithBacking([]float32{1, 2, 3}))
	require.NoError(t, s.Step([]gorgonia.ValueGrad{&holder{name: "w", w: view, g: gradient}}))
	require.Equal(t, []float32{1, 0, 1, 1, -1, 1, 1, -2, 1}, large.Data())
}

// A step allocates nothing, however the numbers lie.
func TestStepsAllocateNothing(t *testing.T) {
	for _, k := range kinds {
		for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			v := newValues(of, 1)
			s, err := k.make(v.nodes())
			require.NoError(t, err)
			model := v.model()
			v.gradients(1, 1)
			alloctest.None(t, 10, func() { _ = s.Step(model) }, k.name, of)
		}
	}
	node := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(4, 3), gorgonia.WithName("w"))
	s, err := solvers.NewAdam(gorgonia.Nodes{node}, solvers.AdamOptions{})
	require.NoError(t, err)
	w, g := layouts["a window"](make([]float32, 12)), layouts["transposed"](make([]float32, 12))
	model := []gorgonia.ValueGrad{&holder{name: "w", w: w, g: g}}
	alloctest.None(t, 10, func() { _ = s.Step(model) })
}
