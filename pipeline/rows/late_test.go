package rows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/rows"
)

// late is a maker that keeps one request until it is told to answer, and then sends other
// values than were asked for. Before and behind that it makes rows as beside does.
type late struct {
	beside
	proven func() bool
	asked  chan struct{} // is closed when it keeps a request
	answer chan struct{} // is closed when it may answer that
	over   chan int      // the rows of the request that were taken in
	kept   bool
}

func (m *late) Plan() rows.Plan { return rows.Plan{Lanes: 1, Rows: 4, Patience: time.Hour} }

func (m *late) Open(ctx context.Context, house rows.House, _ bool) (func(), error) {
	return func() { _ = house.Lane(ctx, "late", "the same process", m) }, nil // ends with the run
}

func (m *late) Make(ctx context.Context, q *rows.Request, a rows.Answer) error {
	if m.kept || !m.proven() {
		return m.beside.Make(ctx, q, a)
	}
	m.kept = true
	if err := a.From("the same process"); err != nil {
		return err
	}
	close(m.asked)
	select {
	case <-m.answer:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	n := 0
	defer func() { m.over <- n }()
	for i := range q.Keys {
		row := a.Row(i)
		if row == nil {
			continue
		}
		n++
		to, err := row.Value(datum.Int64, "", []int{})
		if err != nil {
			return err
		}
		for k := range to {
			to[k] = 0xee
		}
		row.End()
	}
	return nil
}

// An answer may come after its rows were made by others, and after the memory of their batch
// has become that of other batches. It changes none of them.
func TestALateAnswerTouchesNoBatch(t *testing.T) {
	data := make([]int64, 64)
	for i := range data {
		data[i] = int64(i)
	}
	build := func(o pipeline.Options) *pipeline.Pipeline {
		o.BatchSize, o.Workers, o.PrefetchDepth = 4, 2, 1
		p, err := pipeline.New(o, func(g *pipeline.Graph) {
			x := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(data))[0]
			g.Output("squares", g.Add(pipeline.Op{
				Name: "square", Inputs: []pipeline.Value{x}, Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{}}}, Expensive: true,
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
						b, err := out[0].Resize()
						if err == nil {
							v := in[0].Int64s()[0]
							datum.View[int64](b)[0] = v * v
						}
						return err
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		return p
	}
	kitchen, err := build(pipeline.Options{}).Engine().NewKitchen()
	require.NoError(t, err)
	var p *pipeline.Pipeline
	m := &late{beside: beside{kitchen}, asked: make(chan struct{}), answer: make(chan struct{}), over: make(chan int, 1)}
	m.proven = func() (proven bool) {
		for _, r := range p.Stats().Remote {
			proven = proven || r.Audited >= 4
		}
		return proven
	}
	p = build(pipeline.Options{Remote: m})
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	since := 0 // batches since the maker has kept a request
	const reused = 8
	for b, err := range l.Epochs(t.Context(), 1000) {
		require.NoError(t, err)
		check := func() {
			for i, id := range b.IDs() {
				require.Equal(t, id*id, b.Int64s("squares")[i], "sample %d", id)
			}
		}
		check()
		select {
		case <-m.asked:
			since++
		default:
			time.Sleep(time.Millisecond) // nothing is stolen meanwhile
		}
		switch since {
		case reused: // every slot of the loop has had other batches
			close(m.answer)
			require.Zero(t, <-m.over, "rows of a late answer were taken in")
			check()
		case 2 * reused:
			return
		}
	}
	require.Fail(t, "the maker was never asked for rows that count")
}
