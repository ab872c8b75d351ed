//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A machine that has none of the feed's nodes would never see a batch.
func TestAttachNoticesAMachineOfAnotherGraph(t *testing.T) {
	l := newLoader(t, batchOf4, drop, numbered(12, 1))
	f, vm, m := newFeed(t, l)
	other := gorgonia.NewGraph()
	gorgonia.Must(gorgonia.Sum(input(other, "x", tensor.Float32, 4, features)))
	for name, stranger := range map[string]gorgonia.VM{
		"tape": gorgonia.NewTapeMachine(other),
		"lisp": gorgonia.NewLispMachine(other, gorgonia.ExecuteFwdOnly()),
	} {
		err := f.Attach(stranger)
		require.ErrorIs(t, err, gorgoniaplugin.ErrOtherGraph, name)
		require.ErrorContains(t, err, `it has none of the nodes that show ["x" "y"]`)
		require.NoError(t, stranger.Close())
	}
	require.Equal(t, 3, drain(t, f), "the feed is attached to what it was")

	g := f.Node("x").Graph()
	for _, own := range []gorgonia.VM{
		vm, gorgonia.NewTapeMachine(g), gorgonia.NewLispMachine(g, gorgonia.ExecuteFwdOnly()),
		gorgonia.NewTapeMachine(g.ExactSubgraphRoots(gorgonia.Must(gorgonia.Mul(f.Node("x"), m.w)))),
		struct{ gorgonia.VM }{vm}, // of a kind that nobody knows
	} {
		require.NoError(t, f.Attach(own))
		if own != vm {
			defer own.Close()
		}
	}
	require.NoError(t, f.Attach(vm))
}

// A body whose RunAll does nothing, since nobody has called Reset, ends the loop.
func TestAForgottenResetIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name  string
		body  func(vm gorgonia.VM) error
		steps int // bodies, of 10
		err   error
	}{
		{"at the end", func(vm gorgonia.VM) error { err := vm.RunAll(); vm.Reset(); return err }, 10, nil},
		{"at the beginning", func(vm gorgonia.VM) error { vm.Reset(); return vm.RunAll() }, 10, nil},
		{"without a run", func(gorgonia.VM) error { return nil }, 10, nil},
		{"deferred", func(vm gorgonia.VM) error { defer vm.Reset(); return vm.RunAll() }, 10, nil},
		{"never", func(vm gorgonia.VM) error { return vm.RunAll() }, 2, gorgoniaplugin.ErrNotReset},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLoader(t, batchOf4, drop, numbered(40, 1))
			f, vm, _ := newFeed(t, l)
			steps := 0
			var end error
			for _, err := range f.Epoch(context.Background()) {
				if err != nil {
					end = err
					break
				}
				require.NoError(t, c.body(vm))
				steps++
			}
			require.Equal(t, c.steps, steps)
			require.Equal(t, c.err, end)
			vm.Reset()
			rest := 0
			for _, err := range f.Epoch(context.Background()) {
				require.NoError(t, err, "the next loop begins anew")
				rest++
			}
			require.Positive(t, rest)
		})
	}
}

// A validation loop in the body of a training loop, on the machine of that, that has not
// been reset.
func TestAForgottenResetInAnInnerLoop(t *testing.T) {
	train, validate, _ := trainAndValidate(t)
	vm := gorgonia.NewTapeMachine(train.Node("x").Graph())
	defer vm.Close()
	require.NoError(t, train.Attach(vm))
	require.NoError(t, validate.Attach(vm))
	var inner error
	for _, err := range train.Epoch(context.Background()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		for _, err := range validate.Epoch(context.Background()) {
			if inner = err; err != nil {
				break
			}
			require.NoError(t, vm.RunAll())
		}
		break
	}
	require.ErrorIs(t, inner, gorgoniaplugin.ErrNotReset)
}

func TestStepsOfAFeed(t *testing.T) {
	f, _, _ := newFeed(t, newLoader(t, batchOf4, drop, numbered(12, 1)))
	require.NoError(t, f.Prefetch(context.Background()))
	requireZeros(t, f.Node("x"))
	var at [][2]int64
	for _, n := range []int{2, 3} {
		for b, err := range f.Steps(context.Background(), n) {
			require.NoError(t, err)
			requireBatch(t, b, f.Node("x"), 1)
			require.ErrorIs(t, f.Prefetch(context.Background()), gorgoniaplugin.ErrBusy)
			at = append(at, [2]int64{b.Epoch(), b.Step()})
		}
		requireZeros(t, f.Node("x"))
	}
	require.Equal(t, [][2]int64{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}}, at)
	require.NoError(t, f.Prefetch(context.Background()))
	require.Equal(t, 1, drain(t, f))
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Prefetch(context.Background()), gorgoniaplugin.ErrClosed)
}

// The error of a loop that takes none is there afterwards, in the feed and in its loader.
func TestTheErrorOfALoopIsNotLost(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, failing(32, func(i int64) bool { return i == 17 }))
	require.NoError(t, err)
	l, err := iterator.New(drop, p)
	require.NoError(t, err)
	f, vm, _ := newFeed(t, l)
	bodies := 0
	for range f.Epoch(context.Background()) {
		require.NoError(t, vm.RunAll())
		vm.Reset()
		bodies++
	}
	require.Equal(t, 5, bodies, "four batches, and once more on zeros")
	var bad *pipeline.SampleError
	require.ErrorAs(t, f.Err(), &bad)
	require.ErrorAs(t, l.Err(), &bad)
	require.ErrorAs(t, l.Close(), &bad)
	require.EqualValues(t, 17, bad.Index)

	g := gorgonia.NewGraph()
	unattached, err := gorgoniaplugin.New(g, newLoader(t, batchOf4, drop, numbered(12, 1)))
	require.NoError(t, err)
	for range unattached.Epoch(context.Background()) {
	}
	require.ErrorIs(t, unattached.Err(), gorgoniaplugin.ErrNotAttached)
	require.ErrorIs(t, unattached.Close(), gorgoniaplugin.ErrNotAttached)
	require.NoError(t, unattached.Close())
	require.True(t, errors.Is(unattached.Err(), gorgoniaplugin.ErrNotAttached))
}
