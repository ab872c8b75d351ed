package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// shown returns the samples of the whole that a source shows.
func shown(t require.TestingT, src datum.Source, s Split) []int64 {
	part, err := s.apply(src)
	require.NoError(t, err)
	r := Reader{Source: part}
	var all []int64
	for i := range part.Len() {
		all = append(all, r.WholeIndex(i))
		require.Equal(t, src.Describe(all[i]), part.Describe(i))
	}
	return all
}

// The parts that are held out share the samples; what is left by each is the rest.
func TestSplitLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := numbers{n: rapid.Int64Range(2, 300).Draw(t, "n")}
		s := Split{Folds: rapid.IntRange(2, int(min(src.n, 12))).Draw(t, "folds"), Seed: rapid.Uint64().Draw(t, "seed")}
		var union []int64
		for s.Fold = range s.Folds {
			s.Holdout = true
			held := shown(t, src, s)
			each := src.n / int64(s.Folds)
			require.GreaterOrEqual(t, int64(len(held)), each)
			require.LessOrEqual(t, int64(len(held)), each+1)
			union = append(union, held...)
			s.Holdout = false
			whole := append(held, shown(t, src, s)...)
			require.ElementsMatch(t, shown(t, src, Split{}), whole)
		}
		require.ElementsMatch(t, shown(t, src, Split{}), union)
	})
}

// Stored states and results depend on the choice: it must never change.
func TestSplitIsTheSameForever(t *testing.T) {
	require.Equal(t, []int64{7, 5, 2}, shown(t, numbers{n: 10}, Split{Folds: 4, Fold: 1, Holdout: true, Seed: 7}))
	require.Equal(t, []int64{1, 4, 6, 8, 9, 0, 3}, shown(t, numbers{n: 10}, Split{Folds: 4, Fold: 1, Seed: 7}))
}

func TestSplitRefusals(t *testing.T) {
	for _, c := range []struct {
		split Split
		want  string
	}{
		{Split{Holdout: true}, "pipeline: reader: Split has no Folds; say how many parts there are, or leave it out"},
		{Split{Seed: 1}, "pipeline: reader: Split has no Folds; say how many parts there are, or leave it out"},
		{Split{Folds: 1}, "pipeline: reader: Split.Folds is 1; it must be at least 2"},
		{Split{Folds: -3}, "pipeline: reader: Split.Folds is -3; it must be at least 2"},
		{Split{Folds: 3, Fold: 3}, "pipeline: reader: Split.Fold is 3; with 3 folds it must be 0 … 2"},
		{Split{Folds: 3, Fold: -1}, "pipeline: reader: Split.Fold is -1; with 3 folds it must be 0 … 2"},
		{Split{Folds: 11}, "pipeline: reader: Split.Folds is 11, but there are only 10 samples"},
	} {
		_, err := New(Options{BatchSize: 1}, func(g *Graph) { g.Output("x", g.Read(ReaderOptions{Split: c.split}, numbers{n: 10})[0]) })
		require.EqualError(t, err, c.want)
	}
}

func TestSplitMakesAnotherDataSet(t *testing.T) {
	seen := map[uint64]Split{}
	for _, s := range []Split{
		{}, {Folds: 4}, {Folds: 5}, {Folds: 4, Fold: 1}, {Folds: 4, Holdout: true}, {Folds: 4, Seed: 1}, {Folds: 4, Fold: 1, Holdout: true},
	} {
		part, err := s.apply(numbers{n: 20})
		require.NoError(t, err)
		print := part.Meta().Fingerprint
		require.NotContains(t, seen, print, "%+v", s)
		seen[print] = s
		again, err := s.apply(numbers{n: 20})
		require.NoError(t, err)
		require.Equal(t, print, again.Meta().Fingerprint)
	}
}

// A part reads, fetches and touches what the whole would.
func TestSplitReadsItsSamples(t *testing.T) {
	d := &slowDisk{numbers: numbers{n: 20}, ahead: 4}
	s := Split{Folds: 4, Holdout: true, Seed: 3}
	want := shown(t, d, s)
	part, err := s.apply(d)
	require.NoError(t, err)
	require.Equal(t, 4, part.(datum.Prefetcher).ReadAhead())
	for i := range part.Len() {
		part.(datum.Prefetcher).Prefetch(t.Context(), i)
	}
	require.Equal(t, want, d.asked)

	p, err := New(Options{BatchSize: 5, Workers: 2}, func(g *Graph) {
		g.Output("x", g.Read(ReaderOptions{Split: s}, d)[0])
	})
	require.NoError(t, err)
	r := runner(t, p, 5)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	for row, id := range b.IDs() {
		require.EqualValues(t, p.Readers()[0].WholeIndex(id), b.Int32s("x")[row])
	}
	b.Release()
	plain, err := s.apply(numbers{n: 20})
	require.NoError(t, err)
	require.Zero(t, plain.(datum.Prefetcher).ReadAhead())
	plain.(datum.Toucher).Touch(0)
}

// With strata every part has its share of each class, and parts share the samples as ever.
func TestStratifiedSplitLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := numbers{n: rapid.Int64Range(2, 200).Draw(t, "n")}
		labels := rapid.SliceOfN(rapid.Int32Range(-1, 4), int(src.n), int(src.n)).Draw(t, "labels")
		s := Split{Folds: rapid.IntRange(2, int(min(src.n, 9))).Draw(t, "folds"), Seed: rapid.Uint64().Draw(t, "seed"), Strata: shard.NewStrata(labels)}
		all := map[int32]int{}
		for _, label := range labels {
			all[label]++
		}
		var union []int64
		for s.Fold = range s.Folds {
			s.Holdout = true
			held := shown(t, src, s)
			each := src.n / int64(s.Folds)
			require.True(t, int64(len(held)) == each || int64(len(held)) == each+1)
			in := map[int32]int{}
			for _, i := range held {
				in[labels[i]]++
			}
			for label, n := range all {
				require.InDelta(t, float64(n)/float64(s.Folds), in[label], 0.9999, "class %d", label)
			}
			union = append(union, held...)
			s.Holdout = false
			require.ElementsMatch(t, shown(t, src, Split{}), append(held, shown(t, src, s)...))
		}
		require.ElementsMatch(t, shown(t, src, Split{}), union)
	})
}

func TestStratifiedSplitIsTheSameForever(t *testing.T) {
	strata := shard.NewStrata([]int32{0, 0, 0, 0, 0, 0, 1, 1, 1, 1})
	require.Equal(t, []int64{0, 4, 9}, shown(t, numbers{n: 10}, Split{Folds: 4, Fold: 1, Holdout: true, Seed: 7, Strata: strata}))
	seen := map[uint64]bool{}
	for _, s := range []*shard.Strata{nil, strata, shard.NewStrata([]int32{0, 0, 0, 0, 0, 1, 1, 1, 1, 1})} {
		part, err := Split{Folds: 4, Strata: s}.apply(numbers{n: 10})
		require.NoError(t, err)
		require.False(t, seen[part.Meta().Fingerprint])
		seen[part.Meta().Fingerprint] = true
	}
	_, err := New(Options{BatchSize: 1}, func(g *Graph) { g.Read(ReaderOptions{Split: Split{Folds: 2, Strata: strata}}, numbers{n: 9}) })
	require.EqualError(t, err, "pipeline: reader: Split.Strata has labels of 10 samples, but there are 9; give one for each sample of the whole data set")
}

// A column of the whole data set is shown as the reader shows its samples.
func TestColumnOf(t *testing.T) {
	var part, whole *Reader
	_, err := New(Options{BatchSize: 1}, func(g *Graph) {
		g.Output("x", g.Read(ReaderOptions{Split: Split{Folds: 3, Seed: 1}}, numbers{n: 10})[0])
		g.Read(ReaderOptions{Name: "whole"}, numbers{n: 10})
		part, whole = g.readers[0], g.readers[1]
	})
	require.NoError(t, err)
	column := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	same, err := ColumnOf(whole, column)
	require.NoError(t, err)
	require.Equal(t, column, same)
	shown, err := ColumnOf(part, column)
	require.NoError(t, err)
	require.Len(t, shown, int(part.Len()))
	for id, x := range shown {
		require.Equal(t, column[part.WholeIndex(int64(id))], x)
	}
	_, err = ColumnOf(part, column[1:])
	require.EqualError(t, err, `pipeline: the column has 9 values, but the data set of reader "reader" has 10 samples; give one for each`)
	_, err = ColumnOf(&Reader{ReaderOptions: ReaderOptions{Name: "s"}, Sequence: count{n: 3}}, column)
	require.ErrorContains(t, err, "is a sequence")
}
