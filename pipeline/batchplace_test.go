package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// drawing is an operator for whole batches that writes a random number and its step.
type drawing struct {
	random datum.Random
	place  batchop.Place
}

func (k *drawing) Place(p batchop.Place) { k.place = p }

func (k *drawing) Run(_ *streams.Context, _, out []batchop.Tensor) error {
	r := k.place.Rand(k.random)
	x, y := r.Float64(), datum.View[float64](out[0].Data)
	for row, id := range k.place.IDs {
		y[3*row], y[3*row+1], y[3*row+2] = x, float64(k.place.Step), float64(id)
	}
	return nil
}

// An operator for whole batches draws from the seed, the epoch, the step and its own name: the
// same again in another run, with other workers, and from a later step on.
func TestBatchDraws(t *testing.T) {
	run := func(seed uint64, workers int, batches int) (got [][]float64) {
		p, err := New(Options{BatchSize: 2, Workers: workers, Seed: seed}, func(g *Graph) {
			v := square(g, g.Read(ReaderOptions{}, numbers{n: 100})[0], nil)
			for _, name := range []string{"x", "y"} {
				random := g.NewRandom()
				g.Output(name, g.AddBatch(BatchOp{
					Name: name, Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Float64, Shape: []int{3}}},
					New: func() (batchop.Kernel, error) { return &drawing{random: random}, nil },
				})[0])
			}
		})
		require.NoError(t, err)
		r := runner(t, p, 100)
		for range batches {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			x, y := b.Sample("x", 1).Float64s(), b.Sample("y", 1).Float64s()
			require.Equal(t, float64(b.Step()), x[1])
			require.Equal(t, float64(b.IDs()[1]), x[2])
			got = append(got, []float64{float64(b.Epoch()), x[0], y[0]})
			b.Release()
		}
		return got
	}
	first := run(1, 1, 50)
	require.Equal(t, first, run(1, 2, 50))
	other := run(2, 1, 50)
	seen := map[float64]bool{}
	for i, draw := range first {
		require.NotEqual(t, draw[1], other[i][1])
		for _, x := range draw[1:] {
			require.False(t, seen[x], "no number is drawn twice, by step or operator")
			seen[x] = true
		}
	}
}
