package run

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/pipeline/stats"
)

// heldNumbers are numbers that lie in memory.
type heldNumbers struct {
	numbers
	read, gathered *atomic.Int64
}

func (s heldNumbers) Gathers() bool { return true }

func (s heldNumbers) Gather(index []int64, out []datum.Rows) bool {
	s.gathered.Add(int64(len(index)))
	for i, x := range index {
		datum.View[int32](out[0].Data)[i] = int32(x)
	}
	return true
}

func (s heldNumbers) Read(ctx context.Context, i int64, out []*datum.Tensor) error {
	s.read.Add(1)
	return s.numbers.Read(ctx, i, out)
}

// fetchedNumbers are held numbers that are fetched so many ahead.
type fetchedNumbers struct {
	heldNumbers
	ahead int
}

func (s fetchedNumbers) ReadAhead() int { return s.ahead }

func (s fetchedNumbers) Prefetch(context.Context, int64) bool { return true }

// odd is a kernel that refuses odd numbers from 100 on, and doubles others.
type odd struct{}

var errOdd = errors.New("odd")

func (odd) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	x := in[0].Int32s()[0]
	if x >= 100 && x%2 == 1 {
		return errOdd
	}
	out[0].Int32s()[0] = 2 * x
	return nil
}

func (odd) RunRows(_ int, in, out []datum.Rows) bool {
	to := datum.View[int32](out[0].Data)
	for i, x := range datum.View[int32](in[0].Data) {
		if x >= 100 && x%2 == 1 {
			return false
		}
		to[i] = 2 * x
	}
	return true
}

// heldPipeline doubles numbers that lie in memory, and are fetched so many ahead.
func heldPipeline(t *testing.T, o compiled.Options, read, gathered *atomic.Int64, ahead int) *compiled.Pipeline {
	t.Helper()
	spec := datum.Spec{DType: datum.Int32}
	o.BatchSize, o.Workers, o.MaxWorkers, o.PrefetchDepth, o.MaxPrefetch = 32, 1, 1, 1, 1
	p, err := compiled.New(compiled.Definition{
		Options: o,
		Readers: []compiled.Reader{{Name: "held", Source: fetchedNumbers{heldNumbers{numbers{1000}, read, gathered}, ahead}, Leader: -1, Index: func(id int64) int64 { return id }}},
		Values:  []compiled.Value{{Spec: spec}, {Spec: spec}},
		Nodes: []compiled.Node{
			{Name: "held", Reader: 0, Out: []int{0}, Target: -1},
			{Name: "double", Reader: -1, In: []int{0}, Out: []int{1}, Target: -1, New: func() (datum.Kernel, error) { return odd{}, nil }},
		},
		Outputs: []compiled.Output{{Name: "x", Value: 1}},
	})
	require.NoError(t, err)
	return p
}

// Rows are made at once where nothing needs to know one from another, with the same
// statistics, and one by one where a sample of the ticket fails, or where an option asks for
// what only single rows have.
func TestRowsAreGathered(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  compiled.Options
		gathered int64 // at least
		read     int64
	}{
		{"at once", compiled.Options{OnError: compiled.Skip}, 112, 32},
		{"with a limit of time", compiled.Options{OnError: compiled.Skip, SampleTimeout: time.Hour}, 0, 128},
		{"with events", compiled.Options{OnError: compiled.Skip, Events: stats.Events{Operator: func(stats.OperatorEvent) {}}}, 0, 128},
		{"counted", compiled.Options{OnError: compiled.Skip, CountMemory: true}, 0, 128},
	} {
		t.Run(c.name, func(t *testing.T) {
			var read, gathered atomic.Int64
			e, err := New(heldPipeline(t, c.options, &read, &gathered, 0))
			require.NoError(t, err)
			r, err := e.NewRunner(feedtest.Once(125, 32))
			require.NoError(t, err)
			row := 0
			for {
				f, err := r.Next(t.Context())
				require.NoError(t, err)
				if f == nil {
					break
				}
				for i, x := range datum.View[int32](f.Bytes("x")) {
					bad := row >= 100 && row%2 == 1
					require.Equal(t, row < 125 && !bad, f.Mask()[i], row)
					if f.Mask()[i] {
						require.EqualValues(t, 2*row, x)
					} else {
						require.Zero(t, x)
					}
					var of *fault.SampleError
					if bad && row < 125 {
						of = &fault.SampleError{Source: fmt.Sprint("number ", row), Index: int64(row), Op: "double", Err: errOdd}
					}
					require.Equal(t, of, f.Errors()[i])
					row++
				}
				f.Release()
			}
			s := e.Stats()
			require.NoError(t, r.Close())
			require.Equal(t, []int64{125, 125}, []int64{s.Operators[0].Samples, s.Operators[1].Samples})
			require.EqualValues(t, 12, s.Operators[1].Errors)
			require.Positive(t, s.Operators[0].Timed)
			require.GreaterOrEqual(t, gathered.Load(), c.gathered)
			require.LessOrEqual(t, read.Load(), c.read)
			if c.gathered == 0 {
				require.Zero(t, gathered.Load())
			}
		})
	}
}

// Rows that are fetched ahead are gathered in tickets for which that is ahead.
func TestTicketsAreShorterThanWhatIsFetchedAhead(t *testing.T) {
	for ahead, want := range map[int]int{0: 16, 1: 1, 8: 4, 100: 16} {
		var read, gathered atomic.Int64
		e, err := New(heldPipeline(t, compiled.Options{}, &read, &gathered, ahead))
		require.NoError(t, err)
		r, err := e.NewRunner(feedtest.Once(64, 32))
		require.NoError(t, err)
		require.Equal(t, want, r.region.grain(), "%d ahead", ahead)
		for range 2 {
			f, err := r.Next(t.Context())
			require.NoError(t, err)
			f.Release()
		}
		require.Zero(t, read.Load())
		require.NoError(t, r.Close())
	}
}

// A ticket allocates nothing.
func TestGatherDoesNotAllocate(t *testing.T) {
	var read, gathered atomic.Int64
	e, err := New(heldPipeline(t, compiled.Options{}, &read, &gathered, 0))
	require.NoError(t, err)
	r, err := e.NewRunner(feedtest.Once(32, 32))
	require.NoError(t, err)
	f, err := r.Next(t.Context())
	require.NoError(t, err)
	g := r.region.workers[0].gather
	alloctest.None(t, 100, func() { require.True(t, g.run(f, 0, 32)) })
	require.Zero(t, read.Load())
	f.Release()
	require.NoError(t, r.Close())
}
