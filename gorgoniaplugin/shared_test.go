//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"iter"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// trainAndValidate returns two feeds on the same nodes, with data that differ.
func trainAndValidate(t *testing.T) (train, validate *gorgoniaplugin.Feed, x *gorgonia.Node) {
	t.Helper()
	train, vm, _ := newFeed(t, newLoader(t, batchOf4, drop, numbered(12, 1)))
	x = train.Node("x")
	validate, err := gorgoniaplugin.Bind(newLoader(t, batchOf4, drop, numbered(8, 1000)),
		map[string]*gorgonia.Node{"x": x, "y": train.Node("y")}, gorgoniaplugin.WithWeights(train.Weights()))
	require.NoError(t, err)
	require.NoError(t, validate.Attach(vm))
	return train, validate, x
}

// requireBatch compares a node with the batch that it should show.
func requireBatch(t *testing.T, b *iterator.Batch, x *gorgonia.Node, base float32) {
	t.Helper()
	require.Equal(t, b.Float32s("x"), shown(x))
	require.Equal(t, base+float32(b.IDs()[0])*features, b.Float32s("x")[0])
}

func TestTrainValidateTrain(t *testing.T) {
	train, validate, x := trainAndValidate(t)
	ctx := context.Background()
	for range 3 {
		for b, err := range train.Epoch(ctx) {
			require.NoError(t, err)
			requireBatch(t, b, x, 1)
		}
		requireZeros(t, x)
		for b, err := range validate.Epoch(ctx) {
			require.NoError(t, err)
			requireBatch(t, b, x, 1000)
		}
		requireZeros(t, x)
	}
}

func TestValidationInsideTraining(t *testing.T) {
	train, validate, x := trainAndValidate(t)
	ctx := context.Background()
	for b, err := range train.Epochs(ctx, 2) {
		require.NoError(t, err)
		requireBatch(t, b, x, 1)
		steps := 0
		for v, err := range validate.Epoch(ctx) {
			require.NoError(t, err)
			requireBatch(t, v, x, 1000)
			if steps++; b.Step() == 1 {
				break
			}
		}
		requireBatch(t, b, x, 1)
		require.Equal(t, float32(0.25), shown(train.Weights())[3])
	}
	requireZeros(t, x, train.Weights())
}

func TestValidationInsideTrainingIsMadeInTheBody(t *testing.T) {
	train, vm, _ := newFeed(t, newLoader(t, batchOf4, drop, numbered(12, 1)))
	x := train.Node("x")
	for b, err := range train.Epoch(context.Background()) {
		require.NoError(t, err)
		validate, err := gorgoniaplugin.Bind(newLoader(t, batchOf4, drop, numbered(8, 1000)), map[string]*gorgonia.Node{"x": x})
		require.NoError(t, err)
		require.NoError(t, validate.Attach(vm))
		requireBatch(t, b, x, 1)
		require.Equal(t, 2, drain(t, validate))
		requireBatch(t, b, x, 1)
	}
}

// Loops that are pulled need not be nested: the nodes show the batch that was
// taken last.
func TestLoopsThatTakeTurns(t *testing.T) {
	train, validate, x := trainAndValidate(t)
	ctx := context.Background()
	nextT, stopT := iter.Pull2(train.Epoch(ctx))
	nextV, stopV := iter.Pull2(validate.Epoch(ctx))
	for range 2 {
		b, err, ok := nextT()
		require.True(t, ok)
		require.NoError(t, err)
		requireBatch(t, b, x, 1)
		v, err, ok := nextV()
		require.True(t, ok)
		require.NoError(t, err)
		requireBatch(t, v, x, 1000)
	}
	stopT()
	stopV()
	requireZeros(t, x)
	require.Equal(t, 1, drain(t, train))
}

func TestValueOfTheUserComesBack(t *testing.T) {
	train, _, x := trainAndValidate(t)
	own := tensor.New(tensor.WithShape(4, features), tensor.Of(tensor.Float32))
	require.NoError(t, own.Memset(float32(7)))
	require.NoError(t, gorgonia.Let(x, own))
	for b, err := range train.Epoch(context.Background()) {
		require.NoError(t, err)
		requireBatch(t, b, x, 1)
	}
	require.Same(t, own, x.Value())
	require.Equal(t, float32(7), shown(x)[0])
}

func TestLoopInsideALoopOverTheSameFeedOrLoader(t *testing.T) {
	l := newLoader(t, batchOf4, drop, numbered(12, 1))
	f, vm, _ := newFeed(t, l)
	x := f.Node("x")
	other, err := gorgoniaplugin.Bind(l, map[string]*gorgonia.Node{"x": x})
	require.NoError(t, err)
	require.NoError(t, other.Attach(vm))
	steps := 0
	for b, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		for _, inner := range []*gorgoniaplugin.Feed{f, other} {
			err := firstError(inner)
			require.ErrorIs(t, err, gorgoniaplugin.ErrBusy)
			require.ErrorContains(t, err, "is running; end it first")
		}
		require.ErrorIs(t, f.Close(), gorgoniaplugin.ErrBusy)
		require.ErrorIs(t, f.Attach(vm), gorgoniaplugin.ErrBusy)
		requireBatch(t, b, x, 1)
		steps++
	}
	require.Equal(t, 3, steps)
}

// A network for single samples, on a graph of its own, shares the weights of one that
// learns from batches.
func TestPredictionOfOneSample(t *testing.T) {
	x, label := small(12)
	train, vm, m := newFeed(t, newLoader(t, batchOf4, drop, samples(x, label)))
	g := gorgonia.NewGraph()
	single, err := gorgoniaplugin.New(g, newLoader(t, pipeline.Options{BatchSize: 1}, iterator.Options{}, samples(x, label)))
	require.NoError(t, err)
	w := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("w"), gorgonia.WithShape(features, classes), gorgonia.WithValue(m.w.Value()))
	var logits, share gorgonia.Value
	gorgonia.Read(gorgonia.Must(gorgonia.Mul(single.Node("x"), w)), &logits)
	gorgonia.Read(gorgonia.Must(gorgonia.Sum(single.Weights())), &share)
	predict := gorgonia.NewTapeMachine(g)
	defer predict.Close()
	require.NoError(t, single.Attach(predict))

	solver := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.5))
	for range 2 {
		for _, err := range train.Epoch(context.Background()) {
			require.NoError(t, err)
			require.NoError(t, vm.RunAll())
			require.NoError(t, solver.Step(gorgonia.NodesToValueGrads(gorgonia.Nodes{m.w})))
			vm.Reset()
		}
		learned := m.w.Value().Data().([]float32)
		seen := 0
		for b, err := range single.Epoch(context.Background()) {
			require.NoError(t, err)
			require.NoError(t, predict.RunAll())
			want := make([]float32, classes)
			for i, x := range b.Float32s("x") {
				for c := range want {
					want[c] += x * learned[i*classes+c]
				}
			}
			require.InDeltaSlice(t, want, logits.Data(), 1e-5)
			require.Equal(t, float32(1), share.Data())
			predict.Reset()
			seen++
		}
		require.Equal(t, 12, seen)
	}
}

// Two feeds of one graph that do not share nodes have weights of their own.
func TestTwoFeedsOfOneGraph(t *testing.T) {
	loader := func(name string, n int) *iterator.Loader {
		return newLoader(t, batchOf4, iterator.Options{}, func(g *pipeline.Graph) {
			x, _ := dataset(n, 1)
			g.Output(name, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0])
		})
	}
	g := gorgonia.NewGraph()
	a, err := gorgoniaplugin.New(g, loader("a", 2))
	require.NoError(t, err)
	b, err := gorgoniaplugin.New(g, loader("b", 3))
	require.NoError(t, err)
	both := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Add(a.Weights(), b.Weights()))))
	masks := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Add(a.Mask(), b.Mask()))))
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, a.Attach(vm))
	require.NoError(t, b.Attach(vm))
	for _, err := range a.Epoch(context.Background()) {
		require.NoError(t, err)
		for _, err := range b.Epoch(context.Background()) {
			require.NoError(t, err)
			require.NoError(t, vm.RunAll())
			require.InDelta(t, 2, both.Value().Data(), 1e-6)
			require.Equal(t, float32(5), masks.Value().Data())
			vm.Reset()
		}
	}
}
