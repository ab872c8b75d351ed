package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
)

// numbers is a source whose samples are their own index.
type numbers struct{ n int64 }

func (s numbers) Len() int64            { return s.n }
func (s numbers) Outputs() []datum.Spec { return []datum.Spec{{DType: datum.Int32}} }
func (s numbers) Meta() datum.Meta      { return datum.Meta{} }
func (s numbers) Describe(i int64) string {
	return fmt.Sprint("number ", i)
}

func (s numbers) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	if _, err := out[0].Resize(); err != nil {
		return err
	}
	out[0].Int32s()[0] = int32(i)
	return nil
}

// square makes x² of its input.
func square() (datum.Kernel, error) {
	return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
		if _, err := out[0].Resize(); err != nil {
			return err
		}
		x := in[0].Int32s()[0]
		out[0].Int32s()[0] = x * x
		return nil
	}), nil
}

// rowPipeline has two readers and three operators, all of them cheap.
func rowPipeline(rows int) (*compiled.Pipeline, error) {
	spec := datum.Spec{DType: datum.Int32}
	reader := func(name string) compiled.Reader {
		return compiled.Reader{Name: name, Source: numbers{int64(rows)}, Leader: -1, Index: func(id int64) int64 { return id }}
	}
	node := func(in, out int) compiled.Node {
		return compiled.Node{Name: "square", Reader: -1, In: []int{in}, Out: []int{out}, Target: -1, New: square}
	}
	read := func(i, out int) compiled.Node {
		return compiled.Node{Name: "reader", Reader: i, Out: []int{out}, Target: -1}
	}
	return compiled.New(compiled.Definition{
		Options: compiled.Options{BatchSize: rows, Workers: 1, MaxWorkers: 1, PrefetchDepth: 1, MaxPrefetch: 1},
		Readers: []compiled.Reader{reader("a"), reader("b")},
		Values:  []compiled.Value{{Spec: spec}, {Spec: spec}, {Spec: spec}, {Spec: spec}, {Spec: spec}},
		Nodes:   []compiled.Node{read(0, 0), node(0, 1), node(1, 2), read(1, 3), node(3, 4)},
		Outputs: []compiled.Output{{Name: "x", Value: 2}, {Name: "y", Value: 4}},
	})
}

// What is compiled by hand runs without package pipeline.
func TestACompiledPipelineRuns(t *testing.T) {
	p, err := rowPipeline(3)
	require.NoError(t, err)
	e, err := New(p)
	require.NoError(t, err)
	r, err := e.NewRunner(feedtest.Once(3, 3))
	require.NoError(t, err)
	f, err := r.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int32{0, 1, 16}, datum.View[int32](f.Bytes("x")))
	require.Equal(t, []int32{0, 1, 4}, datum.View[int32](f.Bytes("y")))
	f.Release()
	f, err = r.Next(t.Context())
	require.NoError(t, err)
	require.Nil(t, f)
	require.NoError(t, r.Close())
}

// BenchmarkRow measures what a worker needs for a row of five outputs, which two readers
// and three operators make, all of them cheap: what is looked after per row is a good
// part of it. Marks is the part of it by which outputs that are not written are found. Both
// are the best of many rounds.
func BenchmarkRow(b *testing.B) {
	const rows = 256
	p, err := rowPipeline(rows)
	require.NoError(b, err)
	e, err := New(p)
	require.NoError(b, err)
	r, err := e.NewRunner(feedtest.Once(rows, rows))
	require.NoError(b, err)
	defer r.Close()
	first, err := r.Next(b.Context())
	require.NoError(b, err)
	defer first.Release()
	w, seqs := r.region.workers[0], make([]*turnstile, 2)
	w.rec.skip = math.MaxInt // the clock would be most of it
	bestOf := func(b *testing.B, row func(row int) error) {
		best := time.Duration(math.MaxInt64)
		for b.Loop() {
			began := time.Now()
			for i := range rows {
				if err := row(i); err != nil {
					b.Fatal(err)
				}
			}
			best = min(best, time.Since(began))
		}
		b.ReportMetric(float64(best.Nanoseconds())/rows, "ns/row")
	}
	b.Run("all", func(b *testing.B) {
		bestOf(b, func(row int) error { return w.run(b.Context(), first, row, seqs) })
	})
	b.Run("marks", func(b *testing.B) {
		bestOf(b, func(int) error {
			for i := range w.steps {
				datum.Begin(w.steps[i].out)
				if datum.Written(w.steps[i].out) {
					return errors.New("a mark is missing")
				}
			}
			return nil
		})
	})
}
