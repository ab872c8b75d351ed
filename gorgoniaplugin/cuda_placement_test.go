//go:build cuda

package gorgoniaplugin_test

import (
	"fmt"
	"hash"
	"slices"
	"testing"

	"github.com/chewxy/hm"
	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// peek is an operator for the GPU that reads its input on the host.
type peek struct{ seen []float32 }

func (p *peek) CUDADo(_ gorgonia.External, _ gorgonia.Device, _ gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	p.seen = slices.Clone(in[0].(*tensor.Dense).Float32s())
	return in[0], nil
}
func (p *peek) Do(in ...gorgonia.Value) (gorgonia.Value, error) { return in[0], nil }
func (p *peek) Arity() int                                      { return 1 }
func (p *peek) Type() hm.Type {
	return hm.NewFnType(hm.TypeVariable('a'), hm.TypeVariable('a'))
}
func (p *peek) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	return in[0].(tensor.Shape).Clone(), nil
}
func (p *peek) ReturnsPtr() bool      { return true }
func (p *peek) CallsExtern() bool     { return false }
func (p *peek) OverwritesInput() int  { return -1 }
func (p *peek) WriteHash(h hash.Hash) { h.Write([]byte("peek")) }
func (p *peek) Hashcode() uint32      { return 1 << 31 }
func (p *peek) String() string        { return "peek" }

// Memory of the device cannot be read on the host, so the batch has to be where
// both reach it.
func TestBatchThatTheHostReads(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 100)
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, gpuLoader(t, 2, uploaded(20, 1)))
	require.NoError(t, err)
	y, want := layer(f.Node("x"))
	var product gorgonia.Value
	gorgonia.Read(y, &product)
	p := &peek{}
	gorgonia.Must(gorgonia.ApplyOp(p, f.Node("x")))
	vm := machine(t, g)
	require.Nil(t, f.Placements())
	require.NoError(t, f.Attach(vm))
	require.Equal(t, "[x: managed: what peek does is not known]", fmt.Sprint(f.Placements()))
	for b, err := range f.Epochs(t.Context(), 2) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		require.Equal(t, rowsOf(b, 1), p.seen)
		require.Equal(t, want(rowsOf(b, 1)), product.Data())
		vm.Reset()
	}
	require.NoError(t, f.Close())
}

// Attach looks at what reads a batch before anything does.
func TestPlacements(t *testing.T) {
	must := gorgonia.Must
	for _, c := range []struct {
		name  string
		build func(x *gorgonia.Node) *gorgonia.Node
		want  string
	}{
		{"product", func(x *gorgonia.Node) *gorgonia.Node { y, _ := layer(x); return y }, "x: in place"},
		{"nothing", func(x *gorgonia.Node) *gorgonia.Node { return x }, "x: in place"},
		{"read on the host, copied back", func(x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Sum(x)) }, "x: in place"},
		{"element by element", func(x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Sqrt(x)) }, "x: in place"},
		{"several", func(x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Add(x, must(gorgonia.Neg(x)))) }, "x: in place"},
		{"another shape", func(x *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.Sqrt(must(gorgonia.Reshape(x, tensor.Shape{4 * features}))))
		}, "x: in place"},
		{"batches of matrices", func(x *gorgonia.Node) *gorgonia.Node {
			a := must(gorgonia.Reshape(x, tensor.Shape{2, 2, features}))
			return must(gorgonia.BatchedMatMul(a, a, false, true))
		}, "x: managed: A ××× Bᵀ runs on the host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakedriver.Open(t)
			g := gorgonia.NewGraph()
			f, err := gorgoniaplugin.New(g, gpuLoader(t, 1, uploaded(8, 1)))
			require.NoError(t, err)
			y := c.build(f.Node("x"))
			gorgonia.Must(gorgonia.Mul(input(g, "v", tensor.Float32, 1, 2), input(g, "w", tensor.Float32, 2, 1)))
			vm := machine(t, g)
			require.NoError(t, f.Attach(vm))
			require.Equal(t, "["+c.want+"]", fmt.Sprint(f.Placements()), "%s", y)
			require.NoError(t, f.Close())
		})
	}
}

// Gorgonia computes on the host what it has no kernel for, one by one.
func TestKernelsAreLookedUpByOperatorAndType(t *testing.T) {
	sqrt := gorgonia.Must(gorgonia.Sqrt(input(gorgonia.NewGraph(), "x", tensor.Float32, 2, 2))).Op()
	require.Empty(t, gorgoniaplugin.OnHost(sqrt, tensor.Float32, "elemunaryop", "elemunaryop.sqrt_f32"))
	for _, kernel := range []string{"elemunaryop.sqrt_f64", "elemunaryop.neg_f32", "elembinop"} {
		require.Contains(t, gorgoniaplugin.OnHost(sqrt, tensor.Float32, "elemunaryop", kernel), "sqrt has no kernel")
	}
}

// What no ToDevice ends is an input, which the machine copies.
func TestBatchOnTheHost(t *testing.T) {
	fakedriver.Open(t)
	f, vm, got, want := attached(t, newLoader(t, batchOf4, drop, func(g *pipeline.Graph) {
		x, _ := dataset(8, 1)
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0])
	}))
	require.Equal(t, "[x: copied: the output is on the host: end it with ops.ToDevice in a pipeline on Device()]", fmt.Sprint(f.Placements()))
	for b, err := range f.Epoch(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		require.Equal(t, want(b.Float32s("x")), (*got).Data())
		vm.Reset()
	}
}

func TestManagedMemoryRunsOut(t *testing.T) {
	drv := fakedriver.Open(t)
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, gpuLoader(t, 1, uploaded(8, 1)))
	require.NoError(t, err)
	gorgonia.Must(gorgonia.ApplyOp(&peek{}, f.Node("x")))
	layer(f.Node("x"))
	vm := machine(t, g)
	drv.Fail("cuMemAllocManaged", 2, 0)
	var e *cuda.MemoryError
	err = f.Attach(vm)
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, cuda.ErrMemory)
	require.EqualValues(t, 4*features*4, e.Asked)
	require.Positive(t, e.Free)
	require.NoError(t, f.Attach(vm))
	require.NoError(t, f.Close())
}
