package readers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline"
)

func TestTheConsumerCannotReachTheDataSet(t *testing.T) {
	dense, ragged := []float32{1, 2, 3, 4}, [][]byte{[]byte("ab"), []byte("cde")}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		v := Slices(g, SlicesOptions{}, Rows(dense, 2), Ragged(ragged))
		g.Output("dense", v[0])
		g.Output("ragged", v[1])
		g.Output("again", v[1])
	})
	require.NoError(t, err)
	for range 2 {
		r, err := p.Engine().NewRunner(feedtest.Once(2, 2))
		require.NoError(t, err)
		f, err := r.Next(t.Context())
		require.NoError(t, err)
		b := (*pipeline.Batch)(f)
		require.Equal(t, []float32{1, 2, 3, 4}, b.Float32s("dense"))
		clear(b.Float32s("dense"))
		for _, name := range []string{"ragged", "again"} {
			require.Equal(t, "ab", string(b.Sample(name, 0).Bytes()))
			require.Equal(t, "cde", string(b.Sample(name, 1).Bytes()))
			for i := range 2 {
				clear(b.Sample(name, i).Bytes())
			}
		}
		b.Release()
		require.NoError(t, r.Close())
	}
	require.Equal(t, []float32{1, 2, 3, 4}, dense)
	require.Equal(t, [][]byte{[]byte("ab"), []byte("cde")}, ragged)
}
