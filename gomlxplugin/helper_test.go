package gomlxplugin

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// width is that of a point: a batch of 16 is larger than leastBytes.
const width = 1024

// points returns n points and their classes, 0 or 1: the sign of the first number.
func points(n int) (at []float32, class []int32) {
	at, class = make([]float32, n*width), make([]int32, n)
	state := uint32(1)
	for i := range at {
		state = state*1664525 + 1013904223
		at[i] = float32(int32(state)) / (1 << 31)
	}
	for i := range class {
		if at[i*width] > 0 {
			class[i] = 1
		}
		for k := range 32 { // seen easily
			at[i*width+k] = at[i*width]
		}
	}
	return at, class
}

type setup struct {
	backend compute.Backend
	n       int // points
	batch   int
	shuffle bool
	last    shard.Policy
	onError pipeline.ErrorPolicy
	bad     func(i int64) bool
	ranks   int
	rank    int
	devices int // a pipeline each
}

// backend is a Go backend of its own.
func backend(t testing.TB) compute.Backend {
	b, err := gobackend.New("")
	require.NoError(t, err)
	t.Cleanup(b.Finalize)
	return b
}

// loader delivers "point", float32 [batch, width], and "class", int32 [batch].
func loader(t testing.TB, s setup) *iterator.Loader {
	t.Helper()
	at, class := points(s.n)
	var pipes []*pipeline.Pipeline
	for device := range max(1, s.devices) {
		p, err := pipeline.New(pipeline.Options{
			BatchSize: s.batch, Seed: 7, OnError: s.onError, Workers: 2, OutputMemory: NewMemory(s.backend, 0),
		}, func(g *pipeline.Graph) {
			o := readers.SlicesOptions{Name: "points", Shuffle: s.shuffle, NumShards: max(1, s.ranks, s.devices), ShardID: s.rank + device}
			v := readers.Slices(g, o, readers.Rows(at, width), readers.Rows(class))
			at := v[0]
			if s.bad != nil {
				at = look(g, at, s.bad)
			}
			g.Output("point", at)
			g.Output("class", v[1])
		})
		require.NoError(t, err)
		pipes = append(pipes, p)
	}
	l, err := iterator.New(iterator.Options{LastBatch: s.last}, pipes...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// look fails for points that are bad.
func look(g *pipeline.Graph, at pipeline.Value, bad func(i int64) bool) pipeline.Value {
	return g.Add(pipeline.Op{
		Name: "look", Inputs: []pipeline.Value{at}, Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{width}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(s *datum.Sample, in, out []*datum.Tensor) error {
				if bad(s.Index()) {
					return fmt.Errorf("point %d is bad", s.Index())
				}
				return out[0].CopyFrom(in[0])
			}), nil
		},
	})[0]
}

func dataset(t testing.TB, l *iterator.Loader, o Options) *Dataset {
	t.Helper()
	o.Inputs, o.Labels = []string{"point"}, []string{"class"}
	ds, err := New(t.Context(), l, o)
	require.NoError(t, err)
	return ds
}

// copied is what a batch holds, and lets go of the batch.
type copied struct {
	points []float32
	labels []any
	shape  string
}

func drain(t testing.TB, ds train.Dataset) (all []copied) {
	t.Helper()
	for b, err := range ds.Iter() {
		require.NoError(t, err)
		all = append(all, copyOf(t, b))
		require.NoError(t, b.Finalize())
	}
	return all
}

func copyOf(t testing.TB, b train.Batch) (c copied) {
	t.Helper()
	require.Len(t, b.Inputs, 1)
	c.points = tensors.MustCopyFlatData[float32](b.Inputs[0])
	c.shape = b.Inputs[0].Shape().String()
	for _, l := range b.Labels {
		c.labels = append(c.labels, l.Value())
		c.shape += " " + l.Shape().String()
	}
	return c
}

// newTrainer trains a layer to tell the classes.
func newTrainer(backend compute.Backend) *train.Trainer {
	store := model.NewStore()
	store.SetParam(model.ParamInitialSeed, int64(42))
	logits := func(scope *model.Scope, _ any, in []*graph.Node) []*graph.Node {
		return []*graph.Node{layers.DenseWithBias(scope.In("model"), in[0], 2)}
	}
	return train.NewTrainer(backend, store, logits, loss.SparseCategoricalCrossEntropyLogits,
		optimizer.StochasticGradientDescent().WithDecay(false).WithLearningRate(0.1).Done(), nil,
		[]metric.Interface{metric.NewSparseCategoricalAccuracy("Accuracy", "acc")})
}

// weightsOf returns the numbers of all variables that are trained.
func weightsOf(t testing.TB, trainer *train.Trainer) map[string]any {
	t.Helper()
	all := map[string]any{}
	for v := range trainer.Store().IterVariables() {
		if v.Trainable {
			all[v.Path()] = v.MustValue().Value()
		}
	}
	require.NotEmpty(t, all)
	return all
}
