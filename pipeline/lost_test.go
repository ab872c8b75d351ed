package pipeline

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// An operator that is told to give its memory to an older sample, and ends its goroutine
// over that, loses nothing: its sample is made again.
func TestAnOperatorThatEndsItsGoroutineWhenItGivesUpLosesNoSample(t *testing.T) {
	const need = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		has, hold := make(chan struct{}), make(chan struct{})
		p, err := New(Options{BatchSize: 2, Workers: 2, PrefetchDepth: 1, MemoryBudget: need + need/2}, func(g *Graph) {
			v := g.Read(ReaderOptions{}, numbers{n: 2})[0]
			b := g.Add(Op{
				Name: "decode", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}, Expensive: true,
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
						i := in[0].Int32s()[0]
						if i == 1 {
							<-has
						}
						mem, err := out[0].Resize(need)
						if err != nil {
							runtime.Goexit()
						}
						if mem[0] = byte(i); i == 0 {
							close(has)
							<-hold
						}
						return nil
					}), nil
				},
			})[0]
			g.Output("x", g.Add(Op{
				Name: "first", Inputs: []Value{b}, Outputs: []datum.Spec{{DType: datum.Uint8}},
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
						mem, err := out[0].Resize()
						copy(mem, in[0].Bytes())
						return err
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r := runner(t, p, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Next(ctx) // sample 0 has the memory and holds it, sample 1 waits
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, func() { close(hold) })
		r.Park(t.Context()) // which tells samples that wait to give up
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, []uint8{0, 1}, b.Uint8s("x"))
		require.Equal(t, []*SampleError{nil, nil}, b.Errors())
		b.Release()
		require.Zero(t, r.Stats().Operators[1].Errors)
	})
}

// The error of a goroutine that ends in a reader names the sample of that reader.
func TestAGoroutineThatEndsInASecondReaderIsNamed(t *testing.T) {
	ending := numbers{n: 4, read: func(_ context.Context, i int64) error {
		if i == 2 {
			runtime.Goexit()
		}
		return nil
	}}
	p, err := New(Options{BatchSize: 1, OnError: Skip}, func(g *Graph) {
		g.Output("a", g.Read(ReaderOptions{Name: "a"}, numbers{n: 4})[0])
		g.Output("b", g.Read(ReaderOptions{Name: "b"}, ending)[0])
	})
	require.NoError(t, err)
	r, err := p.NewRunner(feedtest.Feed{Samples: 4, Batch: 1, Batches: 1, Shift: 2})
	require.NoError(t, err)
	defer r.Close()
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, b.Errors()[0].Index)
	require.Equal(t, "b", b.Errors()[0].Op)
	b.Release()
}

// Workers that were made before one that cannot be give their memory back.
func TestWorkersBehindABrokenOneAreReleased(t *testing.T) {
	checked, made, broken := memstats.NewChecked(memstats.Heap{}), 0, errors.New("broken")
	p, err := New(Options{BatchSize: 1, Workers: 3, Allocator: checked, BytesPerSample: 1000}, func(g *Graph) {
		v := g.Read(ReaderOptions{}, numbers{n: 2})[0]
		g.Output("x", g.Add(Op{
			Name: "third", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}},
			New: func() (datum.Kernel, error) {
				if made++; made == 3 {
					return nil, broken
				}
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error { return out[0].CopyFrom(in[0]) }), nil
			},
		})[0])
	})
	require.NoError(t, err)
	_, err = p.NewRunner(feedtest.Once(2, 1))
	require.ErrorIs(t, err, broken)
	require.NoError(t, checked.Check())
	require.Zero(t, p.Memory().Live)
}
