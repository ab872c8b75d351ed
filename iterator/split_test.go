package iterator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// flowers returns a loader of a part of ten rows, of two classes with names.
func flowers(t *testing.T, s pipeline.Split) *Loader {
	t.Helper()
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		labels := readers.Rows([]int32{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}).WithClassNames("rose", "tulip")
		g.Output("label", readers.Slices(g, readers.SlicesOptions{Shuffle: true, Split: s}, labels)[0])
	})
	require.NoError(t, err)
	l, err := New(Options{}, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func TestAStateBelongsToItsPart(t *testing.T) {
	part := pipeline.Split{Folds: 2, Seed: 4}
	l := flowers(t, part)
	require.Equal(t, []string{"rose", "tulip"}, l.Classes())
	require.Equal(t, 3, l.Len(), "of five samples")
	state, err := l.State()
	require.NoError(t, err)
	require.NoError(t, flowers(t, part).Restore(state))
	for _, other := range []pipeline.Split{{Folds: 2, Seed: 5}, {Folds: 2, Seed: 4, Fold: 1}, {Folds: 2, Seed: 4, Holdout: true}} {
		var mismatch *MismatchError
		require.ErrorAs(t, flowers(t, other).Restore(state), &mismatch)
		require.Contains(t, mismatch.What, "the fingerprint of the data")
	}
}
