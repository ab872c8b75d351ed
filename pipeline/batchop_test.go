package pipeline

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// affine adds a batch operator that computes a·x + b + the sum of its inputs'
// first elements, for all rows, and tells a test device what it touches.
func affine(g *Graph, name string, backend executor.Backend, a, b float32, in ...Value) Value {
	return g.AddBatch(BatchOp{
		Name: name, Inputs: in, Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{2}}}, Backend: backend,
		New: func() (batchop.Kernel, error) {
			return batchop.KernelFunc(func(c *streams.Context, in, out []batchop.Tensor) error {
				if c != nil {
					for i := range in {
						streamtest.Reads(c, &in[i].Data[0])
					}
					defer streamtest.Writes(c, &out[0].Data[0])
				}
				y := datum.View[float32](out[0].Data)
				for i := range y {
					y[i] = b
					for _, t := range in {
						y[i] += a * datum.View[float32](t.Data)[i]
					}
				}
				return nil
			}), nil
		},
	})[0]
}

// diamond is a pipeline with a diamond of batch operators behind the region.
func diamond(t testing.TB, o Options) *Pipeline {
	t.Helper()
	p, err := New(o, func(g *Graph) {
		v := square(g, g.Read(ReaderOptions{}, numbers{n: 10})[0], nil)
		up := affine(g, "upload", executor.Mixed, 1, 0, v)
		left := affine(g, "left", executor.Device, 2, 1, up)
		right := affine(g, "right", executor.Device, -1, 0, up)
		affine(g, "not needed", executor.Device, 1, 1, up)
		g.Output("y", affine(g, "join", executor.Device, 1, 0, left, right))
		g.Output("host", affine(g, "host", executor.Host, 1, 100, v))
		g.Output("again", left)
		g.Output("left", left)
	})
	require.NoError(t, err)
	return p
}

func TestBatchOperators(t *testing.T) {
	check := func(o Options) {
		t.Helper()
		o.BatchSize = 4
		p := diamond(t, o)
		require.Equal(t, []string{"y", "host", "again", "left"}, p.Outputs())
		require.NotContains(t, p.String(), "not needed")
		r := runner(t, p, 10)
		for k := range 3 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			for row, id := range b.IDs() {
				x := []float32{float32(id * id), float32(id)}
				want := map[string][]float32{"y": {x[0] + 1, x[1] + 1}, "host": {x[0] + 100, x[1] + 100}, "left": {2*x[0] + 1, 2*x[1] + 1}}
				want["again"] = want["left"]
				for name, w := range want {
					if id < 0 {
						w = []float32{0, 0}
					}
					require.Equal(t, w, b.Float32s(name)[2*row:2*row+2], "%s of batch %d row %d", name, k, row)
				}
			}
			for i := range b.Float32s("y") { // the consumer may write
				b.Float32s("y")[i] = 77
			}
			b.Release()
		}
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		require.Nil(t, b)
	}
	check(Options{})
	for _, concurrency := range []executor.Concurrency{executor.ConcurrencyFull, executor.ConcurrencyBackend, executor.ConcurrencyNone} {
		check(Options{Concurrency: concurrency, Workers: 3})
	}
	for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
		for _, budget := range []int{0, 1} {
			host := streams.NewHost()
			check(Options{Device: host, StreamPolicy: policy, StreamBudget: budget, PrefetchDepth: 1 + budget})
			require.NoError(t, host.Close())
			for seed := range uint64(5) {
				d := streamtest.New(seed)
				check(Options{Device: d, StreamPolicy: policy, StreamBudget: budget, Workers: 2})
				require.NoError(t, d.Close())
				require.Empty(t, d.Races(), "policy %v, budget %d, seed %d", policy, budget, seed)
			}
		}
	}
}

func TestABatchOperatorsError(t *testing.T) {
	broken := errors.New("broken")
	for _, backend := range []executor.Backend{executor.Host, executor.Device} {
		host := streams.NewHost()
		calls := 0
		p, err := New(Options{BatchSize: 2, Device: host}, func(g *Graph) {
			v := square(g, g.Read(ReaderOptions{}, numbers{n: 8})[0], nil)
			g.Output("y", g.AddBatch(BatchOp{
				Name: "third", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8}}, Backend: backend,
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error {
						if calls++; calls == 3 {
							return broken
						}
						return nil
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r := runner(t, p, 8)
		for range 2 {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			b.Release()
		}
		_, err = r.Next(t.Context())
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "third")
		require.NoError(t, r.Reset(feedtest.Once(8, 2)))
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		b.Release()
		require.NoError(t, r.Close())
		require.NoError(t, host.Close())
	}
}

// An operator for whole batches runs on the goroutine of whoever finished the
// batch, a worker as a rule. One that ends its goroutine fails its batch; workers
// and batches go on, here often enough to use up any number of them.
func TestABatchOperatorThatEndsItsGoroutine(t *testing.T) {
	for _, o := range []Options{
		{Workers: 1},
		{Workers: 3, PrefetchDepth: 4},
		{Workers: 2, Concurrency: executor.ConcurrencyNone},
		{Workers: 3, PrefetchDepth: 4, MemoryBudget: 1 << 20},
	} {
		o.BatchSize = 2
		var calls atomic.Int64
		p, err := New(o, func(g *Graph) {
			v := square(g, g.Read(ReaderOptions{}, numbers{n: 100})[0], nil)
			g.Output("y", g.AddBatch(BatchOp{
				Name: "third", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8}},
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error {
						if calls.Add(1)%3 == 0 {
							runtime.Goexit()
						}
						return nil
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r := runner(t, p, 100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in place of for ever
		for range 10 {
			for err = nil; err == nil; {
				var b *Batch
				if b, err = r.Next(ctx); err == nil {
					b.Release()
				}
			}
			require.ErrorIs(t, err, executor.ErrGoexit, "%+v", o)
			require.ErrorContains(t, err, "third")
			require.NoError(t, r.Reset(feedtest.Once(100, 2)))
		}
		cancel()
		require.NoError(t, r.Close())
	}
}

func TestMistakesWithBatchOperators(t *testing.T) {
	pass := func() (batchop.Kernel, error) {
		return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error { return nil }), nil
	}
	out := []datum.Spec{{DType: datum.Float32, Shape: []int{2}}}
	for want, define := range map[string]func(g *Graph, v Value) Value{
		"pipeline: b: BatchOp.New is missing": func(g *Graph, v Value) Value {
			return g.AddBatch(BatchOp{Name: "b", Inputs: []Value{v}, Outputs: out})[0]
		},
		"pipeline: b: it moves 1 inputs to 2 outputs; BatchOp.Moves is for as many": func(g *Graph, v Value) Value {
			return g.AddBatch(BatchOp{Name: "b", Inputs: []Value{v}, Outputs: append(out, out...), New: pass, Moves: true})[0]
		},
		"pipeline: b: it has no input": func(g *Graph, v Value) Value {
			return g.AddBatch(BatchOp{Name: "b", Outputs: out, New: pass})[0]
		},
		"pipeline: b: input 0 is int32 ?; a batch needs samples of one known shape: resize first": func(g *Graph, v Value) Value {
			ragged := g.Add(Op{Name: "r", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32, Shape: []int{-1}}}, New: func() (datum.Kernel, error) { return nil, nil }})[0]
			return g.AddBatch(BatchOp{Name: "b", Inputs: []Value{ragged}, Outputs: out, New: pass})[0]
		},
		"pipeline: square: input 0 is made for whole batches; operators for single samples come before": func(g *Graph, v Value) Value {
			return square(g, g.AddBatch(BatchOp{Name: "b", Inputs: []Value{v}, Outputs: out, New: pass})[0], nil)
		},
		"pipeline: varying: input 0 is made for whole batches; operators for single samples come before": func(g *Graph, v Value) Value {
			return g.Varying(g.AddBatch(BatchOp{Name: "b", Inputs: []Value{v}, Outputs: out, New: pass})[0])
		},
		"pipeline: b: input 0 is made for whole batches; operators for single samples come before": func(g *Graph, v Value) Value {
			g.Add(Op{Name: "b", Inputs: []Value{g.WholeBatch(v)}, New: func() (datum.Kernel, error) { return nil, nil }})
			return v
		},
		"pipeline: if: input 0 is made for whole batches; operators for single samples come before": func(g *Graph, v Value) Value {
			g.If(g.WholeBatch(v), func() []Value { return nil }, func() []Value { return nil })
			return v
		},
		"pipeline: if: result 0 is made for whole batches; branches and loops are for single samples and come before": func(g *Graph, v Value) Value {
			whole := g.WholeBatch(v)
			g.If(v, func() []Value { return []Value{whole} }, func() []Value { return []Value{v} })
			return v
		},
		"pipeline: while: input 0 is made for whole batches; operators for single samples come before": func(g *Graph, v Value) Value {
			whole := g.AddBatch(BatchOp{Name: "b", Inputs: []Value{g.WholeBatch(v)}, Outputs: out, New: pass}) // which can take it
			g.While(whole, func(vs []Value) Value { return v }, func(vs []Value) []Value { return vs })
			return v
		},
		"pipeline: b: an operator for whole batches cannot be in a branch or loop": func(g *Graph, v Value) Value {
			g.If(v, func() []Value { return g.AddBatch(BatchOp{Name: "b", Inputs: []Value{v}, Outputs: out, New: pass}) }, func() []Value { return nil })
			return v
		},
	} {
		_, err := New(Options{BatchSize: 2}, func(g *Graph) { g.Output("x", define(g, g.Read(ReaderOptions{}, numbers{n: 2})[0])) })
		require.EqualError(t, err, want)
	}
}
