package serial

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestItemsComeOnceInOrder draws batches of items, some of which end the
// goroutine.
func TestItemsComeOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.SliceOf(rapid.SliceOfN(rapid.Bool(), 1, 8)).Draw(t, "batches, of what ends the goroutine")
		type item struct {
			number int
			ready  chan struct{} // closed when its batch is complete
			exit   bool
		}
		var got []int
		q := Start(Worker[item]{Do: func(it item) {
			<-it.ready
			got = append(got, it.number)
			if it.exit {
				runtime.Goexit()
			}
		}})
		var want []int
		for _, exits := range batches {
			ready := make(chan struct{})
			for _, exit := range exits {
				q.Put(item{len(want), ready, exit})
				want = append(want, len(want))
			}
			close(ready)
		}
		q.Close()
		require.Equal(t, want, got)
	})
}

func TestTheWorkerMayPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *Queue[int]
		var got []int
		q = Start(Worker[int]{Do: func(i int) {
			got = append(got, i)
			if i > 0 {
				assert.True(t, q.Put(i-1))
			}
		}})
		q.Put(3)
		synctest.Wait()
		q.Close()
		assert.Equal(t, []int{3, 2, 1, 0}, got)
	})
}

func TestProducersKeepTheirOrder(t *testing.T) {
	const producers, each = 8, 1000
	next := make([]int, producers)
	q := Start(Worker[[2]int]{Do: func(it [2]int) {
		assert.Equal(t, next[it[0]], it[1])
		next[it[0]]++
	}})
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				q.Put([2]int{p, i})
			}
		})
	}
	wg.Wait()
	q.Close()
	for _, n := range next {
		assert.Equal(t, each, n)
	}
}

func TestIdleBeforeWaitingAndEndAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		release := make(chan struct{})
		add := func(text string) { log = append(log, text) }
		q := Start(Worker[string]{
			Do: func(text string) {
				add(text)
				switch text {
				case "hold":
					<-release
				case "exit":
					runtime.Goexit()
				}
			},
			Idle: func() { add("idle") },
			End:  func() { add("end") },
		})
		seen := func(want ...string) {
			t.Helper()
			synctest.Wait()
			assert.Equal(t, want, log)
			log = nil
		}
		seen("idle")
		q.Put("a")
		seen("a", "idle")
		for _, text := range []string{"hold", "b", "exit", "c"} {
			q.Put(text)
		}
		seen("hold")
		release <- struct{}{}
		seen("b", "exit", "idle", "c", "idle")
		q.Put("hold")
		synctest.Wait()
		q.Put("last")
		release <- struct{}{}
		q.Close()
		seen("hold", "last", "end", "idle")
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		q := Start(Worker[int]{Do: func(int) { time.Sleep(time.Second); ran++ }})
		q.Put(0)
		q.Put(1)
		begin := time.Now()
		first := make(chan bool, 2)
		for range 2 {
			go func() { first <- q.Close() }()
		}
		synctest.Wait()
		assert.False(t, q.Put(2))
		assert.NotEqual(t, <-first, <-first, "one of the calls is the first")
		assert.Equal(t, 2*time.Second, time.Since(begin), "each call waits for what was put")
		assert.Equal(t, 2, ran)
		assert.False(t, q.Close())
	})
}

func TestDoneItemsAreLetGo(t *testing.T) {
	var q *Queue[*int]
	q = Start(Worker[*int]{Do: func(*int) {
		for _, done := range q.batch[:q.next] {
			assert.Nil(t, done)
		}
	}})
	for i := range 1000 {
		q.Put(&i)
	}
	q.Close()
}
