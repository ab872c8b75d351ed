//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
)

// clouds are n points around one centre per class.
func clouds(n int, seed uint64) (x []float32, label []int64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		c := r.IntN(classes)
		for j := range features {
			centre := float32(0)
			if j == c {
				centre = 2
			}
			x = append(x, centre+0.5*float32(r.NormFloat64()))
		}
		label = append(label, int64(c))
	}
	return x, label
}

func shuffled(x []float32, label []int64) func(*pipeline.Graph) {
	return func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(x, features), readers.Rows(label).WithClasses(classes))
		g.Output("x", v[0])
		g.Output("y", ops.OneHot(g, v[1], ops.OneHotOptions{}))
	}
}

func TestLogisticRegressionConverges(t *testing.T) {
	po := pipeline.Options{BatchSize: 32, Seed: 3}
	train, vm, m := newFeed(t, newLoader(t, po, iterator.Options{}, shuffled(clouds(1000, 1))))
	validate, err := gorgoniaplugin.Bind(newLoader(t, po, iterator.Options{}, shuffled(clouds(200, 2))),
		map[string]*gorgonia.Node{"x": train.Node("x"), "y": train.Node("y")}, gorgoniaplugin.WithWeights(train.Weights()))
	require.NoError(t, err)
	require.NoError(t, validate.Attach(vm))

	ctx := context.Background()
	loss := func(f *gorgoniaplugin.Feed, step func()) float64 {
		sum, rows := 0.0, 0
		for b, err := range f.Epoch(ctx) {
			require.NoError(t, err)
			require.NoError(t, vm.RunAll())
			sum += float64(m.cost.Data().(float32)) * float64(b.NumValid())
			rows += b.NumValid()
			step()
			vm.Reset()
		}
		return sum / float64(rows)
	}
	solver := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.2))
	learn := func() { require.NoError(t, solver.Step(gorgonia.NodesToValueGrads(gorgonia.Nodes{m.w}))) }
	forget := func() { // the gradient of validation data
		grad, err := m.w.Grad()
		require.NoError(t, err)
		clear(grad.Data().([]float32))
	}
	var losses []float64
	for range 5 {
		loss(train, learn)
		losses = append(losses, loss(validate, forget))
	}
	require.Less(t, losses[0], 1.0, "below that of guessing, log 3")
	require.Less(t, losses[4], losses[0]/2)
	require.Less(t, losses[4], 0.15)
}
