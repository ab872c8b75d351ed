package benchmarks

import (
	"context"
	"fmt"
	"testing"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// billion is a data set of 10⁹ samples, each its own number.
type billion struct{}

func (billion) Len() int64              { return 1e9 }
func (billion) Outputs() []datum.Spec   { return []datum.Spec{{DType: datum.Int64}} }
func (billion) Meta() datum.Meta        { return datum.Meta{Fingerprint: 1e9} }
func (billion) Describe(i int64) string { return fmt.Sprint(i) }
func (billion) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	if _, err := out[0].Resize(); err != nil {
		return err
	}
	out[0].Int64s()[0] = i
	return nil
}

func billionLoader(b *testing.B, ranks int) *iterator.Loader {
	b.Helper()
	p, err := pipeline.New(pipeline.Options{BatchSize: 256 / ranks, Seed: 1}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Shuffle: true, NumShards: ranks}, billion{})[0])
	})
	if err != nil {
		b.Fatal(err)
	}
	return loaderOf(b, p)
}

// BenchmarkRestore restores a state, from its stored form to the first batch of
// 256, at the beginning of an epoch of 10⁹ shuffled samples and a million steps
// into it, by as many ranks or by fewer.
func BenchmarkRestore(b *testing.B) {
	for _, world := range []struct {
		name string
		then int
	}{{"same world", 1}, {"from 4 ranks to 1", 4}} {
		for _, step := range []int64{0, 1e6} {
			b.Run(fmt.Sprintf("%s/step %d", world.name, step), func(b *testing.B) {
				saved := billionLoader(b, world.then)
				if err := saved.Seek(shard.Position{Phases: []shard.Phase{{Shards: world.then, Batch: 256 / world.then, Steps: step}}}); err != nil {
					b.Fatal(err)
				}
				state, err := saved.State()
				if err != nil {
					b.Fatal(err)
				}
				text, err := state.MarshalText()
				if err != nil {
					b.Fatal(err)
				}
				l := billionLoader(b, 1)
				b.ReportAllocs()
				for b.Loop() {
					var s iterator.State
					if err := s.UnmarshalText(text); err != nil {
						b.Fatal(err)
					}
					if err := l.Restore(s); err != nil {
						b.Fatal(err)
					}
					if _, err := l.Next(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
