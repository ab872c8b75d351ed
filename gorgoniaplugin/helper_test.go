package gorgoniaplugin_test

import (
	"context"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A machine with the tag cuda leaves a goroutine behind when it is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("gorgonia.org/gorgonia.(*ExternMetadata).collectWork"))
}

const features, classes = 5, 3

// dataset is n samples whose features all differ, first to last from base on.
func dataset(n int, base float32) (x []float32, label []int64) {
	for i := range n * features {
		x = append(x, base+float32(i))
	}
	for i := range n {
		label = append(label, int64(i)%classes)
	}
	return x, label
}

// samples defines a pipeline with outputs "x", float32 features, and "y", float32
// one-hot.
func samples(x []float32, label []int64) func(*pipeline.Graph) {
	return func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features), readers.Rows(label).WithClasses(classes))
		g.Output("x", v[0])
		g.Output("y", ops.OneHot(g, v[1], ops.OneHotOptions{}))
	}
}

func numbered(n int, base float32) func(*pipeline.Graph) { return samples(dataset(n, base)) }

func newLoader(t testing.TB, po pipeline.Options, io iterator.Options, define func(*pipeline.Graph)) *iterator.Loader {
	t.Helper()
	p, err := pipeline.New(po, define)
	require.NoError(t, err)
	l, err := iterator.New(io, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

var (
	batchOf4 = pipeline.Options{BatchSize: 4, Workers: 2}
	drop     = iterator.Options{LastBatch: shard.Drop}
)

// newFeed returns a feed of its own graph, whose loss reads x, y and the weights.
func newFeed(t testing.TB, l *iterator.Loader) (*gorgoniaplugin.Feed, gorgonia.VM, *model) {
	t.Helper()
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	m := newModel(t, f.Node("x"), f.Node("y"), f.Weights())
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(m.w))
	t.Cleanup(func() { require.NoError(t, vm.Close()) })
	require.NoError(t, f.Attach(vm))
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f, vm, m
}

// model is a linear classifier. Its loss is that of weighted rows, or, without
// weights, that of one-hot labels which mask their rows.
type model struct {
	w    *gorgonia.Node
	cost gorgonia.Value
	grad gorgonia.Value
}

func newModel(t testing.TB, x, y, weights *gorgonia.Node) *model {
	t.Helper()
	init := make([]float32, features*classes)
	for i := range init {
		init[i] = float32(i%7)/1000 - 0.003
	}
	m := &model{w: gorgonia.NewMatrix(x.Graph(), tensor.Float32, gorgonia.WithName("w"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(features, classes), tensor.WithBacking(init))))}
	must := gorgonia.Must
	logp := must(gorgonia.Log(must(gorgonia.SoftMax(must(gorgonia.Mul(x, m.w)), 1))))
	hit := must(gorgonia.HadamardProd(logp, y))
	var cost *gorgonia.Node
	if weights != nil {
		cost = must(gorgonia.Neg(must(gorgonia.Sum(must(gorgonia.HadamardProd(must(gorgonia.Sum(hit, 1)), weights))))))
	} else {
		cost = must(gorgonia.HadamardDiv(must(gorgonia.Neg(must(gorgonia.Sum(hit)))), must(gorgonia.Sum(y))))
	}
	gorgonia.Read(cost, &m.cost)
	grads, err := gorgonia.Grad(cost, m.w)
	require.NoError(t, err)
	gorgonia.Read(grads[0], &m.grad)
	return m
}

// shown returns what a node of float32 holds, copied.
func shown(n *gorgonia.Node) []float32 {
	return append([]float32(nil), n.Value().Data().([]float32)...)
}

func requireZeros(t testing.TB, nodes ...*gorgonia.Node) {
	t.Helper()
	for _, n := range nodes {
		require.Equal(t, make([]float32, n.Shape().TotalSize()), shown(n), "node %s", n.Name())
	}
}

// firstError returns the error that the first pair of a loop has, and leaves the loop.
func firstError(f *gorgoniaplugin.Feed) error {
	for _, err := range f.Epoch(context.Background()) {
		return err
	}
	return nil
}

// onlyError returns the error that is all that a loop yields.
func onlyError(t testing.TB, f *gorgoniaplugin.Feed) (only error) {
	t.Helper()
	n := 0
	for b, err := range f.Epoch(context.Background()) {
		require.Nil(t, b)
		n, only = n+1, err
	}
	require.Equal(t, 1, n)
	return only
}

// drain takes the rest of an epoch and returns how many batches it had.
func drain(t testing.TB, f *gorgoniaplugin.Feed) int {
	t.Helper()
	n := 0
	for _, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		n++
	}
	return n
}
