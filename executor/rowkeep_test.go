package executor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A taker gets what is kept for it or for nobody, the oldest first, and then the oldest row of
// the taker that has most. Workers take what is oldest, unless they leave new rows to others.
func TestRowsAreKeptForTakers(t *testing.T) {
	e := &RowPool{cfg: &Rows{N: 8}, tickets: 8, grain: 1, slots: []rowSlot{{call: new(Call)}}, armed: 1}
	e.wake.L, e.quiet.L = &e.mu, &e.mu
	e.limit.Store(8)
	all, fresh, err := e.TakeFor(context.Background(), 1)
	require.NoError(t, err)
	require.True(t, fresh)
	require.Equal(t, [2]int{0, 8}, [2]int{all.Row, all.End})
	e.Keep(all, []int{1, 2, 2, 2, 0, 1, 3, 2})
	for _, row := range []int{0, 4, 5} {
		got, ok := e.TryFor(1)
		require.True(t, ok)
		require.Equal(t, row, got.Row)
	}
	_, ok := e.TryFor(1)
	require.False(t, ok)
	got, fresh, err := e.TakeFor(context.Background(), 1)
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, 1, got.Row, "it relieves the second taker")
	got, ok = e.takeAgain(true)
	require.True(t, ok)
	require.Equal(t, 2, got.Row)
	e.Hold(true)
	_, ok = e.takeAgain(true)
	require.False(t, ok)
	require.True(t, e.nothing(true))
	require.False(t, e.nothing(false))
	require.Equal(t, 4, e.taken, "rows 0, 4, 5 and 1")
	require.Len(t, e.Relieve(nil, 8), 0, "the third taker has one row of three")
	_, ok = e.TryFor(3)
	require.True(t, ok)
	more := e.Relieve([]Taken{got}, 8)
	require.Len(t, more, 2, "half of rows 3 and 7")
	require.Equal(t, 3, more[1].Row)
	require.Len(t, e.Relieve(nil, 8), 0, "half of one row is none")
	require.Equal(t, 6, e.taken)
}
