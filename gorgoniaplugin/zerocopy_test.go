//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"iter"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/chewxy/hm"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// probe is an operator of Gorgonia that notes where its input lies.
type probe struct{ at uintptr }

func (p *probe) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	p.at = in[0].Uintptr()
	return gorgonia.CloneValue(in[0])
}

func (p *probe) Arity() int { return 1 }
func (p *probe) Type() hm.Type {
	return hm.NewFnType(hm.TypeVariable('a'), hm.TypeVariable('a'))
}
func (p *probe) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	return in[0].(tensor.Shape).Clone(), nil
}
func (p *probe) ReturnsPtr() bool      { return false }
func (p *probe) CallsExtern() bool     { return false }
func (p *probe) OverwritesInput() int  { return -1 }
func (p *probe) WriteHash(h hash.Hash) { h.Write([]byte("probe")) }
func (p *probe) Hashcode() uint32 {
	h := fnv.New32a()
	p.WriteHash(h)
	return h.Sum32()
}
func (p *probe) String() string { return "probe" }

func TestFirstOperatorReadsWhereLastOneWrote(t *testing.T) {
	const n = 24
	var mu sync.Mutex
	type draw struct{ epoch, sample int64 }
	written := map[draw]uintptr{}
	onDevice := batchOf4
	onDevice.Device = gorgoniaplugin.Device()
	l := newLoader(t, onDevice, drop, func(g *pipeline.Graph) {
		x, _ := dataset(n, 1)
		v := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(x, features))
		spec := datum.Spec{DType: datum.Float32, Shape: []int{features}}
		v = ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{spec}}, func(c *datum.Sample, in, out []*datum.Tensor) error {
			mem, err := out[0].Resize(features)
			if err != nil {
				return err
			}
			copy(mem, in[0].Bytes())
			mu.Lock()
			written[draw{c.Epoch(), c.Index()}] = uintptr(unsafe.Pointer(&mem[0]))
			mu.Unlock()
			return nil
		}, v[0])
		g.Output("x", ops.ToDevice(g, v[0])) // the same place, where there is no device
	})
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	p := &probe{}
	gorgonia.Must(gorgonia.ApplyOp(p, f.Node("x")))
	vm := gorgonia.NewTapeMachine(g)
	require.Nil(t, f.Placements())
	require.NoError(t, f.Attach(vm))
	require.Equal(t, "[x: in place]", fmt.Sprint(f.Placements()))

	slots := map[uintptr]bool{}
	for b, err := range f.Epochs(context.Background(), 3) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		vm.Reset()
		for row, id := range b.IDs() {
			mu.Lock()
			require.Equal(t, written[draw{b.Epoch(), id}], p.at+uintptr(row*features*4), "row %d", row)
			mu.Unlock()
		}
		slots[p.at] = true
	}
	require.Len(t, slots, l.Pipelines()[0].Options().PrefetchDepth+1, "batches take turns")
}

func TestGraphThatOverwritesItsInputDoesNoHarm(t *testing.T) {
	x, label := dataset(8, 1)
	want := append([]float32(nil), x...)
	l := newLoader(t, batchOf4, drop, samples(x, label))
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l, gorgoniaplugin.Outputs("x"))
	require.NoError(t, err)
	flat := gorgonia.Must(gorgonia.Reshape(f.Node("x"), tensor.Shape{4 * features}))
	less := gorgonia.Must(gorgonia.Sub(flat, gorgonia.NewConstant(float32(0.5))))
	gorgonia.Must(gorgonia.Mul(less, less))
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, f.Attach(vm))

	for epoch := range 3 {
		for b, err := range f.Epoch(context.Background()) {
			require.NoError(t, err)
			first := int(b.IDs()[0]) * features
			require.Equal(t, want[first:first+4*features], b.Float32s("x"), "epoch %d", epoch)
			require.NoError(t, vm.RunAll())
			require.NotEqual(t, want[first:first+4*features], b.Float32s("x"), "the graph should have overwritten its input")
			vm.Reset()
		}
	}
	require.Equal(t, want, x, "the data set")
}

func TestOutputThatTheGraphDoesNotRead(t *testing.T) {
	l := newLoader(t, batchOf4, drop, numbered(8, 0))
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	var sum gorgonia.Value
	gorgonia.Read(gorgonia.Must(gorgonia.Sum(f.Node("x"))), &sum)
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, f.Attach(vm))
	for b, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		var want float32
		for _, x := range b.Float32s("x") {
			want += x
		}
		require.Equal(t, want, sum.Data())
		vm.Reset()
	}
}

// A collection in every body would free or move what only an address keeps alive.
func TestBatchesSurviveCollections(t *testing.T) {
	l := newLoader(t, batchOf4, drop, numbered(40, 0))
	f, _, _ := newFeed(t, l)
	for b, err := range f.Epochs(context.Background(), 2) {
		require.NoError(t, err)
		grow(64)
		runtime.GC()
		first := float32(b.IDs()[0]) * features
		for i, x := range shown(f.Node("x")) {
			require.Equal(t, first+float32(i), x)
		}
		require.Equal(t, []float32{0.25, 0.25, 0.25, 0.25}, shown(f.Weights()))
	}
}

// grow makes the stack grow, which moves what lies on it.
func grow(depth int) (sum byte) {
	var page [4096]byte
	if depth > 0 {
		sum = grow(depth - 1)
	}
	return sum + page[depth]
}

func TestStepAllocatesNothing(t *testing.T) {
	l := newLoader(t, pipeline.Options{BatchSize: 4, Workers: 1}, iterator.Options{}, numbered(4001, 0))
	f, _, _ := newFeed(t, l)
	f.Mask()
	next, stop := iter.Pull2(f.Epochs(context.Background(), 10))
	defer stop()
	for range 100 { // until everything is warm
		next()
	}
	alloctest.None(t, 2000, func() {
		if _, err, ok := next(); err != nil || !ok {
			panic(err)
		}
	})
}
