package pipeline

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// places is an OutputMemory of checked memory that notes what it is told.
type places struct {
	told []string
	of   map[string]*memstats.Checked // by output; those that are not in there are left to the pipeline
}

func (p *places) Output(name string, shape []int, dtype datum.DType) memstats.Allocator {
	p.told = append(p.told, fmt.Sprint(name, shape, dtype))
	if c := p.of[name]; c != nil {
		return c
	}
	return nil
}

func toldPipeline(t *testing.T, m *places, o Options) *Pipeline {
	o.OutputMemory = m
	p, err := New(o, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 64})[0]
		g.Output("ragged", grown(g, "ragged", v, func(i int64) int { return 10 }))
		g.Output("number", v)
		g.Output("again", v)
	})
	require.NoError(t, err)
	return p
}

// Dense outputs lie where the program says, and it is told what they are.
func TestOutputsLieWhereTheyAreTold(t *testing.T) {
	m := &places{of: map[string]*memstats.Checked{"number": memstats.NewChecked(memstats.Heap{})}}
	rest := memstats.NewChecked(memstats.Heap{})
	p := toldPipeline(t, m, Options{BatchSize: 4, PrefetchDepth: 2, Allocator: rest})
	require.Equal(t, []string{"number[4] int32", "again[4] int32"}, m.told)
	r, err := p.NewRunner(feedtest.Once(64, 4))
	require.NoError(t, err)
	take(t, r, 3)
	require.Len(t, m.of["number"].Live(), 3, "a block for each batch")
	require.GreaterOrEqual(t, p.Memory().Live, int64(2*3*16), "the pipeline counts it with its own")
	require.NoError(t, r.Close())
	require.NoError(t, m.of["number"].Check())
	require.NoError(t, rest.Check())
	require.Zero(t, p.Memory().Live)
}

// What was taken is the taker's: later batches leave it alone, and are what they would
// be without.
func TestTakenMemoryStays(t *testing.T) {
	for _, of := range []map[string]*memstats.Checked{nil, {"number": memstats.NewChecked(memstats.Heap{})}} {
		p := toldPipeline(t, &places{of: of}, Options{BatchSize: 4, Workers: 2, PrefetchDepth: 1, MemoryBudget: 10_000})
		r, err := p.NewRunner(feedtest.Once(64, 4))
		require.NoError(t, err)
		var taken [][]byte
		for i := range 16 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			mem, err := b.Take("number")
			require.NoError(t, err)
			require.Len(t, mem, 16)
			require.Equal(t, mem, b.Bytes("again"), "batch %d", i)
			require.NotSame(t, &mem[0], &b.Bytes("number")[0])
			taken = append(taken, mem)
			b.Release()
		}
		require.NoError(t, r.Close())
		require.Zero(t, p.Memory().Live)
		for i, mem := range taken {
			require.Equal(t, []int32{int32(4 * i), int32(4*i + 1), int32(4*i + 2), int32(4*i + 3)}, datum.View[int32](mem))
			if of != nil {
				of["number"].Free(mem)
			}
		}
		if of != nil {
			require.NoError(t, of["number"].Check())
		}
	}
}

// Where there is no other memory, the batch stays as it was.
func TestTakeWithoutMemory(t *testing.T) {
	left := new(atomic.Int64)
	left.Store(3)
	m := &places{of: map[string]*memstats.Checked{"number": memstats.NewChecked(short{left: left})}}
	r, err := toldPipeline(t, m, Options{BatchSize: 4, PrefetchDepth: 2}).NewRunner(feedtest.Once(64, 4))
	require.NoError(t, err)
	batch, err := r.Next(t.Context())
	require.NoError(t, err)
	before := slices.Clone(batch.Bytes("number"))
	_, err = batch.Take("number")
	var memory *MemoryError
	require.ErrorAs(t, err, &memory)
	require.ErrorContains(t, err, "out of memory")
	require.Equal(t, before, batch.Bytes("number"))
	batch.Release()
	require.NoError(t, r.Close())
	require.NoError(t, m.of["number"].Check())

	require.Panics(t, func() { batch.Take("number") }, "it was released")
}
