package rows_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/rows"
)

// crowd is more makers than a run has lanes for.
type crowd struct {
	beside
	makers int
}

func (c crowd) Plan() rows.Plan { return rows.Plan{Lanes: 2, Rows: 2, Patience: time.Hour} }

func (c crowd) Open(ctx context.Context, house rows.House, _ bool) (func(), error) {
	return func() {
		var group sync.WaitGroup
		for i := range c.makers {
			group.Go(func() { _ = house.Lane(ctx, fmt.Sprint("maker ", i), "the same process", c.beside) })
		}
		group.Wait()
	}, nil
}

// Where there are more makers than lanes, all of them are asked, by turns.
func TestMakersTakeTurns(t *testing.T) {
	define := func(g *pipeline.Graph) {
		x := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]int64, 64)))[0]
		g.Output("x", ops.Add(g, x, ops.Uniform(g, 0, 1)))
	}
	o := pipeline.Options{BatchSize: 8, Workers: 1}
	worker, err := pipeline.New(o, define)
	require.NoError(t, err)
	kitchen, err := worker.Engine().NewKitchen()
	require.NoError(t, err)
	c := crowd{beside{kitchen}, 7}
	o.Remote = c
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for _, err := range l.Epochs(t.Context(), 1000) {
		require.NoError(t, err)
		asked := 0
		for _, r := range p.Stats().Remote {
			if r.Rows > 0 {
				asked++
			}
		}
		if asked == c.makers {
			return
		}
		time.Sleep(time.Millisecond) // nothing is stolen meanwhile
	}
	require.Fail(t, "a maker got no turn")
}
