package run

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// inShards is a source of shards.
type inShards struct{ ends []int64 }

func (s inShards) Outputs() []datum.Spec                              { return nil }
func (s inShards) Len() int64                                         { return s.ends[len(s.ends)-1] }
func (s inShards) Meta() datum.Meta                                   { return datum.Meta{} }
func (s inShards) Describe(int64) string                              { return "" }
func (s inShards) Read(context.Context, int64, []*datum.Tensor) error { return nil }
func (s inShards) ShardEnds() []int64                                 { return s.ends }

// All samples of a shard have one owner, owners have about as many shards each whatever the
// order in which they came, and when one leaves only what was its own moves.
func TestOwnersOfBlocks(t *testing.T) {
	const shards, makers = 1000, 5
	var ends []int64
	for i := range int64(shards) {
		ends = append(ends, 3*(i+1))
	}
	r, other := newRouter(inShards{ends}), newRouter(inShards{ends})
	name := func(i int) string { return fmt.Sprint("http://10.0.0.", i, ":8470") }
	for i := range makers {
		r.add(i+1, name(i))
		other.add(i+1, name(makers-1-i))
	}
	owners, counts := make([]int, shards), make([]int, makers+1)
	for i := range owners {
		owners[i] = r.owner(3 * int64(i))
		counts[owners[i]]++
		require.Equal(t, owners[i], r.owner(3*int64(i)+1))
		require.Equal(t, owners[i], r.owner(3*int64(i)+2))
		require.Equal(t, makers+1-owners[i], other.owner(3*int64(i)), "another training program knows them in another order")
	}
	for _, n := range counts[1:] {
		require.InDelta(t, shards/makers, n, shards/20)
	}
	r.remove(3)
	for i, was := range owners {
		if was == 3 {
			require.NotEqual(t, 3, r.owner(3*int64(i)))
		} else {
			require.Equal(t, was, r.owner(3*int64(i)))
		}
	}
}
