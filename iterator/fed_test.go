package iterator

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

// tableOf writes a table of classes, weights and lengths, and returns a pipeline over it.
func tableOf(t *testing.T, rows string, split pipeline.Split, labelled bool) *pipeline.Pipeline {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte("kind,weight,tokens,text\n"+rows), 0o600))
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 1}, func(g *pipeline.Graph) {
		v := readers.CSV(g, readers.CSVOptions{Root: path, Shuffle: true, Split: split, Columns: []readers.Field{{Name: "kind", Label: labelled}}})
		g.Output("kind", v[0])
	})
	require.NoError(t, err)
	return p
}

func rowsOfTable() string {
	var rows strings.Builder
	for i := range 12 {
		fmt.Fprintf(&rows, "%s,%g,%d,x\n", []string{"cat", "dog", "dog", "dog"}[i%4], float64(i%3), 10*i+1)
	}
	return rows.String()
}

// A column that a sampler names is the one that a program would give by hand, of a Split as well: plans have the
// same fingerprint, so a state goes from one to the other.
func TestColumnsFeedSamplers(t *testing.T) {
	var weights, keys []float64
	var labels []int32
	var lengths []int64
	for i := range 12 {
		weights, keys = append(weights, float64(i%3)), append(keys, float64(10*i+1))
		labels, lengths = append(labels, int32(min(i%4, 1))), append(lengths, int64(10*i+1))
	}
	for _, split := range []pipeline.Split{{}, {Folds: 3}} {
		p := tableOf(t, rowsOfTable(), split, true)
		r := p.Readers()[0]
		shown := func(fed, byHand Options) {
			a, err := New(fed, p)
			require.NoError(t, err)
			want := a.Plan().Fingerprint()
			require.NoError(t, a.Close())
			b, err := New(byHand, p)
			require.NoError(t, err)
			require.Equal(t, want, b.Plan().Fingerprint())
			require.NoError(t, b.Close())
		}
		column := func(whole []float64) []float64 {
			c, err := pipeline.ColumnOf(r, whole)
			require.NoError(t, err)
			return c
		}
		shown(Options{Sampler: shard.Weighted{Column: "weight"}}, Options{Sampler: shard.Weighted{Weights: column(weights)}})
		shown(Options{Sampler: shard.Curriculum{Column: "tokens", Start: 0.5, Epochs: 3}}, Options{Sampler: shard.Curriculum{Keys: column(keys), Start: 0.5, Epochs: 3}})
		own, err := pipeline.ColumnOf(r, labels)
		require.NoError(t, err)
		shown(Options{Sampler: shard.ClassBalanced{}}, Options{Sampler: shard.ClassBalanced{Labels: own}})
		l, err := pipeline.ColumnOf(r, lengths)
		require.NoError(t, err)
		shown(Options{Partition: shard.ByStep, Groups: &shard.Groups{Column: "tokens", Window: 8}}, Options{Partition: shard.ByStep, Groups: &shard.Groups{Lengths: l, Window: 8}})
	}
	// The parts of a stratified split have their share of each class.
	for fold := range 3 {
		got, err := tableOf(t, rowsOfTable(), pipeline.Split{Folds: 3, Fold: fold, Holdout: true, Stratified: true}, true).Readers()[0].Labels()
		require.NoError(t, err)
		slices.Sort(got)
		require.Equal(t, []int32{0, 1, 1, 1}, got)
	}
}

// What is wrong with a column is one line that names it, the row and what is wanted.
func TestColumnsThatCannotFeed(t *testing.T) {
	good := rowsOfTable()
	steps := func(g shard.Groups) Options { return Options{Partition: shard.ByStep, Groups: &g} }
	for _, c := range []struct {
		rows string
		o    Options
		want string
	}{
		{good, Options{Sampler: shard.Weighted{Column: "w"}}, `there is no column w; there are kind, weight, tokens, text`},
		{good, Options{Sampler: shard.Weighted{Column: "text"}}, `t.csv: record 0, byte 24: column text: x is no float64`},
		{good, Options{Sampler: shard.Weighted{Column: "weight", Weights: []float64{1}}}, `Weighted.Weights is set; want nil beside Column "weight", or no Column`},
		{"a,1,2,x\nb,-1,2,x\n", Options{Sampler: shard.Weighted{Column: "weight"}}, "Weighted.Weights[1] is -1; want 0 or more, and finite"},
		{"a,0,2,x\nb,0,2,x\n", Options{Sampler: shard.Weighted{Column: "weight"}}, "Weighted.Weights is 0 for all samples; want at least one above 0"},
		{"a,NaN,2,x\nb,0,2,x\n", Options{Sampler: shard.Weighted{Column: "weight"}}, "Weighted.Weights[0] is NaN; want 0 or more, and finite"},
		{"a,1,2,x\nb,1,,x\n", steps(shard.Groups{Column: "tokens"}), "record 1, byte 32: column tokens: \"\" is no float64"},
		{"a,1,2,x\nb,1,2.5,x\n", steps(shard.Groups{Column: "tokens"}), `Groups.Column "tokens"[1] is 2.5; want a whole number, 0 to 2147483647`},
		{"a,1,2,x\nb,1,-3,x\n", steps(shard.Groups{Column: "tokens"}), `Groups.Column "tokens"[1] is -3; want a whole number`},
		{"a,1,2,x\nb,1,99,x\n", steps(shard.Groups{Column: "tokens", Window: 8, Budget: 50}), "Groups.Lengths[1] is 99; want at most the Budget, 50"},
		{good, steps(shard.Groups{Column: "tokens", Lengths: []int64{1}}), `Groups.Lengths is set; want nil beside Column "tokens"`},
	} {
		_, err := New(c.o, tableOf(t, c.rows, pipeline.Split{}, true))
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := New(Options{Sampler: shard.ClassBalanced{}}, tableOf(t, good, pipeline.Split{}, false))
	require.ErrorContains(t, err, "has no label that is known without reading the sample")
	_, err = shard.New(shard.Config{Samples: 3, Batch: 1, Shards: 1, Shuffle: true, Sampler: shard.Weighted{Column: "w"}})
	require.EqualError(t, err, `shard: Weighted.Column is "w"; want a loader, which takes it from its reader; give a plan of its own Weights`)
	_, err = pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{Split: pipeline.Split{Folds: 2, Stratified: true}}, readers.Rows([]int32{1, 2, 3}))[0])
	})
	require.ErrorContains(t, err, "Split.Stratified: ")
}
