package run

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/feedtest"
)

// A request on probation that ends late is refunded its rows, also where another batch has its flight by now and a row at the same
// place of it is compared: else the process would wait for rows that nobody asks for.
func TestRefundOfALateRequest(t *testing.T) {
	h := &house{compared: map[rowPlace]check{}}
	p := &trust{need: 4, asked: 4}
	p.changed.L = &h.mu
	f := new(Flight)
	l, other := &lane{h: h, began: 1, probing: 2, charged: p, probed: "process"}, &lane{h: h, began: 2}
	for row := range 2 {
		l.rows = append(l.rows, laneRow{t: executor.Taken{Row: row}, f: f})
	}
	h.compared[rowPlace{f, 0}] = check{instance: "process", l: other, began: 2}
	h.compared[rowPlace{f, 1}] = check{instance: "process", l: l, began: 1}
	h.refund(l)
	require.Equal(t, 3, p.asked, "the second row is being compared")
}

// returnedRows is a keeper that counts rows which were given back.
type returnedRows struct {
	keeper
	n     int
	first func(f *Flight, c *executor.Call) // is called when a batch begins
}

func (k *returnedRows) giveBack(*Flight, int, executor.Taken, bool) { k.n++ }

func (k *returnedRows) armed(ctx context.Context, f *Flight, c *executor.Call) {
	k.first(f, c)
	k.keeper.armed(ctx, f, c)
}

// A lane that has taken rows when the run is parked gives them back and asks for nothing: no request of its address is in flight
// before, and none has ended afterwards.
func TestALaneOfAParkedRun(t *testing.T) {
	p, err := rowPipeline(3)
	require.NoError(t, err)
	e, err := New(p)
	require.NoError(t, err)
	r, err := e.NewRunner(feedtest.Once(3, 3))
	require.NoError(t, err)
	h := &house{r: r.region, seats: make(chan *worker, 1), parked: true}
	l := &lane{h: h, of: &address{}}
	k := &returnedRows{keeper: r.region.memory, first: func(f *Flight, c *executor.Call) {
		l.picked = []executor.Taken{{Call: c, Row: 1, End: 3}}
		err = l.ask(t.Context(), nil)
		l.end()
	}}
	r.region.memory = k
	f, failed := r.Next(t.Context())
	require.NoError(t, failed)
	require.NoError(t, err)
	require.Equal(t, 2, k.n)
	require.Zero(t, l.of.requests)
	require.Zero(t, l.of.hand)
	require.Len(t, h.seats, 1)
	f.Release()
	require.NoError(t, r.Close())
}
