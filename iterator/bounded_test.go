package iterator

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// fetched is a source with a Prefetcher.
type fetched struct {
	numbers
	fetch func(ctx context.Context, i int64) bool
}

func (f fetched) Prefetch(ctx context.Context, i int64) bool { return f.fetch(ctx, i) }
func (f fetched) ReadAhead() int                             { return 8 }

// stream is a sequence of the numbers 0 … 7.
type stream struct {
	numbers
	before func(i int64) error // each sample is yielded
	fill   func(i int64) error
}

func (s stream) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for i := range int64(8) {
			if err := s.before(i); !yield(func(out []*datum.Tensor) error {
				if err := s.fill(i); err != nil {
					return err
				}
				return put(out, i)
			}, err) {
				return
			}
		}
	}
}

// Whatever the program's code does that makes a batch, and whether it looks at its
// context or not, no call lasts longer than its own context. What has been waited for
// in vain is waited for by the next call, which goes on with the same batch.
func TestEveryCallIsBoundedByItsContext(t *testing.T) {
	fine := func(int64) error { return nil }
	for _, c := range []struct {
		name  string
		build func(g *pipeline.Graph, hold func(i int64) error) pipeline.Value
	}{
		{"Func", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			return then(g, g.Read(pipeline.ReaderOptions{}, numbers{n: 8})[0], func(s *datum.Sample) error { return hold(s.Index()) })
		}},
		{"Func in a loop", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			v := g.Read(pipeline.ReaderOptions{}, numbers{n: 8})[0]
			again := func(v []pipeline.Value) pipeline.Value {
				return then(g, v[1], func(s *datum.Sample) error { return hold(s.Index()) })
			}
			return g.While([]pipeline.Value{v, v}, again, func(v []pipeline.Value) []pipeline.Value {
				return []pipeline.Value{v[0], less(g, v[1])}
			})[0]
		}},
		{"Read", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			return g.Read(pipeline.ReaderOptions{}, numbers{n: 8, read: func(_ context.Context, i int64) error { return hold(i) }})[0]
		}},
		{"Prefetch", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			src := numbers{n: 8, read: func(ctx context.Context, i int64) error {
				done := make(chan error, 1)
				go func() { done <- hold(i) }()
				select {
				case err := <-done:
					return err
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}}
			return g.Read(pipeline.ReaderOptions{}, fetched{src, func(_ context.Context, i int64) bool { _ = hold(i); return true }})[0]
		}},
		{"BatchOp", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			v := g.Read(pipeline.ReaderOptions{}, numbers{n: 8})[0]
			return g.AddBatch(pipeline.BatchOp{
				Name: "whole", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{{DType: datum.Int64}},
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
						copy(out[0].Data, in[0].Data)
						return hold(0)
					}), nil
				},
			})[0]
		}},
		{"Sequence", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			return g.ReadSequence(pipeline.ReaderOptions{}, stream{before: hold, fill: fine})[0]
		}},
		{"a sequence's function", func(g *pipeline.Graph, hold func(int64) error) pipeline.Value {
			return g.ReadSequence(pipeline.ReaderOptions{}, stream{before: fine, fill: hold})[0]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				hold := func(i int64) error {
					if i == 0 {
						<-open
					}
					return nil
				}
				p, err := pipeline.New(pipeline.Options{BatchSize: 2, Workers: 1, PrefetchDepth: 1}, func(g *pipeline.Graph) {
					g.Output("x", c.build(g, hold))
				})
				require.NoError(t, err)
				l, err := New(Options{}, p)
				require.NoError(t, err)
				for range 2 {
					for name, call := range map[string]func(context.Context) error{
						"Next":     func(ctx context.Context) error { _, err := l.Next(ctx); return err },
						"Prefetch": l.Prefetch,
						"Epoch": func(ctx context.Context) (err error) {
							for _, err = range l.Epoch(ctx) {
							}
							return err
						},
						"Steps": func(ctx context.Context) (err error) {
							for _, err = range l.Steps(ctx, 3) {
							}
							return err
						},
					} {
						const limit = time.Minute
						ctx, cancel := context.WithTimeout(t.Context(), limit)
						began := time.Now()
						require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
						require.Equal(t, limit, time.Since(began), name)
						cancel()
					}
				}
				began := time.Now()
				require.NoError(t, l.Reset())
				require.Zero(t, time.Since(began))
				close(open)
				b, err := l.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, []int64{0, 1}, b.Int64s("x"))
				require.NoError(t, l.Close())
			})
		})
	}
}

// A break waits for the samples in hand, but not longer than the loop's context lasts.
func TestABreakIsBoundedByTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, open := make(chan struct{}), make(chan struct{})
		p, err := pipeline.New(pipeline.Options{BatchSize: 2, Workers: 2}, func(g *pipeline.Graph) {
			g.Output("x", g.Read(pipeline.ReaderOptions{}, numbers{n: 8, read: func(_ context.Context, i int64) error {
				if i == 2 {
					close(begun)
					<-open
				}
				return nil
			}})[0])
		})
		require.NoError(t, err)
		l, err := New(Options{}, p)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		for _, err := range l.Epoch(ctx) {
			require.NoError(t, err)
			<-begun
			break
		}
		require.Equal(t, time.Minute, time.Since(began))
		close(open)
		var got []int64
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			got = append(got, b.Int64s("x")...)
		}
		require.Equal(t, []int64{2, 3, 4, 5, 6, 7}, got)
		require.NoError(t, l.Close())
	})
}

// then is an operator that calls f and hands an int64 scalar on.
func then(g *pipeline.Graph, v pipeline.Value, f func(*datum.Sample) error) pipeline.Value {
	return g.Add(pipeline.Op{
		Name: "then", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{{DType: datum.Int64}},
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

// less is an operator that takes one from an int64 scalar.
func less(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	return g.Add(pipeline.Op{
		Name: "less", Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{{DType: datum.Int64}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				return put(out, in[0].Int64s()[0]-1)
			}), nil
		},
	})[0]
}
