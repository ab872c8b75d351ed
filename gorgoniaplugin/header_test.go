//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"slices"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/pipeline"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// What Gorgonia's users do to the tensor of a node must end with the batch.
func TestHeadersThatAreTakenAway(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(x *gorgonia.Node)
		pooled int // of six steps, how many leave the header to strangers
	}{
		{"UnbindAll", func(x *gorgonia.Node) { x.Graph().UnbindAll() }, 6},
		{"ReturnTensor", func(x *gorgonia.Node) { tensor.ReturnTensor(x.Value().(tensor.Tensor)) }, 6},
		{"Reshape", func(x *gorgonia.Node) { _ = x.Value().(*tensor.Dense).Reshape(features * features) }, 0},
		{"T", func(x *gorgonia.Node) { _ = x.Value().(*tensor.Dense).T() }, 0},
		{"Let", func(x *gorgonia.Node) {
			_ = gorgonia.Let(x, tensor.New(tensor.WithShape(features, features), tensor.Of(tensor.Float32)))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gorgonia.NewGraph()
			f, err := gorgoniaplugin.New(g, newLoader(t, pipeline.Options{BatchSize: features}, drop, numbered(3*features, 1)))
			require.NoError(t, err)
			x := f.Node("x")
			var sum gorgonia.Value
			gorgonia.Read(gorgonia.Must(gorgonia.Sum(x)), &sum)
			vm := gorgonia.NewTapeMachine(g)
			defer vm.Close()
			require.NoError(t, f.Attach(vm))

			var strangers []*tensor.Dense
			for b, err := range f.Epochs(context.Background(), 2) {
				require.NoError(t, err)
				requireBatch(t, b, x, 1)
				require.Equal(t, []int{features, 1}, x.Value().(*tensor.Dense).Strides())
				var want float32
				for _, v := range b.Float32s("x") {
					want += v
				}
				require.NoError(t, vm.RunAll())
				require.Equal(t, want, sum.Data())
				vm.Reset()

				header := x.Value().(*tensor.Dense)
				c.do(x)
				if header.Shape() == nil {
					strangers = append(strangers, adopt(header))
				}
			}
			requireZeros(t, x, f.Node("y"))
			require.Len(t, strangers, c.pooled)
			for _, d := range strangers {
				require.Equal(t, slices.Repeat([]float32{-1}, features*features), d.Data(), "the new owner's memory")
			}
		})
	}
}

// adopt makes a stranger's tensor of the header if that is in the pool of package
// tensor.
func adopt(header *tensor.Dense) *tensor.Dense {
	var others []tensor.Tensor
	defer func() {
		for _, o := range others {
			tensor.ReturnTensor(o)
		}
	}()
	for range tensor.PoolSize {
		d := tensor.New(tensor.WithShape(features, features), tensor.Of(tensor.Float32))
		if d == header {
			_ = d.Memset(float32(-1))
			return d
		}
		others = append(others, d)
	}
	return nil
}

// A header that is in the pool twice, as UnbindAll leaves it when nodes share one,
// has two owners. The feed is neither.
func TestHeadersDoNotComeFromThePool(t *testing.T) {
	f, vm, _ := newFeed(t, newLoader(t, batchOf4, drop, numbered(12, 1)))
	for range tensor.PoolSize { // empty the pool
		tensor.New(tensor.WithShape(3), tensor.Of(tensor.Float32))
	}
	shared := tensor.New(tensor.WithShape(4, features), tensor.Of(tensor.Float32))
	tensor.ReturnTensor(shared)
	tensor.ReturnTensor(shared)
	require.Same(t, shared, tensor.New(tensor.WithShape(4, features), tensor.Of(tensor.Float32)))
	defer func() { // the second entry must not befall other tests
		shared.Raw = nil
		adopt(shared)
	}()

	tensor.ReturnTensor(f.Node("x").Value().(tensor.Tensor)) // the feed needs a new one
	require.NoError(t, f.Attach(vm))
	for b, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		requireBatch(t, b, f.Node("x"), 1)
		require.NotSame(t, shared, f.Node("x").Value())
	}
}

// A machine that differentiates with respect to an input binds it to a pair of
// value and gradient.
func TestGradientOfAnInput(t *testing.T) {
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, newLoader(t, batchOf4, drop, numbered(12, 1)))
	require.NoError(t, err)
	x := f.Node("x")
	cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(x))))
	_, err = gorgonia.Grad(cost, x)
	require.NoError(t, err)
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(x))
	defer vm.Close()
	require.NoError(t, f.Attach(vm))
	for b, err := range f.Epochs(context.Background(), 2) {
		require.NoError(t, err)
		requireBatch(t, b, x, 1)
		require.NoError(t, vm.RunAll())
		grad, err := x.Grad()
		require.NoError(t, err)
		require.Equal(t, 2*b.Float32s("x")[0], grad.Data().([]float32)[0])
		require.NoError(t, grad.(*tensor.Dense).Memset(float32(0)))
		vm.Reset()
	}
	requireZeros(t, x)
}
