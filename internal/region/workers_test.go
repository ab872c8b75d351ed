package region

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSetWorkersChangesHowManyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var working, most atomic.Int32
		e := start(Config{Workers: 5, Slots: 1, Rows: 20, Run: func(int, int64, int) {
			n := working.Add(1)
			for {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			time.Sleep(time.Second)
			working.Add(-1)
		}})
		defer e.Close()
		for _, n := range []int{2, 5, 1, 4} {
			e.SetWorkers(n)
			most.Store(0)
			began := time.Now()
			e.fill()
			e.take()
			require.EqualValues(t, n, most.Load())
			require.Equal(t, time.Duration(20/n)*time.Second, time.Since(began))
		}
		e.SetWorkers(2)
		e.fill()
		e.Park()
		require.Zero(t, working.Load(), "resting workers are parked as well")
		e.Resume()
		e.take()
	})
}

func TestSetWorkersInTheMiddleOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := make([]atomic.Int32, 30)
		e := start(Config{Workers: 3, Slots: 1, Rows: 30, Grain: 2, Run: func(_ int, _ int64, row int) {
			rows[row].Add(1)
			time.Sleep(time.Second)
		}})
		defer e.Close()
		e.fill()
		time.Sleep(3500 * time.Millisecond)
		e.SetWorkers(1)
		time.Sleep(2 * time.Second)
		e.SetWorkers(3)
		e.take()
		for i := range rows {
			require.EqualValues(t, 1, rows[i].Load(), "row %d", i)
		}
	})
}

func TestTimesSayWhatWorkersDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var waits []time.Duration
		e := start(Config{
			Workers: 4, Slots: 1, Rows: 6, Run: func(int, int64, int) { time.Sleep(time.Second) },
			Waited: func(_ int, since time.Time) {
				mu.Lock()
				waits = append(waits, time.Since(since))
				mu.Unlock()
			},
		})
		defer e.Close()
		e.SetWorkers(3)
		time.Sleep(10 * time.Second)
		require.Equal(t, Times{Elapsed: 10 * time.Second, Capacity: 30 * time.Second, Idle: 30 * time.Second}, e.Times())
		e.fill() // two seconds for three workers
		e.take()
		synctest.Wait()
		require.Equal(t, Times{Elapsed: 12 * time.Second, Capacity: 36 * time.Second, Idle: 30 * time.Second}, e.Times())
		require.Equal(t, []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second}, waits)
		e.Park()
		time.Sleep(time.Hour)
		require.Equal(t, 12*time.Second, e.Times().Elapsed, "parked time does not count")
		e.Resume()
		time.Sleep(time.Second)
		require.Equal(t, Times{Elapsed: 13 * time.Second, Capacity: 39 * time.Second, Idle: 33 * time.Second}, e.Times())
	})
}
