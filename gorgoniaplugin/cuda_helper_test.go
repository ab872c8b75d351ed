//go:build cuda

package gorgoniaplugin_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The tests with the tag cuda run on the fake driver, which knows products of matrices
// and the kernels for single elements.

// uploaded defines a pipeline with an output "x", float32 features, that ends on
// the GPU.
func uploaded(n int, base float32) func(*pipeline.Graph) {
	x, _ := dataset(n, base)
	return func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))
		g.Output("x", ops.ToDevice(g, v[0]))
	}
}

func gpuLoader(t testing.TB, depth int, define func(*pipeline.Graph)) *iterator.Loader {
	t.Helper()
	return newLoader(t, pipeline.Options{BatchSize: 4, Workers: 2, PrefetchDepth: depth, Device: gorgoniaplugin.Device()}, drop, define)
}

// machine builds a machine and closes it at the end. Gorgonia expects that its
// calls of the driver are made on one thread, and leaves its context there.
func machine(t testing.TB, g *gorgonia.ExprGraph, o ...gorgonia.VMOpt) gorgonia.VM {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	vm := gorgonia.NewTapeMachine(g, o...)
	_, err := cu.PopCurrentCtx()
	require.NoError(t, err)
	t.Cleanup(func() { closeMachine(t, vm) })
	return vm
}

func closeMachine(t testing.TB, vm gorgonia.VM) {
	if len(vm.(gorgonia.CUDAMachine).Engines()) == 0 {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, vm.Close())
}

// layer multiplies x by weights that differ.
func layer(x *gorgonia.Node) (y *gorgonia.Node, want func(row []float32) []float32) {
	w := make([]float32, features*classes)
	for i := range w {
		w[i] = float32(i%7) - 3
	}
	weights := gorgonia.NewMatrix(x.Graph(), tensor.Float32, gorgonia.WithName("w"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(features, classes), tensor.WithBacking(w))))
	return gorgonia.Must(gorgonia.Mul(x, weights)), func(x []float32) []float32 {
		y := make([]float32, len(x)/features*classes)
		for i := range y {
			for k := range features {
				y[i] += x[i/classes*features+k] * w[k*classes+i%classes]
			}
		}
		return y
	}
}

// rowsOf returns the rows of dataset that a batch holds.
func rowsOf(b *iterator.Batch, base float32) (x []float32) {
	for _, id := range b.IDs() {
		for j := range features {
			x = append(x, base+float32(int(id)*features+j))
		}
	}
	return x
}

// attached returns a feed of an "x" on the GPU, a machine that multiplies it by
// weights, and the product.
func attached(t testing.TB, l *iterator.Loader) (f *gorgoniaplugin.Feed, vm gorgonia.VM, got *gorgonia.Value, want func(x []float32) []float32) {
	t.Helper()
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	y, want := layer(f.Node("x"))
	got = new(gorgonia.Value)
	gorgonia.Read(y, got)
	vm = machine(t, g)
	require.NoError(t, f.Attach(vm))
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f, vm, got, want
}

// await waits until a count of the driver has reached n.
func await(t testing.TB, drv *fakedriver.Driver, c fakedriver.Count, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return drv.Count(c) >= n }, 30*time.Second, time.Millisecond)
	require.Equal(t, n, drv.Count(c))
}
