package region

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rows that are put back are done once more, and a batch is finished for the
// last time when all of its rows are done.
func TestAgain(t *testing.T) {
	for _, grain := range []int{1, 4} {
		const batches, rows = 40, 10
		var mu sync.Mutex
		left := map[[2]int64]int{} // how often a row is still to be put back
		done := map[[2]int64]int{}
		for b := range int64(batches) {
			for r := range int64(rows) {
				left[[2]int64{b, r}] = rand.IntN(3)
			}
		}
		want := map[[2]int64]int{}
		for k, n := range left {
			want[k] = n + 1
		}
		var finished [batches]bool
		next := 0 // the oldest batch that is not finished
		var e *Engine
		ready := make(chan struct{})
		all := make(chan struct{})
		e = New(Config{
			Workers: 3, Slots: 2, Rows: rows, Grain: grain,
			Run: func(_ int, seq int64, row int) {
				<-ready
				mu.Lock()
				defer mu.Unlock()
				k := [2]int64{seq, int64(row)}
				done[k]++
				if left[k] > 0 {
					left[k]--
					e.Again(seq, row)
				}
			},
			Finish: func(seq int64) {
				mu.Lock()
				defer mu.Unlock()
				for finished[seq] = true; next < batches && finished[next]; next++ {
					if next+2 < batches {
						e.Arm()
					}
				}
				if next == batches {
					close(all)
				}
			},
		})
		close(ready)
		e.Arm()
		e.Arm()
		<-all
		e.Close()
		require.Equal(t, want, done)
	}
}

func TestAgainTakesTheOldestRowFirst(t *testing.T) {
	var order []int
	var e *Engine
	finished := make(chan struct{})
	e = New(Config{
		Workers: 1, Slots: 1, Rows: 5,
		Run: func(_ int, seq int64, row int) {
			order = append(order, row)
			if len(order) == 3 {
				for _, r := range []int{2, 0, 1} {
					e.Again(seq, r)
				}
			}
		},
		Finish: func(int64) { close(finished) },
	})
	e.Arm()
	<-finished
	e.Close()
	require.Equal(t, []int{0, 1, 2, 0, 1, 2, 3, 4}, order)
}

// A parked engine keeps the rows that were put back; Reset forgets them.
func TestAgainWhileParked(t *testing.T) {
	var e *Engine
	var runs atomic.Int64
	begun, block := make(chan struct{}), make(chan struct{})
	finished := make(chan struct{}, 1)
	e = New(Config{
		Workers: 1, Slots: 1, Rows: 2,
		Run: func(_ int, seq int64, row int) {
			if runs.Add(1) == 1 {
				close(begun)
				<-block
				e.Again(seq, row)
			}
		},
		Finish: func(int64) { finished <- struct{}{} },
	})
	e.Arm()
	<-begun
	parked := make(chan struct{})
	go func() { e.Park(); close(parked) }()
	for ok := false; !ok; runtime.Gosched() {
		e.mu.Lock()
		ok = e.parked
		e.mu.Unlock()
	}
	close(block)
	<-parked
	require.EqualValues(t, 1, runs.Load())
	e.Resume()
	<-finished
	require.EqualValues(t, 3, runs.Load())
	e.Park()
	e.Reset()
	e.Resume()
	e.Arm()
	<-finished
	require.EqualValues(t, 5, runs.Load())
	e.Close()
}

// Start and what it returns are called once for every goroutine of a worker.
func TestStartAndEnd(t *testing.T) {
	var began, ended atomic.Int64
	e := New(Config{
		Workers: 3, Slots: 1, Rows: 1, Run: func(int, int64, int) {}, Finish: func(int64) {},
		Start: func(int) func() {
			began.Add(1)
			return func() { ended.Add(1) }
		},
	})
	e.Close()
	require.EqualValues(t, 3, began.Load())
	require.EqualValues(t, 3, ended.Load())
}
