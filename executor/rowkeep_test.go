package executor

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A taker gets what is kept for it or for anybody, the oldest first; where there is none, rows of
// the taker that has most, if those are enough. Workers take what is oldest, unless they leave new rows to
// others. What is kept for a taker that leaves is for anybody.
func TestRowsAreKeptForTakers(t *testing.T) {
	e := &RowPool{cfg: &Rows{N: 10, Suits: func(*Call, int, int) []int { return []int{1, 2, 2, 2, 0, 3, 3, 2, 4, 2} }}, tickets: 10, grain: 1, slots: []rowSlot{{call: new(Call)}}, armed: 1}
	e.wake.L, e.quiet.L = &e.mu, &e.mu
	e.limit.Store(10)
	for number := range 3 {
		e.Join(1 + number) // the fourth is not there
	}
	wait := func(number int) bool {
		own, err := e.Wait(context.Background(), number, true)
		require.NoError(t, err)
		return own
	}
	rowsOf := func(taken []Taken) (rows []int) {
		for _, one := range taken {
			rows = append(rows, one.Row)
		}
		return rows
	}
	require.True(t, wait(1))
	require.Equal(t, []int{0, 4}, rowsOf(e.Take(1, 2, nil)))
	require.Equal(t, []int{8}, rowsOf(e.Take(1, 2, nil)))
	require.False(t, wait(1))
	e.Ease(2, 5)
	require.Equal(t, []int{1}, rowsOf(e.Relieve(8, true, nil)), "others have more than a fifth of all")
	require.Empty(t, e.Relieve(8, true, nil), "four are not enough")
	got, ok := e.takeAgain()
	require.True(t, ok)
	require.Equal(t, 2, got.Row)
	e.Hold(true)
	_, ok = e.takeAgain()
	require.False(t, ok)
	require.True(t, e.nothing())
	require.Equal(t, 4, e.taken, "rows 0, 4, 8 and 1")
	require.True(t, wait(3))
	require.Equal(t, []int{5, 6}, rowsOf(e.Take(3, 3, nil)))
	e.Ease(2, 0)
	require.Equal(t, []int{3, 7}, rowsOf(e.Relieve(8, true, nil)), "up to half, where others have none")
	e.Leave(2)
	require.True(t, wait(3))
	require.Equal(t, []int{9}, rowsOf(e.Take(3, 3, nil)))
	require.Zero(t, e.agains.Load())
	require.Equal(t, 9, e.taken)
}

// Rows that come in about their order leave in their order.
func TestRowQueue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var q rowQueue
	in, out, last := 0, 0, -1
	for in < 10000 || q.len() > 0 {
		if in < 10000 && q.len() < 100 && rnd.IntN(2) == 0 {
			for _, i := range rnd.Perm(4) {
				q.push(Taken{seq: int64(in+i) / 7, Row: (in + i) % 7})
			}
			in += 4
			continue
		}
		if q.len() > 0 {
			got := q.pop()
			at := int(got.seq)*7 + got.Row
			require.Greater(t, at, last)
			last = at
			out++
		}
	}
	require.Equal(t, in, out)
	require.LessOrEqual(t, cap(q.rows), 1024)
}

// Takers are in the order of the number of rows that are kept for them.
func TestRanks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	e := &RowPool{cfg: &Rows{}, grain: 1, tickets: 1, slots: make([]rowSlot, 1)}
	e.slots[0].kept = make([]int32, 1)
	for range 5000 {
		x := e.taker(rnd.IntN(20))
		if x.kept.len() > 0 && rnd.IntN(2) == 0 {
			e.takeKept(x)
		} else {
			x.kept.push(Taken{})
			e.rank(x, 1)
		}
		all := 0
		for i, x := range e.ranks {
			all += x.kept.len()
			require.Equal(t, i, x.at)
			require.True(t, i == 0 || x.kept.len() <= e.ranks[i-1].kept.len())
		}
		require.Equal(t, all, e.kept)
	}
}

// Who was notified of some rows may find older ones that others were notified of, and has no room for the former: somebody else
// looks for these then. Such are rows that are kept for a taker, rows for anybody, and new ones.
func TestRowsThatAreLeftAreLookedFor(t *testing.T) {
	for name, left := range map[string]func(e *RowPool){
		"kept":    func(e *RowPool) { e.assign(1, Taken{Row: 1, End: 2}) },
		"anybody": func(e *RowPool) { e.assign(0, Taken{Row: 1, End: 2}) },
		"again":   func(e *RowPool) { e.again.push(Taken{Row: 1, End: 2}) },
		"new":     func(e *RowPool) { e.limit.Store(2) },
	} {
		synctest.Test(t, func(t *testing.T) {
			suits := func(*Call, int, int) []int { return []int{1, 1} }
			e := &RowPool{cfg: &Rows{N: 2, Suits: suits}, tickets: 2, grain: 1, slots: []rowSlot{{call: new(Call), kept: make([]int32, 2)}}, armed: 1}
			e.wake.L, e.quiet.L = &e.mu, &e.mu
			e.Join(1)
			found := false
			go func() {
				own, err := e.Wait(t.Context(), 1, true)
				found = own && err == nil
			}()
			synctest.Wait()
			e.mu.Lock()
			e.again.push(Taken{Row: 0, End: 1})
			left(e) // whoever was notified of both is still to look for the second one
			e.mu.Unlock()
			require.Equal(t, 0, e.Take(1, 1, nil)[0].Row)
			synctest.Wait()
			require.True(t, found, name)
		})
	}
}
