package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
)

// failingUntil fails with err, as reading a file does, until a time has passed
// since a sample was asked for first.
func failingUntil(err error, d time.Duration) func(context.Context, int64) error {
	var mu sync.Mutex
	first := map[int64]time.Time{}
	return func(_ context.Context, i int64) error {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := first[i]; !ok {
			first[i] = time.Now()
		}
		if time.Since(first[i]) < d {
			return fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "x", Err: err})
		}
		return nil
	}
}

// What ails the machine for less than RetryFor costs no sample, under any policy,
// whether a reader meets it or an operator.
func TestTheMachineMendsItself(t *testing.T) {
	for _, state := range fault.MachineStates() {
		for _, policy := range []ErrorPolicy{Fail, Skip, Replace} {
			for _, inOperator := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					fails := failingUntil(state, 700*time.Millisecond)
					src := numbers{n: 10}
					var run func(int32) error
					if inOperator {
						run = func(i int32) error { return fails(t.Context(), int64(i)) }
					} else {
						src.read = fails
					}
					p := squares(t, Options{BatchSize: 4, Workers: 3, OnError: policy}, src, run)
					r := runner(t, p, 10)
					got, _ := collect(t, r)
					require.Equal(t, [][]float32{{0, 1, 4, 9}, {16, 25, 36, 49}, {64, 81}}, got)
					require.Zero(t, r.Bad())
				})
			}
		}
	}
}

// What ails it for longer ends the run under every policy, and the run goes on with
// the same batch once it is mended.
func TestTheMachineEndsTheRun(t *testing.T) {
	for _, policy := range []ErrorPolicy{Fail, Skip, Replace} {
		for _, retry := range []time.Duration{0, -1, 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				ails := true
				p := squares(t, Options{BatchSize: 4, Workers: 2, OnError: policy, RetryFor: retry}, numbers{n: 8, read: func(_ context.Context, i int64) error {
					if i == 6 && ails {
						return fault.MachineStates()[0]
					}
					if i == 5 && policy != Fail {
						return errors.New("bad")
					}
					return nil
				}}, nil)
				r := runner(t, p, 8)
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				b.Release()
				began := time.Now()
				_, err = r.Next(t.Context())
				var m *MachineError
				require.ErrorAs(t, err, &m)
				require.ErrorIs(t, err, fault.MachineStates()[0])
				require.NotErrorAs(t, err, new(*SampleError), "a program that goes on behind bad samples must not do so here")
				require.Equal(t, "number 6", m.Source)
				require.EqualValues(t, 6, m.Index)
				require.Equal(t, "reader", m.Op)
				want := map[time.Duration]time.Duration{0: time.Second, -1: 0, 3 * time.Second: 3 * time.Second}[retry]
				require.Equal(t, want, time.Since(began))
				require.Equal(t, want, m.Tried)
				require.Equal(t, fmt.Sprintf("pipeline: number 6: reader: %s, after trying for %v; this is no fault of the sample, so it ends the run whatever OnError says: raise the process's limit of open files (ulimit -n), or lower Workers",
					fault.MachineStates()[0], want), err.Error())
				require.Zero(t, r.Bad(), "the batch is made again")

				r.Stop()
				ails = false
				require.NoError(t, r.Reset(feedtest.Once(8, 4)))
				for range 2 {
					b, err = r.Next(t.Context())
					require.NoError(t, err)
					b.Release()
				}
				require.Equal(t, map[ErrorPolicy]int64{Fail: 0, Skip: 1, Replace: 1}[policy], r.Bad())
			})
		}
	}
}

func TestTriesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := squares(t, Options{BatchSize: 4, Workers: 2, RetryFor: time.Hour}, numbers{n: 8, read: failingUntil(fault.MachineStates()[0], time.Hour)}, nil)
		r := runner(t, p, 8)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := r.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, r.Close())
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// A sequence cannot be read again, so that it is not tried again.
func TestTheMachineEndsASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		p, err := New(Options{BatchSize: 2, Workers: 2, OnError: Skip}, func(g *Graph) {
			g.Output("number", g.ReadSequence(ReaderOptions{}, script{func(yield func(func([]*datum.Tensor) error, error) bool) {
				yield(func([]*datum.Tensor) error { asked++; return fault.MachineStates()[0] }, nil)
			}})[0])
		})
		require.NoError(t, err)
		_, err = runner(t, p, 2).Next(t.Context())
		require.ErrorAs(t, err, new(*MachineError))
		require.Equal(t, 1, asked)
	})
}
