//go:build cuda

package gorgoniaplugin_test

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

func TestBatchesAreReadOnTheGPU(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 200)
	readBatches(t)
}

// A run uploads the weights, which are on the host, and not the batch, which was
// uploaded once, ahead of it.
func TestBatchesAreUploadedOnceAndNotInARun(t *testing.T) {
	const depth, weights = 2, features * classes * 4
	drv := fakedriver.Open(t)
	before := drv.Count(fakedriver.Uploads)
	f, vm, _, _ := attached(t, gpuLoader(t, depth, uploaded(40, 1)))
	require.Equal(t, before, drv.Count(fakedriver.Uploads), "nothing is prefetched before the first loop")
	step, fewest := 0, math.MaxInt
	for _, err := range f.Epochs(t.Context(), 3) {
		require.NoError(t, err)
		// The pipeline is as far ahead as it may be, so what is counted now is
		// the machine's doing: every step before has uploaded weights, too.
		await(t, drv, fakedriver.Uploads, before+step+depth+1+step)
		uploads, bytes, pageable := drv.Count(fakedriver.Uploads), drv.Count(fakedriver.UploadedBytes), drv.Count(fakedriver.PageableCopies)
		copies, calls := drv.Count(fakedriver.Copies), drv.Count(fakedriver.Calls)
		require.NoError(t, vm.RunAll())
		require.Equal(t, 1, drv.Count(fakedriver.Uploads)-uploads)
		require.Equal(t, weights, drv.Count(fakedriver.UploadedBytes)-bytes)
		require.Equal(t, 2, drv.Count(fakedriver.Copies)-copies, "the weights there, the product back")
		require.Equal(t, 2, drv.Count(fakedriver.PageableCopies)-pageable)
		fewest = min(fewest, drv.Count(fakedriver.Calls)-calls) // without what the pipeline asked meanwhile
		vm.Reset()
		step++
	}
	require.Equal(t, 30, step)
	require.LessOrEqual(t, fewest, 5)
}

// Loops that end early go on where they were, with the loader's epoch, and hold
// nothing.
func TestLoopsOnTheGPUThatEndEarly(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 100)
	l := gpuLoader(t, 2, uploaded(40, 1))
	f, vm, got, want := attached(t, l)
	run := func(b *iterator.Batch) {
		require.NoError(t, vm.RunAll())
		require.Equal(t, want(rowsOf(b, 1)), (*got).Data())
		vm.Reset()
	}
	for i := range 3 {
		for b, err := range f.Epoch(t.Context()) {
			require.NoError(t, err)
			require.EqualValues(t, i, b.Step())
			run(b)
			break
		}
	}
	require.PanicsWithValue(t, "oh", func() {
		for range f.Epoch(t.Context()) {
			panic("oh")
		}
	})
	require.NoError(t, l.Reset())
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	for b, err := range f.Epoch(ctx) {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		require.EqualValues(t, steps, b.Step())
		run(b)
		if steps++; steps == 4 {
			cancel()
		}
	}
	cancel()
	require.Equal(t, 6, drain(t, f))
}

// Memory and events are what the first epochs needed.
func TestStepsOnTheGPUDoNotGrow(t *testing.T) {
	drv := fakedriver.Open(t)
	f, vm, _, _ := attached(t, gpuLoader(t, 2, uploaded(400, 1)))
	epochs := func(n int) {
		for _, err := range f.Epochs(t.Context(), n) {
			require.NoError(t, err)
			require.NoError(t, vm.RunAll())
			vm.Reset()
		}
	}
	epochs(1)
	memory, events := drv.Count(fakedriver.Allocations), drv.Count(fakedriver.Events)
	epochs(10)
	require.Equal(t, memory, drv.Count(fakedriver.Allocations))
	require.LessOrEqual(t, drv.Count(fakedriver.Events)-events, 8)
}

func TestHeaderOfABatchOnTheGPU(t *testing.T) {
	fakedriver.Open(t)
	f, vm, _, _ := attached(t, gpuLoader(t, 1, uploaded(8, 1)))
	op, on := f.Node("x").Op().(gorgonia.CUDADoer), vm.(gorgonia.CUDAMachine)
	for b, err := range f.Epoch(t.Context()) {
		require.NoError(t, err)
		v, err := op.CUDADo(on, 0, nil)
		require.NoError(t, err)
		again, err := op.CUDADo(on, 0, nil)
		require.NoError(t, err)
		require.NotSame(t, v, again)
		mem := b.Bytes("x")
		require.Equal(t, uintptr(unsafe.Pointer(unsafe.SliceData(mem))), v.Uintptr())
		require.Equal(t, tensor.Shape{4, features}, v.Shape())
		require.True(t, v.(*tensor.Dense).IsManuallyManaged())
		require.LessOrEqual(t, alloctest.PerRound(100, func() { _, _ = op.CUDADo(on, 0, nil) }), 3.0)
		break
	}
	_, err := op.CUDADo(on, 0, nil)
	require.ErrorIs(t, err, gorgoniaplugin.ErrNoBatch)
	require.ErrorContains(t, vm.RunAll(), "there is no batch")
}

// Two feeds on one node, with a machine in common, and one loop in the other's.
func TestValidationOnTheGPUInsideTraining(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 50)
	train, vm, got, want := attached(t, gpuLoader(t, 2, uploaded(12, 1)))
	validate, err := gorgoniaplugin.Bind(gpuLoader(t, 1, uploaded(8, 1000)), map[string]*gorgonia.Node{"x": train.Node("x")})
	require.NoError(t, err)
	require.NoError(t, validate.Attach(vm))
	run := func(b *iterator.Batch, base float32) {
		require.NoError(t, vm.RunAll())
		require.Equal(t, want(rowsOf(b, base)), (*got).Data())
		vm.Reset()
	}
	for b, err := range train.Epochs(t.Context(), 2) {
		require.NoError(t, err)
		run(b, 1)
		for v, err := range validate.Epoch(t.Context()) {
			require.NoError(t, err)
			run(v, 1000)
		}
		run(b, 1)
	}
	require.NoError(t, validate.Close())
}

func TestMachineIsClosedBeforeTheFeed(t *testing.T) {
	drv := fakedriver.Open(t)
	f, vm, _, _ := attached(t, gpuLoader(t, 1, uploaded(12, 1)))
	for _, err := range f.Epoch(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		vm.Reset()
		break
	}
	closeMachine(t, vm)
	require.ErrorIs(t, firstError(f), gorgoniaplugin.ErrMachineClosed)
	require.Error(t, f.Attach(vm))
	require.Contains(t, drv.Report(), "a context ends with")
	require.ErrorIs(t, f.Close(), gorgoniaplugin.ErrMachineClosed)
	require.NoError(t, f.Close())
	require.Empty(t, drv.Report(), "nobody uses a context that was destroyed")
}

// Workers write page-locked memory ahead, and must not fault when the machine is
// closed too early.
func TestPageLockedMemoryOutlivesTheMachine(t *testing.T) {
	drv := fakedriver.Open(t)
	x, _ := dataset(8, 1)
	l := gpuLoader(t, 1, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0]
		g.Output("locked", v)
		g.Output("x", ops.ToDevice(g, v))
	})
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l, gorgoniaplugin.Outputs("x"))
	require.NoError(t, err)
	layer(f.Node("x"))
	vm := machine(t, g)
	require.NoError(t, f.Attach(vm))
	for b, err := range f.Epoch(t.Context()) {
		require.NoError(t, err)
		require.Positive(t, l.Pipelines()[0].MemoryOf(memstats.PageLocked).Live)
		b.Retain()
		closeMachine(t, vm)
		require.Contains(t, drv.Report(), "a context ends with")
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		b.Float32s("locked")[0]++
		b.Release()
		break
	}
	require.ErrorIs(t, f.Close(), gorgoniaplugin.ErrMachineClosed)
}

// What fails on the engine's thread ends it, in Gorgonia. Attach does not wait for
// it then, nor does it end the thread itself.
func TestAttachToAMachineThatHasFailed(t *testing.T) {
	drv := fakedriver.Open(t)
	f, vm, _, _ := attached(t, gpuLoader(t, 1, uploaded(12, 1)))
	drv.Fail("cuCtxSetCurrent", 999, 0)
	require.ErrorContains(t, f.Attach(vm), "cuBLAS cannot be opened in the machine's context")
	require.NoError(t, f.Attach(vm))
	require.Equal(t, 3, drain(t, f))

	oh := errors.New("oh")
	require.ErrorIs(t, vm.(gorgonia.CUDAMachine).Contexts()[0].Do(func() error { return oh }), oh)
	require.ErrorIs(t, f.Attach(vm), gorgoniaplugin.ErrMachineFailed)
	require.ErrorIs(t, f.Attach(vm), gorgoniaplugin.ErrMachineFailed)
	require.NoError(t, f.Close())
	gorgoniaplugin.Revive(vm) // or its Close waits for ever
}

func TestMemoryOfTheGPURunsOut(t *testing.T) {
	drv := fakedriver.Open(t)
	const batch, bytes = 400, 400 * features * 4
	drv.Set(fakedriver.Memory, 6*bytes)
	x, _ := dataset(batch, 1)
	l := newLoader(t, pipeline.Options{BatchSize: batch, PrefetchDepth: 3, Device: gorgoniaplugin.Device()}, drop, func(g *pipeline.Graph) {
		g.Output("x", ops.ToDevice(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0]))
	})
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	gorgonia.Must(gorgonia.Mul(f.Node("x"), input(g, "w", tensor.Float32, features, 1)))
	vm := machine(t, g)
	require.NoError(t, f.Attach(vm))
	last := firstError(f)
	var e *cuda.MemoryError
	require.ErrorAs(t, last, &e)
	require.Positive(t, e.Asked)
	require.Less(t, e.Free, e.Asked)
	require.NoError(t, f.Close())
}

func TestWhatCannotBeOnTheGPU(t *testing.T) {
	drv := fakedriver.Open(t)
	onGPU, onHost := gpuLoader(t, 1, uploaded(8, 1)), newLoader(t, batchOf4, drop, numbered(8, 1))
	f, vm, _, _ := attached(t, onGPU)

	_, err := gorgoniaplugin.Bind(onGPU, map[string]*gorgonia.Node{"x": input(gorgonia.NewGraph(), "in", tensor.Float32, 4, features)})
	require.ErrorContains(t, err, "let New make the node")
	_, err = gorgoniaplugin.Bind(onHost, map[string]*gorgonia.Node{"x": f.Node("x")})
	require.ErrorContains(t, err, "the output is on the host")

	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	_, err = gorgoniaplugin.New(gorgonia.NewGraph(), newLoader(t, pipeline.Options{BatchSize: 4, Device: d}, drop, uploaded(8, 1)))
	require.ErrorContains(t, err, "set pipeline.Options.Device to Device()")
	require.NoError(t, d.Close())

	unattached := gpuLoader(t, 1, uploaded(8, 1))
	_, err = unattached.Next(t.Context())
	require.ErrorIs(t, err, gorgoniaplugin.ErrNotAttached)
	other, _, _, _ := attached(t, gpuLoader(t, 1, uploaded(8, 1)))
	require.ErrorContains(t, other.Attach(vm), "in the memory of another machine")
	again, err := gorgoniaplugin.Bind(onGPU, map[string]*gorgonia.Node{"x": other.Node("x")})
	require.NoError(t, err)
	g := gorgonia.NewGraph()
	layer(input(g, "in", tensor.Float32, 4, features))
	require.ErrorIs(t, again.Attach(machine(t, g)), gorgoniaplugin.ErrOtherGraph)
	require.ErrorIs(t, again.Attach(machine(t, other.Node("x").Graph())), gorgoniaplugin.ErrBusy)
	lisp := gorgonia.NewLispMachine(gorgonia.NewGraph())
	require.ErrorContains(t, again.Attach(lisp), "*gorgonia.lispMachine that does nothing on the GPU")
}
