package readers_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

// Every token of an epoch is read once, whatever becomes of sequences and of ranks: cut, permuted
// or packed, by shard or by step, and where an epoch goes on in another world than it began.
func TestTokensComeOnceInEveryWorld(t *testing.T) {
	const tokens, document = 500, 12
	path := filepath.Join(t.TempDir(), "t.bin")
	content := make([]byte, 2*tokens)
	for i := range tokens {
		token := uint16(i + 1)
		if i%document == 0 {
			token = 0 // ends a document
		}
		binary.LittleEndian.PutUint16(content[2*i:], token)
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	rapid.Check(t, func(t *rapid.T) {
		o := readers.TokensOptions{
			Files: []string{path}, Length: rapid.IntRange(5, 40).Draw(t, "length"), HasEnd: true, Shuffle: rapid.Bool().Draw(t, "shuffle"),
			Pack: rapid.SampledFrom([]int{0, 7}).Draw(t, "pack"), PermuteDocuments: rapid.Bool().Draw(t, "permuted"),
		}
		how := iterator.Options{Partition: rapid.SampledFrom([]shard.Partition{shard.ByShard, shard.ByStep}).Draw(t, "partition")}
		loader := func(ranks, rank, batch int) *iterator.Loader {
			p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1, Workers: 1}, func(g *pipeline.Graph) {
				own := o
				own.NumShards, own.ShardID = ranks, rank
				v := readers.Tokens(g, own)
				g.Output("tokens", v.Tokens)
				g.Output("documents", v.Documents)
			})
			require.NoError(t, err)
			l, err := iterator.New(how, p)
			require.NoError(t, err)
			return l
		}
		seen := map[int32]int{}
		count := func(b *iterator.Batch) {
			for row := range b.NumValid() {
				documents := b.Int32s("documents")[row*o.Length:]
				for i, x := range b.Int32s("tokens")[row*o.Length:][:o.Length] {
					if documents[i] >= 0 {
						seen[x]++
					}
				}
			}
		}
		// read has all ranks take so many steps of what is left of the epoch, and reports whether it ended.
		read := func(ranks, steps int, from *iterator.State) (state iterator.State, ended bool) {
			for rank := range ranks {
				l := loader(ranks, rank, 6/ranks)
				if from != nil {
					require.NoError(t, l.Restore(*from))
				}
				left := steps
				for b, err := range l.Epoch(context.Background()) {
					require.NoError(t, err)
					if b.Epoch() > 0 { // the world before has read the first one to its end
						break
					}
					count(b)
					if left--; left == 0 {
						break
					}
				}
				var err error
				state, err = l.State()
				require.NoError(t, err)
				require.NoError(t, l.Close())
				ended = left > 0
			}
			return state, ended
		}
		var from *iterator.State
		over := false
		for _, ranks := range rapid.SampledFrom([][]int{{}, {2}, {1, 3}, {3, 2}}).Draw(t, "worlds before") {
			if over {
				break
			}
			var state iterator.State
			state, over = read(ranks, rapid.IntRange(1, 3).Draw(t, "steps"), from)
			from = &state
		}
		if !over {
			read(rapid.IntRange(1, 3).Draw(t, "ranks"), math.MaxInt, from)
		}
		ends := 0
		for i := range int32(tokens) {
			if i%document == 0 {
				ends++
			} else {
				require.Equal(t, 1, seen[i+1], "token %d", i+1)
			}
		}
		require.Equal(t, ends, seen[0])
	})
}
