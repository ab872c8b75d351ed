package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A large sample in another row of every batch does not make all rows large.
func TestRaggedRowsTakeMemoryThatFits(t *testing.T) {
	const batch, small, large = 16, 40 << 10, 1 << 20
	for _, workers := range []int{1, 3} {
		p, err := New(Options{BatchSize: batch, Workers: workers, PrefetchDepth: 1}, func(g *Graph) {
			v := grown(g, "ragged", g.Read(ReaderOptions{}, numbers{n: 1 << 30})[0], func(i int64) int {
				if i%batch == i/batch*5%batch {
					return large
				}
				return small
			})
			g.Output("ragged", v)
			g.Output("again", v)
		})
		require.NoError(t, err)
		r := runner(t, p, 1<<40)
		take(t, r, 40*batch) // every row of both batches has had a large sample
		all := int64(2 * 2 * batch * large)
		require.Less(t, p.Memory().Live, all/2, "%d workers; %d if all rows were large", workers, all)
		before := p.Memory().Allocations
		take(t, r, 10*batch)
		require.LessOrEqual(t, p.Memory().Allocations-before, int64(10*batch), "far fewer than samples")
	}
}
