//go:build cuda

package gorgoniaplugin_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	nnops "gorgonia.org/gorgonia/ops/nn"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
)

// trainNet compares the losses of the convolutional net on the GPU with those of plain Go.
func trainNet(t *testing.T, line string, conv convolve, steps int) {
	t.Helper()
	l := newLoader(t, pipeline.Options{BatchSize: 4, Device: gorgoniaplugin.Device()}, drop, pictureBatches)
	n := newNet(t, l, conv, func(g *gorgonia.ExprGraph) gorgonia.VM { return machine(t, g) })
	require.Equal(t, "[x: in place y: in place]", fmt.Sprint(n.feed.Placements()))
	want, got := hostLosses(steps), n.train(t, steps)
	far := apart(got, want)
	on.Judge(t, line, far <= 1e-3, "%d steps, losses from %.3f to %.3f, at most %.1e apart", steps, got[0], got[steps-1], far)
}

// noDNN returns an error where the program found no cuDNN that convolves.
func noDNN() error {
	g := gorgonia.NewGraph()
	node := func(name string, shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...))
	}
	pair := []int{1, 1}
	if _, err := nnops.Conv2d(node("x", 1, 1, 3, 3), node("filter", 1, 1, 3, 3), tensor.Shape{3, 3}, []int{0, 0}, pair, pair); err != nil {
		return errors.New("no cuDNN 8")
	}
	return nil
}

func TestConvolutionalTrainingFollowsTheHost(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 20)
	trainNet(t, "train-conv", convolve{op: gorgonia.Conv2d}, 50)
}

func TestConvolutionalTrainingOnAGPU(t *testing.T) {
	onAGPU(t)
	trainNet(t, "train-conv", convolve{op: gorgonia.Conv2d}, 1000)
}

// trainByDNN trains the net by cuDNN, which turns filters, where there is one.
func trainByDNN(t *testing.T, steps int) {
	t.Helper()
	if err := noDNN(); err != nil {
		on.NotRun(t, "train-cudnn", err)
		return
	}
	trainNet(t, "train-cudnn", convolve{op: nnops.Conv2d, turned: true}, steps)
}

func TestConvolutionalTrainingByDNN(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 20)
	trainByDNN(t, 50)
}

// TestConvolutionalTrainingByDNNOnAGPU is for a process of its own: what Gorgonia does may
// break the context.
func TestConvolutionalTrainingByDNNOnAGPU(t *testing.T) {
	onAGPU(t)
	trainByDNN(t, 1000)
}
