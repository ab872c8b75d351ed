package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Values, masks and lengths are what one loop over steps makes of them.
func TestPadSequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sequences := rapid.SliceOfN(rapid.SliceOfN(rapid.Float32Range(-9, 9), 0, 6), 1, 5).Draw(rt, "sequences")
		o := ops.PadSequenceOptions{
			Length: rapid.IntRange(1, 7).Draw(rt, "Length"), Fill: rapid.SampledFrom([]float64{0, -3.5}).Draw(rt, "Fill"),
			Left: rapid.Bool().Draw(rt, "Left"), Truncate: true, Mask: rapid.SampledFrom([]datum.DType{0, datum.Uint8, datum.Float32}).Draw(rt, "Mask"),
		}
		got, err := epoch(t, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(sequences))[0]
			values, mask, length := ops.PadSequence(g, v, o)
			require.True(t, values.Spec().Dense() && mask.Spec().Dense())
			g.Output("values", values)
			g.Output("mask", mask)
			g.Output("length", length)
			wide, _, _ := ops.PadSequence(g, ops.Stack(g, 1, "", v, v), o) // of T×2
			g.Output("wide", wide)
		})
		require.NoError(t, err)
		for i, s := range sequences {
			n := min(len(s), o.Length)
			values, mask := make([]float64, o.Length), make([]float64, o.Length)
			for k := range values {
				values[k] = o.Fill
				at := k
				if o.Left {
					at = k - (o.Length - n)
				}
				if at >= 0 && at < n {
					values[k], mask[k] = float64(s[at]), 1
				}
			}
			require.Equal(t, values, got["values"][i].data)
			require.Equal(t, mask, got["mask"][i].data)
			require.Equal(t, []float64{float64(n)}, got["length"][i].data)
			require.Equal(t, []int{o.Length, 2}, got["wide"][i].shape)
			for k, x := range values {
				require.Equal(t, []float64{x, x}, got["wide"][i].data[2*k:2*k+2])
			}
		}
	})
}

func TestPadSequenceRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		column readers.Column
		o      ops.PadSequenceOptions
	}{
		"Length is 0":                 {readers.Ragged([][]int32{{1}}), ops.PadSequenceOptions{}},
		"type of the mask is float16": {readers.Ragged([][]int32{{1}}), ops.PadSequenceOptions{Length: 3, Mask: datum.Float16}},
		"int32 scalar":                {readers.Rows([]int32{1}), ops.PadSequenceOptions{Length: 3}},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			v, _, _ := ops.PadSequence(g, readers.Slices(g, readers.SlicesOptions{}, c.column)[0], c.o)
			g.Output("out", v)
		})
		require.ErrorContains(t, err, want)
	}
	_, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
		v, _, _ := ops.PadSequence(g, readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]int32{{1}, {1, 2, 3}}))[0], ops.PadSequenceOptions{Length: 2})
		g.Output("out", v)
	})
	require.ErrorContains(t, err, "the sequence has 3 steps; Length is 2")
	var sample *pipeline.SampleError
	require.ErrorAs(t, err, &sample)
	require.EqualValues(t, 1, sample.Index)
}

// batches hands over the batches of an epoch of sequences, the last of which is short.
func batches(t *testing.T, size int, column readers.Column, each func(b *iterator.Batch)) {
	p, err := pipeline.New(pipeline.Options{BatchSize: size}, func(g *pipeline.Graph) {
		g.Output("v", readers.Slices(g, readers.SlicesOptions{}, column)[0])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		each(b)
	}
}

// A batch is as long as its longest sequence, and rows that are not valid are empty.
func TestPaddedBatch(t *testing.T) {
	column := readers.Ragged([][]int16{{1}, {2, 3, 4}, {5, 6}, {}, {7}})
	var got []ops.PaddedBatch
	p := ops.PaddedBatch{Fill: -1}
	batches(t, 2, column, func(b *iterator.Batch) {
		require.NoError(t, p.Pad(b.Batch, "v"))
		kept := ops.PaddedBatch{DType: p.DType, Shape: append([]int{}, p.Shape...), Data: append([]byte{}, p.Data...), Mask: append([]bool{}, p.Mask...), Lengths: append([]int{}, p.Lengths...)}
		got = append(got, kept)
	})
	one := func(shape, lengths []int, mask []bool, data ...int16) ops.PaddedBatch {
		return ops.PaddedBatch{DType: datum.Int16, Shape: shape, Lengths: lengths, Mask: mask, Data: append([]byte{}, datum.BytesOf(data)...)}
	}
	require.Equal(t, []ops.PaddedBatch{
		one([]int{2, 3}, []int{1, 3}, []bool{true, false, false, true, true, true}, 1, -1, -1, 2, 3, 4),
		one([]int{2, 2}, []int{2, 0}, []bool{true, true, false, false}, 5, 6, -1, -1),
		one([]int{2, 1}, []int{1, 0}, []bool{true, false}, 7, -1),
	}, got)

	left := ops.PaddedBatch{Left: true, Align: 4}
	batches(t, 5, column, func(b *iterator.Batch) {
		require.NoError(t, left.Pad(b.Batch, "v"))
		require.Equal(t, []int{5, 4}, left.Shape)
		require.Equal(t, []int16{0, 0, 0, 1, 0, 2, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0, 0, 7}, datum.View[int16](left.Data))
		require.Equal(t, []bool{false, true, true, true}, left.Mask[4:8])
	})

	dense := ops.PaddedBatch{}
	batches(t, 3, readers.Rows([]float32{1, 2, 3, 4}, 2, 2), func(b *iterator.Batch) {
		require.NoError(t, dense.Pad(b.Batch, "v"))
		require.Equal(t, []int{3, 2, 2}, dense.Shape)
		require.Equal(t, []float32{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}, datum.View[float32](dense.Data))
	})
}

func TestPaddedBatchRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		p      ops.PaddedBatch
		column readers.Column
	}{
		`output "v" cannot be padded: row 1, sample 1, has 3 steps; MaxLength is 2`: {ops.PaddedBatch{MaxLength: 2}, readers.Ragged([][]int16{{1}, {2, 3, 4}})},
		"its samples are single numbers":                                            {ops.PaddedBatch{}, readers.Rows([]int16{1, 2})},
		"Align is -1":                                                               {ops.PaddedBatch{Align: -1}, readers.Rows([]int16{1, 2})},
	} {
		batches(t, 2, c.column, func(b *iterator.Batch) { require.ErrorContains(t, c.p.Pad(b.Batch, "v"), want) })
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]int16{{1, 2}, {2, 3, 4}}))[0]
		g.Output("v", ops.ExpandDims(g, v, []int{0}, ""))
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		require.ErrorContains(t, new(ops.PaddedBatch).Pad(b.Batch, "v"), "row 1, sample 1, has shape [1 3], and row 0, sample 0, [1 2]; only the first extents may differ")
	}
}

// Once it has seen the longest batch, padding allocates nothing.
func TestWarmPaddedBatchAllocatesNothing(t *testing.T) {
	if memstats.Invariants {
		t.Skip("builds with the tag invariants allocate for what they check")
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 1}, func(g *pipeline.Graph) {
		g.Output("v", readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]int16{{1, 2}, {2, 3, 4}}))[0])
	})
	require.NoError(t, err)
	r, err := p.Engine().NewRunner(feedtest.Endless(2, 4))
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var padded ops.PaddedBatch
	step := func() {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := padded.Pad((*pipeline.Batch)(b), "v"); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	for range 20 {
		step()
	}
	alloctest.None(t, 50, step)
}
