package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// mixer is Mixup or CutMix.
type mixer func(g *pipeline.Graph, pictures, labels pipeline.Value, o ops.MixOptions) (pipeline.Value, pipeline.Value)

// ofOneLevel returns n pictures of h×w×c whose bytes are their number, and these numbers.
func ofOneLevel(n, h, w, c int) (readers.Column, readers.Column) {
	data, labels := make([]uint8, n*h*w*c), make([]int32, n)
	for i := range data {
		data[i] = uint8(i / (h * w * c))
	}
	for i := range labels {
		labels[i] = int32(i)
	}
	return picture(h, w, c, data...), readers.Rows(labels)
}

// mixed runs a mixer over n pictures, with pictures of bytes and of numbers, and hands the
// batches to see.
func mixed(t *testing.T, f mixer, n, batch int, o ops.MixOptions, see func(b *iterator.Batch)) {
	t.Helper()
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 3, Workers: 2}, func(g *pipeline.Graph) {
		pics, labels := ofOneLevel(n, 6, 8, 3)
		in := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, pics, labels)
		o.Classes = n
		x, y := f(g, in[0], in[1], o)
		g.Output("x", x)
		g.Output("y", y)
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		see(b)
	}
}

// A mixed label has its picture's share, and the rest belongs to another sample of the batch;
// the pixels have the same shares. All of a batch have one share, and every sample gives one.
func TestMixedLabelsTellWhatPicturesShow(t *testing.T) {
	const n, size = 103, 8 // the last batch is not full
	for name, f := range map[string]mixer{"mixup": ops.Mixup, "cutmix": ops.CutMix} {
		shares := map[float64]bool{}
		mixed(t, f, n, size, ops.MixOptions{}, func(b *iterator.Batch) {
			given := map[int]float64{}
			var share float64
			for row, id := range b.IDs() {
				y := b.Sample("y", row).Float32s()
				if id < 0 {
					continue
				}
				own, sum := float64(y[id]), 0.0
				share = own
				other := int(id)
				for c, p := range y {
					sum += float64(p)
					given[c] += float64(p)
					if p > 0 && c != int(id) {
						require.Contains(t, b.IDs(), int64(c), name)
						other = c
					}
				}
				require.InDelta(t, 1, sum, 1e-6, name)
				levels := map[uint8]int{}
				x := b.Sample("x", row).Bytes()
				for _, level := range x {
					levels[level]++
				}
				if name == "mixup" {
					require.Len(t, levels, 1)
					require.InDelta(t, own*float64(id)+(1-own)*float64(other), float64(x[0]), 0.502)
				} else {
					require.InDelta(t, own, float64(levels[uint8(id)])/float64(len(x)), 1e-6)
					require.Equal(t, len(x), levels[uint8(id)]+levels[uint8(other)]*min(1, max(other-int(id), int(id)-other)))
				}
			}
			for row, id := range b.IDs() {
				if id >= 0 {
					require.InDelta(t, 1, given[int(id)], 1e-5, "%s: every sample gives as much as it gets", name)
					require.Equal(t, share, float64(b.Sample("y", row).Float32s()[id]), "%s: a batch has one share", name)
				}
			}
			shares[share] = true
		})
		require.Greater(t, len(shares), 5, name)
	}
}

// Shares are of a beta distribution: for Alpha 1 uniform, for 0.2 with its deviation, and as
// often 1 as Probability says. The mean and the deviation lie within four standard errors.
func TestMixupShares(t *testing.T) {
	for _, c := range []struct{ alpha, probability, deviation float64 }{{1, 1, math.Sqrt(1. / 12)}, {0.2, 1, math.Sqrt(1 / (4 * 1.4))}, {1, 0.5, math.Sqrt(1. / 12)}} {
		var sum, squares, count, plain float64
		mixed(t, ops.Mixup, 200, 2, ops.MixOptions{Alpha: c.alpha, Probability: &c.probability}, func(b *iterator.Batch) {
			x := float64(b.Sample("y", 0).Float32s()[b.IDs()[0]])
			if x == 1 {
				plain++
				return
			}
			sum, squares, count = sum+x, squares+(x-0.5)*(x-0.5), count+1
		})
		require.InDelta(t, 0.5, sum/count, 4*c.deviation/math.Sqrt(count))
		require.InDelta(t, c.deviation, math.Sqrt(squares/count), 0.08)
		require.InDelta(t, 100*(1-c.probability), plain, 20)
	}
}

// Labels may be vectors and pictures numbers in CHW order.
func TestCutMixOfPlanes(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Seed: 1}, func(g *pipeline.Graph) {
		pics, labels := ofOneLevel(4, 6, 8, 3)
		in := readers.Slices(g, readers.SlicesOptions{}, pics, labels)
		v := ops.CropMirrorNormalize(g, in[0], ops.CropMirrorNormalizeOptions{})
		x, y := ops.CutMix(g, v, ops.OneHot(g, in[1], ops.OneHotOptions{Classes: 4}), ops.MixOptions{})
		g.Output("x", x)
		g.Output("y", y)
	})
	require.NoError(t, err)
	got, err := run(t, p)
	require.NoError(t, err)
	for i, x := range got["x"] {
		own := 0
		for j, level := range x.data {
			require.Equal(t, x.data[j%48], level, "planes are cut alike")
			if level == float64(i) {
				own++
			}
		}
		require.InDelta(t, got["y"][i].data[i], float64(own)/144, 1e-6)
	}
}

// What is mixed is the same in another run from a state on, and another world is refused.
func TestMixedBatchesAreRestoredInTheSameWorldOnly(t *testing.T) {
	build := func(batch, shards int) *iterator.Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 3}, func(g *pipeline.Graph) {
			pics, labels := ofOneLevel(32, 2, 2, 3)
			in := readers.Slices(g, readers.SlicesOptions{Shuffle: true, NumShards: shards}, pics, labels)
			x, _ := ops.Mixup(g, in[0], in[1], ops.MixOptions{Classes: 32})
			g.Output("x", x)
		})
		require.NoError(t, err)
		require.True(t, p.Mixes())
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	rest := func(l *iterator.Loader) (got [][]byte) {
		for b, err := range l.Epochs(t.Context(), 2) {
			require.NoError(t, err)
			for row := range b.IDs() {
				got = append(got, append([]byte{}, b.Sample("x", row).Bytes()...))
			}
		}
		return got
	}
	a := build(4, 1)
	for range a.Epoch(t.Context()) {
		break
	}
	state, err := a.State()
	require.NoError(t, err)
	b := build(4, 1)
	require.NoError(t, b.Restore(state))
	require.Equal(t, rest(a), rest(b))
	for _, other := range []*iterator.Loader{build(2, 1), build(2, 2), build(4, 2)} {
		var mismatch *iterator.MismatchError
		require.ErrorAs(t, other.Restore(state), &mismatch)
		require.Equal(t, "the world of a pipeline with an operator that mixes the rows of a batch", mismatch.What)
	}
}

func TestMistakesWithMixes(t *testing.T) {
	minus := -1.0
	for want, define := range map[string]func(g *pipeline.Graph, x, y pipeline.Value){
		"pipeline: mixup: Alpha is -1; it must be positive and finite": func(g *pipeline.Graph, x, y pipeline.Value) {
			ops.Mixup(g, x, y, ops.MixOptions{Alpha: -1, Classes: 2})
		},
		"pipeline: mixup: Probability is -1; it must be 0 … 1": func(g *pipeline.Graph, x, y pipeline.Value) {
			ops.Mixup(g, x, y, ops.MixOptions{Probability: &minus, Classes: 2})
		},
		"pipeline: mixup: the input is missing":                                          func(g *pipeline.Graph, x, y pipeline.Value) { ops.Mixup(g, x, pipeline.Value{}, ops.MixOptions{}) },
		"pipeline: one_hot: the reader does not know the number of classes: set Classes": func(g *pipeline.Graph, x, y pipeline.Value) { ops.CutMix(g, x, y, ops.MixOptions{}) },
		"pipeline: mixup: the pictures are int16 HWC 4×4×3; float32 or uint8 is wanted: cast them first": func(g *pipeline.Graph, x, y pipeline.Value) {
			ops.Mixup(g, ops.Cast(g, x, datum.Int16), y, ops.MixOptions{Classes: 2})
		},
		"pipeline: cutmix: the pictures are uint8 48; H×W×C, C×H×W or H×W is wanted": func(g *pipeline.Graph, x, y pipeline.Value) {
			ops.CutMix(g, ops.Reshape(g, x, ops.ReshapeOptions{Shape: ops.Constant(g, 48)}), y, ops.MixOptions{Classes: 2})
		},
		"pipeline: mixup: input 0 is uint8 HWC ?×?×3; a batch needs samples of one known shape: resize first": func(g *pipeline.Graph, x, y pipeline.Value) {
			ops.Mixup(g, ragged(g, x), y, ops.MixOptions{Classes: 2})
		},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
			pics, labels := ofOneLevel(2, 4, 4, 3)
			in := readers.Slices(g, readers.SlicesOptions{}, pics, labels)
			define(g, in[0], in[1])
			g.Output("x", in[0])
		})
		require.EqualError(t, err, want)
	}
}
