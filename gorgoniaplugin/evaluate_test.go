//go:build !cuda

package gorgoniaplugin

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// failing is a machine whose runs fail.
type failing struct{ gorgonia.VM }

var errRun = errors.New("the machine failed")

func (failing) RunAll() error { return errRun }

func TestAccuracy(t *testing.T) {
	loader := iterator.Must(iterator.Of(iterator.Options{}, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1, 0, 0, 1, 1, 0}, 2), readers.Rows([]int64{0, 1, 1}))
		g.Output("x", v[0])
		g.Output("label", v[1])
	}))
	defer func() { require.NoError(t, loader.Close()) }()
	g := gorgonia.NewGraph()
	feed, err := New(g, loader, Outputs("x"), Unmasked())
	require.NoError(t, err)
	scores := gorgonia.Must(gorgonia.Mul(feed.Node("x"), gorgonia.NewConstant(float32(2))))
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, feed.Attach(vm))
	for range 2 { // of three rows, in two batches, two are right
		share, err := feed.Accuracy(t.Context(), vm, scores, "label")
		require.NoError(t, err)
		require.InDelta(t, 2.0/3, share, 1e-9)
	}
	for b, err := range feed.Evaluate(t.Context(), vm) { // a body that leaves the loop leaves the machine ready
		require.NoError(t, err)
		require.Zero(t, b.Step())
		break
	}
	_, err = feed.Accuracy(t.Context(), failing{vm}, scores, "label")
	require.ErrorIs(t, err, errRun)
	require.ErrorIs(t, feed.Err(), errRun)
	other := gorgonia.NewScalar(g, gorgonia.Float32)
	_, err = feed.Accuracy(t.Context(), vm, other, "label")
	require.ErrorContains(t, err, "the scores have no value")
	require.NoError(t, feed.Close(), "the errors were taken")
}
