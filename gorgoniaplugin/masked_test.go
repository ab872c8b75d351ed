//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

// small features keep the softmax off its ends, where all gradients are equal.
func small(n int) ([]float32, []int64) {
	x, label := dataset(n, 0)
	for i := range x {
		x[i] = float32(i%13) / 13
	}
	return x, label
}

// shortBatch returns cost and gradient of a model on exactly these rows.
func shortBatch(t *testing.T, x, y []float32, form string) (cost, grad any) {
	t.Helper()
	n := len(y) / classes
	g := gorgonia.NewGraph()
	xs := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(n, features),
		gorgonia.WithValue(tensor.New(tensor.WithShape(n, features), tensor.WithBacking(slices.Clone(x)))))
	ys := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("y"), gorgonia.WithShape(n, classes),
		gorgonia.WithValue(tensor.New(tensor.WithShape(n, classes), tensor.WithBacking(slices.Clone(y)))))
	var weights *gorgonia.Node
	if form == "weights" {
		w := slices.Repeat([]float32{1 / float32(n)}, n)
		weights = gorgonia.NewVector(g, tensor.Float32, gorgonia.WithName("weights"), gorgonia.WithShape(n),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n), tensor.WithBacking(w))))
	}
	m := newModel(t, xs, ys, weights)
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(m.w))
	defer vm.Close()
	require.NoError(t, vm.RunAll())
	return m.cost.Data(), slices.Clone(m.grad.Data().([]float32))
}

func TestMaskedBatchHasTheGradientsOfTheShortBatch(t *testing.T) {
	const batch = 64
	for _, form := range []string{"weights", "one-hot labels"} {
		for _, n := range []int{1, 2, 17, 63, 64, 64 + 17} {
			x, label := small(n)
			l := newLoader(t, pipeline.Options{BatchSize: batch}, iterator.Options{}, samples(x, label))
			g := gorgonia.NewGraph()
			f, err := gorgoniaplugin.New(g, l, gorgoniaplugin.LabelsMasked("y"))
			require.NoError(t, err)
			var weights *gorgonia.Node
			if form == "weights" {
				weights = f.Weights()
			}
			m := newModel(t, f.Node("x"), f.Node("y"), weights)
			vm := gorgonia.NewTapeMachine(g)
			require.NoError(t, f.Attach(vm))
			for b, err := range f.Epochs(context.Background(), 2) {
				require.NoError(t, err)
				valid := b.NumValid()
				cost, grad := shortBatch(t, b.Float32s("x")[:valid*features], b.Float32s("y")[:valid*classes], form)
				require.NoError(t, vm.RunAll())
				require.Equal(t, cost, m.cost.Data(), "%s, %d samples: cost", form, n)
				require.Equal(t, grad, m.grad.Data(), "%s, %d samples: gradient", form, n)
				vm.Reset()
			}
			require.NoError(t, vm.Close())
		}
	}
}

// failing is samples with an operator in front that fails for some samples.
func failing(n int, bad func(index int64) bool) func(*pipeline.Graph) {
	x, label := small(n)
	return func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features), readers.Rows(label).WithClasses(classes))
		spec := datum.Spec{DType: datum.Float32, Shape: []int{features}}
		xs := ops.Func(g, ops.FuncOptions{Name: "picky", Outputs: []datum.Spec{spec}}, func(c *datum.Sample, in, out []*datum.Tensor) error {
			if bad(c.Index()) {
				return errors.New("bad sample")
			}
			mem, err := out[0].Resize(features)
			copy(mem, in[0].Bytes())
			return err
		}, v[0])
		g.Output("x", xs[0])
		g.Output("y", ops.OneHot(g, v[1], ops.OneHotOptions{}))
	}
}

// Skipped samples leave holes among the valid rows; a graph that overwrites its
// batch must not bring old rows back into them.
func TestSkippedRowsWeighNothing(t *testing.T) {
	l := newLoader(t, pipeline.Options{BatchSize: 8, OnError: pipeline.Skip}, drop, failing(24, func(i int64) bool { return i%3 == 1 }))
	f, vm, m := newFeed(t, l)
	f.Mask()
	for b, err := range f.Epochs(context.Background(), 3) {
		require.NoError(t, err)
		require.Less(t, b.NumValid(), 8)
		var x, y []float32
		mask, weights := shown(f.Mask()), shown(f.Weights())
		for row, ok := range b.Mask() {
			if ok {
				x = append(x, b.Float32s("x")[row*features:][:features]...)
				y = append(y, b.Float32s("y")[row*classes:][:classes]...)
				require.Equal(t, float32(1), mask[row])
				require.Equal(t, 1/float32(b.NumValid()), weights[row])
			} else {
				require.Zero(t, mask[row])
				require.Zero(t, weights[row])
			}
		}
		cost, grad := shortBatch(t, x, y, "weights")
		require.NoError(t, vm.RunAll())
		require.InDelta(t, cost, m.cost.Data(), 1e-6) // sums of rows with holes add up in another order
		require.InDeltaSlice(t, grad, m.grad.Data(), 1e-6)
		for i := range b.Float32s("x") {
			b.Float32s("x")[i] = float32(math.NaN()) // what a graph may leave behind
		}
		vm.Reset()
	}
}

func TestBatchWithoutValidRow(t *testing.T) {
	// Of two ranks that share three samples, one runs out a step before the other.
	l := newLoader(t, pipeline.Options{BatchSize: 1}, iterator.Options{}, func(g *pipeline.Graph) {
		x, label := small(3)
		v := readers.Slices(g, readers.SlicesOptions{NumShards: 2, StickToShard: true}, readers.Rows(x, features), readers.Rows(label).WithClasses(classes))
		g.Output("x", v[0])
		g.Output("y", ops.OneHot(g, v[1], ops.OneHotOptions{}))
	})
	f, vm, m := newFeed(t, l)
	empty := 0
	for b, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		if b.NumValid() == 0 {
			empty++
			require.Zero(t, m.cost.Data())
			for _, d := range m.grad.Data().([]float32) {
				require.Zero(t, d)
			}
		} else {
			require.NotZero(t, m.cost.Data())
		}
		vm.Reset()
	}
	require.Equal(t, 1, empty)
}

func TestFloat64(t *testing.T) {
	l := newLoader(t, pipeline.Options{BatchSize: 3}, iterator.Options{}, func(g *pipeline.Graph) {
		x, _ := dataset(4, 1)
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))
		g.Output("x", ops.Cast(g, v[0], datum.Float64))
	})
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	rows := gorgonia.Must(gorgonia.Sum(f.Node("x"), 1))
	mean := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(rows, f.Weights()))))
	var got gorgonia.Value
	gorgonia.Read(mean, &got)
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, f.Attach(vm))
	var means []float64
	for _, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		means = append(means, got.Data().(float64))
		vm.Reset()
	}
	require.InDeltaSlice(t, []float64{40, 90}, means, 1e-12)
}

func TestUnmaskedFeedsAreRefused(t *testing.T) {
	skip := pipeline.Options{BatchSize: 4, OnError: pipeline.Skip}
	for _, c := range []struct {
		name    string
		n       int
		po      pipeline.Options
		io      iterator.Options
		build   func(f *gorgoniaplugin.Feed)
		opts    []gorgoniaplugin.Option
		refused bool
	}{
		{name: "short last batch", n: 10, po: batchOf4, refused: true},
		{name: "no short batch", n: 12, po: batchOf4},
		{name: "drop", n: 10, po: batchOf4, io: drop},
		{name: "fill", n: 10, po: batchOf4, io: iterator.Options{LastBatch: shard.Fill}},
		{name: "skip", n: 12, po: skip, io: drop, refused: true},
		{name: "weights made, not read", n: 10, po: batchOf4, build: func(f *gorgoniaplugin.Feed) { f.Weights() }, refused: true},
		{name: "weights", n: 10, po: batchOf4, build: func(f *gorgoniaplugin.Feed) {
			gorgonia.Must(gorgonia.Sum(f.Weights()))
		}},
		{name: "mask", n: 10, po: batchOf4, build: func(f *gorgoniaplugin.Feed) {
			gorgonia.Must(gorgonia.Sum(f.Mask()))
		}},
		{name: "labels", n: 10, po: batchOf4, opts: []gorgoniaplugin.Option{gorgoniaplugin.LabelsMasked("y")}},
		{name: "declared", n: 10, po: batchOf4, opts: []gorgoniaplugin.Option{gorgoniaplugin.Unmasked()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := gorgoniaplugin.New(gorgonia.NewGraph(), newLoader(t, c.po, c.io, numbered(c.n, 0)), c.opts...)
			require.NoError(t, err)
			gorgonia.Must(gorgonia.Sum(f.Node("x")))
			if c.build != nil {
				c.build(f)
			}
			vm := gorgonia.NewTapeMachine(f.Node("x").Graph())
			defer vm.Close()
			err = f.Attach(vm)
			if !c.refused {
				require.NoError(t, err)
				drain(t, f)
				return
			}
			require.ErrorIs(t, err, gorgoniaplugin.ErrUnmasked)
			require.ErrorIs(t, onlyError(t, f), gorgoniaplugin.ErrNotAttached)
		})
	}
}
