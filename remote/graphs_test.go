package remote_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/remote"
)

// Rows of definitions with several readers, mixes, branches and loops are the same wherever they
// are made.
func TestGraphsOfAllKinds(t *testing.T) {
	column := func(n, from int) readers.Column {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(from + i)
		}
		return readers.Rows(data)
	}
	// noisy adds a random number, slowly.
	noisy := func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		v = ops.Add(g, v, ops.Uniform(g, 0, 1))
		return ops.Func(g, ops.FuncOptions{Name: "slow", Outputs: []datum.Spec{v.Spec()}, Expensive: true}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
			time.Sleep(100 * time.Microsecond)
			return out[0].CopyFrom(in[0])
		}, v)[0]
	}
	mix := func(g *pipeline.Graph, o pipeline.ReaderOptions, m pipeline.Mix, from int) (v pipeline.Value) {
		g.Mix(o, m, func() {
			v = readers.Slices(g, readers.SlicesOptions{}, column(90, from))[0]
			v = readers.Slices(g, readers.SlicesOptions{}, column(7, from+100))[0] // comes several times in an epoch
		})
		return v
	}
	for name, define := range map[string]func(g *pipeline.Graph){
		"readers of which one follows": func(g *pipeline.Graph) {
			x := readers.Slices(g, readers.SlicesOptions{Name: "x", Shuffle: true}, column(120, 0))[0]
			y := readers.Slices(g, readers.SlicesOptions{Follow: "x"}, column(120, 500))[0]
			g.Output("x", x)
			g.Output("y", noisy(g, y))
		},
		"mixes": func(g *pipeline.Graph) {
			x := mix(g, pipeline.ReaderOptions{Name: "x", Shuffle: true}, pipeline.Mix{Weights: []int64{2, 1}}, 0)
			y := mix(g, pipeline.ReaderOptions{Name: "y", Follow: "x"}, pipeline.Mix{}, 1000)
			g.Output("x", noisy(g, x))
			g.Output("y", y)
		},
		"branches and loops": func(g *pipeline.Graph) {
			x := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, column(120, 0))[0]
			x = g.If(ops.CoinFlip(g, 0.5), func() []pipeline.Value {
				return []pipeline.Value{noisy(g, x)}
			}, func() []pipeline.Value { return []pipeline.Value{x} })[0]
			x = g.While([]pipeline.Value{x}, func(vars []pipeline.Value) pipeline.Value {
				return ops.Less(g, vars[0], ops.Constant(g, 60))
			}, func(vars []pipeline.Value) []pipeline.Value {
				return []pipeline.Value{noisy(g, ops.Cast(g, ops.Add(g, vars[0], ops.Constant(g, 7)), datum.Float32))}
			})[0]
			g.Output("x", x)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := pipeline.Options{BatchSize: 8, Workers: 2, Seed: 3}
			build := func() *pipeline.Pipeline {
				p, err := pipeline.New(o, define)
				require.NoError(t, err)
				return p
			}
			want := digests(t, build(), 3)
			s, err := remote.NewServer(build(), remote.ServerOptions{})
			require.NoError(t, err)
			server := httptest.NewServer(s)
			defer server.Close()
			for _, only := range []bool{false, true} {
				o.Remote = &remote.Workers{Addresses: []string{server.URL}, Only: only}
				eventually(t, "a row comes from elsewhere", func(work time.Duration) bool {
					p := build()
					require.Equal(t, want, digestsAtLeisure(t, p, 3, work), "only: %t", only)
					return elsewhere(p) > 0
				})
			}
		})
	}
}
