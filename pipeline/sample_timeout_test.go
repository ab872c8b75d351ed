package pipeline

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
)

// A slow sample fails by itself, under every policy, whether it is the reader that is
// slow or an operator, and whether they look at the sample's context or not.
func TestSampleTimeout(t *testing.T) {
	const limit = 50 * time.Millisecond
	looks := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Hour):
			return nil
		}
	}
	sleeps := func(context.Context) error { time.Sleep(10 * limit); return nil }
	for _, c := range []struct {
		name string
		op   string
		slow func(context.Context) error
		took time.Duration // of the batch
	}{
		{"a reader that looks", "reader", looks, limit},
		{"an operator that looks", "slow", looks, limit},
		{"a reader that does not look", "reader", sleeps, 10 * limit},
		{"an operator that does not look", "slow", sleeps, 10 * limit},
	} {
		for _, policy := range []ErrorPolicy{Fail, Skip, Replace} {
			t.Run(c.name+", "+policy.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := numbers{n: 8}
					if c.op == "reader" {
						src.read = func(ctx context.Context, i int64) error {
							if i == 2 {
								return c.slow(ctx)
							}
							return nil
						}
					}
					p, err := New(Options{BatchSize: 4, Workers: 2, OnError: policy, SampleTimeout: limit}, func(g *Graph) {
						v := g.Read(ReaderOptions{}, src)[0]
						if c.op == "slow" {
							v = passOn(g, "slow", v, func(s *datum.Sample) error {
								if s.Index() == 2 {
									return c.slow(s.Context())
								}
								return nil
							})
						}
						g.Output("square", square(g, v, nil))
					})
					require.NoError(t, err)
					r := runner(t, p, 8)
					began := time.Now()
					b, err := r.Next(t.Context())
					require.Equal(t, c.took, time.Since(began))
					if policy == Fail {
						require.Nil(t, b)
					} else {
						require.NoError(t, err)
						err = b.Errors()[2]
						require.Equal(t, policy == Replace, b.Mask()[2])
						require.EqualValues(t, 1, r.Bad())
						b.Release()
					}
					var bad *SampleError
					require.ErrorAs(t, err, &bad)
					require.Equal(t, c.op, bad.Op)
					require.EqualValues(t, 2, bad.Index)
					var late *TimeoutError
					require.ErrorAs(t, err, &late)
					require.Equal(t, limit, late.Limit)
					require.NotErrorIs(t, err, context.Canceled)

					b, err = r.Next(t.Context())
					require.NoError(t, err, "the samples behind it have contexts of their own")
					require.Equal(t, []bool{true, true, true, true}, b.Mask())
					b.Release()
				})
			})
		}
	}
}

// passOn is an operator that calls f and hands an int32 scalar on.
func passOn(g *Graph, name string, v Value, f func(*datum.Sample) error) Value {
	return g.Add(Op{
		Name: name, Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(s *datum.Sample, in, out []*datum.Tensor) error {
				if err := f(s); err != nil {
					return err
				}
				return out[0].CopyFrom(in[0])
			}), nil
		},
	})[0]
}

// The sample's context ends with its time, with the cause, and not for samples that
// are in time, however many there are.
func TestSampleTimeoutIsPerSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Options{BatchSize: 4, Workers: 1, SampleTimeout: 5 * time.Millisecond}, func(g *Graph) {
			v := g.Read(ReaderOptions{}, numbers{n: 100})[0]
			g.Output("square", square(g, passOn(g, "work", v, func(s *datum.Sample) error {
				select {
				case <-s.Context().Done():
					return context.Cause(s.Context())
				case <-time.After(4 * time.Millisecond):
					return nil
				}
			}), nil))
		})
		require.NoError(t, err)
		got, _ := collect(t, runner(t, p, 100))
		require.Len(t, got, 25)
	})
}

// Waiting for a turn, for a sequence, for memory and between tries is not the
// sample's work.
func TestSampleTimeoutDoesNotCountWaiting(t *testing.T) {
	t.Run("sequence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := 0
			src := count{n: 12, ended: &ended}
			p, err := New(Options{BatchSize: 4, Workers: 1, SampleTimeout: 10 * time.Millisecond}, func(g *Graph) {
				g.Output("number", g.ReadSequence(ReaderOptions{}, script{slowly(src.Samples(), time.Second)})[0])
			})
			require.NoError(t, err)
			take(t, runner(t, p, 12), 3)
		})
	})
	t.Run("retry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src := numbers{n: 8, read: failingUntil(fault.MachineStates()[0], 500*time.Millisecond)}
			p := squares(t, Options{BatchSize: 4, Workers: 2, SampleTimeout: 10 * time.Millisecond}, src, nil)
			got, _ := collect(t, runner(t, p, 8))
			require.Len(t, got, 2)
		})
	})
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// Two samples of 600 bytes do not fit, so one waits while the other sleeps.
			p, err := New(Options{BatchSize: 2, Workers: 2, MemoryBudget: 2_400, SampleTimeout: 150 * time.Millisecond}, func(g *Graph) {
				v := g.Read(ReaderOptions{}, numbers{n: 8})[0]
				big := g.Add(Op{Name: "big", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}, New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(_ *datum.Sample, _, out []*datum.Tensor) error {
						_, err := out[0].Resize(600)
						time.Sleep(100 * time.Millisecond)
						return err
					}), nil
				}})[0]
				g.Output("big", big)
			})
			require.NoError(t, err)
			r := runner(t, p, 8)
			for range 4 {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				b.Release()
			}
		})
	})
}

func slowly(seq iter.Seq2[func([]*datum.Tensor) error, error], d time.Duration) iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for fill, err := range seq {
			time.Sleep(d)
			if !yield(fill, err) {
				return
			}
		}
	}
}

func TestSampleTimeoutOption(t *testing.T) {
	_, err := New(Options{BatchSize: 1, SampleTimeout: -time.Second}, func(*Graph) {})
	require.EqualError(t, err, "pipeline: options: SampleTimeout is -1s; it must not be negative, and 0 sets no bound")
	require.Contains(t, Options{BatchSize: 1, SampleTimeout: time.Second}.String(), "at most 1s a sample")
	require.True(t, errors.As(error(&TimeoutError{}), new(interface{ Timeout() bool })))
}
