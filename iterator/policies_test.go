package iterator

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// indexed returns a loader of a part of 100 numbers, of which 40 is damaged, with the index
// that an operator sees.
func indexed(t *testing.T, policy pipeline.ErrorPolicy) *Loader {
	t.Helper()
	x := make([]float32, 100)
	for i := range x {
		x[i] = float32(i)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, OnError: policy, Seed: 5}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Shuffle: true, Split: pipeline.Split{Folds: 5}}, readers.Rows(x))[0]
		g.Output("x", v)
		g.Output("index", ops.Func(g, ops.FuncOptions{Name: "index", Outputs: []datum.Spec{{DType: datum.Int64}}},
			func(c *datum.Sample, in, out []*datum.Tensor) error {
				if in[0].Float32s()[0] == 40 {
					return errors.New("damaged")
				}
				return put(out, c.Index())
			}, v)[0])
	})
	require.NoError(t, err)
	l, err := New(Options{}, p)
	require.NoError(t, err)
	return l
}

// A run that dies of a bad sample goes on with the rest of the epoch under another
// policy, and an operator sees the index that a sample has in the whole data set.
func TestARunThatDiedOfABadSampleGoesOnWithoutIt(t *testing.T) {
	l := indexed(t, pipeline.Fail)
	seen := map[int64]bool{}
	look := func(b *Batch) {
		for i, ok := range b.Mask() {
			if ok {
				require.EqualValues(t, b.Float32s("x")[i], b.Int64s("index")[i])
				require.False(t, seen[b.Int64s("index")[i]])
				seen[b.Int64s("index")[i]] = true
			}
		}
	}
	var state State
	var bad *pipeline.SampleError
	for b, err := range l.Epoch(t.Context()) {
		if err != nil {
			require.ErrorAs(t, err, &bad)
			break
		}
		look(b)
		state = storedState(t, stateOf(t, l))
	}
	require.NotNil(t, bad)
	require.EqualValues(t, 40, bad.Index)
	require.NoError(t, l.Close())

	for _, policy := range []pipeline.ErrorPolicy{pipeline.Replace, pipeline.Skip} {
		next := indexed(t, policy)
		require.NoError(t, next.Restore(state))
		if policy == pipeline.Skip {
			for b, err := range next.Epoch(context.Background()) {
				require.NoError(t, err)
				look(b)
			}
		}
		require.NoError(t, next.Close())
	}
	require.Len(t, seen, 79)
}

// What differs in an operator's options is named, and nothing else of them.
func TestAMismatchNamesTheOptionThatDiffers(t *testing.T) {
	build := func(mean float64) *Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]uint8, 3*8*8), 8, 8, 3).WithLayout(datum.HWC))[0]
			g.Output("image", ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{
				Mean: []float64{mean, 116, 103}, Std: []float64{58, 57, 57},
			}))
		})
		require.NoError(t, err)
		l, err := New(Options{}, p)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	err := build(124).Restore(stateOf(t, build(123)))
	var m *MismatchError
	require.ErrorAs(t, err, &m)
	require.Equal(t, "the pipeline's crop_mirror_normalize", m.What)
	require.Less(t, len(fmt.Sprint(err)), 250)
	for _, want := range []string{"123", "124"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, m.Stored, "58")
	t.Log(err)
}

// A state that was stored when the error policy was part of it is taken up.
func TestStatesWithAnErrorPolicy(t *testing.T) {
	l := base().loaderOf(t)
	take(t, l, 2)
	s := stateOf(t, l)
	lines := append([]string(nil), s.identity.Pipelines[0].Lines...)
	require.Equal(t, "seed=7 exact_rgb=false", lines[1])
	lines[1] += " on_error=fail"
	s.identity.Pipelines = []pipelineIdentity{{Readers: s.identity.Pipelines[0].Readers, Lines: lines}}
	other := base()
	other.options.OnError = pipeline.Skip
	require.NoError(t, other.loaderOf(t).Restore(storedState(t, s)))
}
