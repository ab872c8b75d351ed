package executor

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Somebody else takes rows, ends them one by one in any order, and gives some of them back,
// for anybody, for the workers alone or for one of themselves; who is idle has rows of others given back; and the
// workers leave new rows to others now and then; takers of rows that suit them come and go. Each row is made once, and by a worker where
// it was given back for one.
func TestTakersGiveBack(t *testing.T) {
	const n, slots, batches = 10, 3, 200
	var mu sync.Mutex
	made, own := map[[2]int64]int{}, map[[2]int64]bool{}
	note := func(k int64, row int, worker bool) {
		mu.Lock()
		at := [2]int64{k, int64(row)}
		made[at]++
		wrong := own[at] && !worker
		mu.Unlock()
		if wrong {
			t.Errorf("row %v was for a worker", at)
		}
	}
	var idle atomic.Int64
	var x atomic.Pointer[RowPool]
	spare := make(chan Taken, 64) // rows that an idle worker may have
	p := rowProgram{workers: 2, slots: slots, row: func(_ int, k int64, row int) { note(k, row, true) }}
	p.rows = Rows{N: n, Idle: func(int) bool {
		idle.Add(1)
		select {
		case s := <-spare:
			x.Load().GiveBack(s, false)
			return true
		default:
			return false
		}
	}, Suits: func(_ *Call, row, end int) []int {
		suits := make([]int, end-row)
		for i := range suits {
			suits[i] = rand.IntN(5)
		}
		return suits
	}}
	l := p.start(t)
	x.Store(l.x.Rows())
	ctx, cancel := context.WithCancelCause(context.Background())
	var takers sync.WaitGroup
	for seed := range uint64(3) {
		takers.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 2))
			number := 1 + int(seed)
			for {
				switch rnd.IntN(8) {
				case 0:
					l.Leave(number)
				case 1, 2:
					l.Join(number)
				case 3:
					l.Ease(1+rnd.IntN(4), rnd.IntN(4))
				}
				kept, err := l.Wait(ctx, number, rnd.IntN(2) == 0)
				if err != nil {
					return
				}
				var got []Taken
				if kept {
					got = l.Take(number, 1+rnd.IntN(4), nil)
				} else {
					got = l.Relieve(1+rnd.IntN(4), rnd.IntN(4) > 0, nil)
				}
				for _, i := range rnd.Perm(len(got)) {
					one := got[i]
					switch rnd.IntN(8) {
					case 0:
						mu.Lock()
						own[[2]int64{one.Call.Root(), int64(one.Row)}] = true
						mu.Unlock()
						l.GiveBack(one, true)
					case 1:
						l.GiveBack(one, false)
					case 2:
						spare <- one
						l.Nudge()
					default:
						note(one.Call.Root(), one.Row, false)
						l.Done(one)
					}
				}
				l.Hold(rnd.IntN(2) == 0)
				l.Share(rnd.IntN(2) == 0)
			}
		})
	}
	for k := range int64(batches) {
		if k%31 == 7 { // parked rows are not stolen, so nobody may keep one
			l.Pause()
			for len(spare) > 0 {
				l.GiveBack(<-spare, false)
			}
			l.Resume()
		}
		l.Nudge()
		l.take()
		mu.Lock()
		for row := range int64(n) {
			require.Equal(t, 1, made[[2]int64{k, row}], "row %d of %d", row, k)
		}
		mu.Unlock()
	}
	require.Positive(t, idle.Load())
	l.Hold(false)
	stop := make(chan struct{})
	takers.Go(func() { // until all takers have ended
		for {
			select {
			case s := <-spare:
				l.GiveBack(s, false)
			case <-stop:
				return
			}
		}
	})
	cancel(errRowsOver)
	l.end()
	close(stop)
	takers.Wait()
}
