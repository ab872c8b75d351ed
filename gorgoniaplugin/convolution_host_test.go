//go:build !cuda

package gorgoniaplugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	nnops "gorgonia.org/gorgonia/ops/nn"

	"github.com/planktonml/plankton/pipeline"
)

// The net that a GPU trains follows plain Go on the host as well, by either operator.
func TestConvolutionalTrainingFollowsPlainGo(t *testing.T) {
	steps := 1000
	if testing.Short() {
		steps = 100
	}
	want := hostLosses(steps)
	require.Less(t, want[steps-1], want[0]/2, "it learns")
	machine := func(g *gorgonia.ExprGraph) gorgonia.VM {
		vm := gorgonia.NewTapeMachine(g)
		t.Cleanup(func() { require.NoError(t, vm.Close()) })
		return vm
	}
	for name, conv := range map[string]convolve{"gorgonia": {op: gorgonia.Conv2d}, "nnops": {op: nnops.Conv2d}} {
		l := newLoader(t, pipeline.Options{BatchSize: 4}, drop, pictureBatches)
		got := newNet(t, l, conv, machine).train(t, steps)
		require.Less(t, apart(got, want), 1e-3, name)
	}
}
