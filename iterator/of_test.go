package iterator

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

func TestOf(t *testing.T) {
	l, err := Of(Options{}, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int64{1, 2, 3}))[0])
	})
	require.NoError(t, err)
	defer l.Close()
	var got []int64
	for b := range MustEach(l.Epochs(t.Context(), 2)) {
		got = append(got, b.Int64s("x")[:b.NumValid()]...)
		if b.Epoch() == 1 {
			break
		}
	}
	require.Equal(t, []int64{1, 2, 3, 1, 2}, got)

	_, err = Of(Options{}, pipeline.Options{}, func(*pipeline.Graph) {})
	var build *pipeline.BuildError
	require.ErrorAs(t, err, &build)
	_, err = Of(Options{ReaderName: "none"}, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int64{1}))[0])
	})
	var option *OptionError
	require.ErrorAs(t, err, &option)
}

func TestMust(t *testing.T) {
	require.Equal(t, 3, Must(3, nil))
	wrong := errors.New("wrong")
	require.PanicsWithError(t, "wrong", func() { Must(3, wrong) })

	// A loop that ends by an error panics with it, in its place, and what it held is given back.
	l := Must(Of(Options{}, pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int64{1, 2, 3}))[0])
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	steps := 0
	require.PanicsWithError(t, "wrong", func() {
		for range MustEach(l.Epochs(ctx, 3)) {
			steps++
			cancel(wrong)
		}
	})
	require.Equal(t, 1, steps)
	require.ErrorIs(t, l.Err(), wrong)
	require.NoError(t, l.Close(), "the error was taken")
}

func TestHits(t *testing.T) {
	l := Must(Of(Options{}, pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		labels := []int32{0, 2, 1}
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(labels).WithClasses(3), readers.Rows([]int64{0, 2, 1}), readers.Rows([]uint8{0, 2, 1}), readers.Rows([]float64{1, 0, 0, 0, 0, 1, 0, 1, 0}, 3))
		g.Output("i32", v[0])
		g.Output("i64", v[1])
		g.Output("u8", v[2])
		g.Output("f32", ops.OneHot(g, v[0], ops.OneHotOptions{}))
		g.Output("f64", v[3])
	}))
	defer l.Close()
	for b := range MustEach(l.Epoch(t.Context())) {
		require.Equal(t, datum.Float64, b.DType("f64"))
		scores := []float32{2, 1, 1, 5, 0, 4, 0, 3, 3, 9, 0, 0} // right, wrong, right by being first, and no row
		wide := make([]float64, len(scores))
		for i, x := range scores {
			wide[i] = float64(x)
		}
		for _, label := range []string{"i32", "i64", "f32", "f64"} {
			require.Equal(t, 2, Hits(b, label, scores), label)
			require.Equal(t, 2, Hits(b, label, wide), label)
		}
		require.PanicsWithValue(t, `iterator: Hits was given 11 scores for a batch of 4 rows whose output "i32" has the shape [4]; want one for each row and class`, func() { Hits(b, "i32", scores[:11]) })
		require.Panics(t, func() { Hits(b, "f32", scores[:8]) })
		require.PanicsWithValue(t, `iterator: output "u8" is uint8 of the shape [4]; Hits wants class numbers, int32 or int64, or one-hot labels, float32 or float64`, func() { Hits(b, "u8", scores) })
		require.Panics(t, func() { Hits(b, "none", scores) })
	}
}
