package region

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// consumer arms batches of an engine and takes them in order.
type consumer struct {
	*Engine
	slots    int
	finished []chan struct{} // by batch modulo slots
	armed    int64
	taken    int64
}

func start(c Config) *consumer {
	k := &consumer{slots: c.Slots}
	for range c.Slots {
		k.finished = append(k.finished, make(chan struct{}, 1))
	}
	finish := c.Finish
	c.Finish = func(seq int64) {
		if finish != nil {
			finish(seq)
		}
		k.finished[seq%int64(c.Slots)] <- struct{}{}
	}
	k.Engine = New(c)
	return k
}

func (k *consumer) fill() {
	for ; k.armed < k.taken+int64(k.slots); k.armed++ {
		k.Arm()
	}
}

func (k *consumer) take() int64 {
	<-k.finished[k.taken%int64(k.slots)]
	k.taken++
	return k.taken - 1
}

func (k *consumer) reset() {
	k.Reset()
	for _, c := range k.finished {
		select {
		case <-c:
		default:
		}
	}
	k.armed, k.taken = 0, 0
}

func TestEveryRowOnce(t *testing.T) {
	for _, c := range []Config{
		{Workers: 1, Slots: 1, Rows: 1},
		{Workers: 4, Slots: 1, Rows: 3},
		{Workers: 4, Slots: 3, Rows: 7, Grain: 2},
		{Workers: 3, Slots: 5, Rows: 2, Grain: 16},
	} {
		const batches = 200
		counts := make([]atomic.Int32, (batches+c.Slots)*c.Rows)
		c.Run = func(_ int, seq int64, row int) { counts[int(seq)*c.Rows+row].Add(1) }
		e := start(c)
		for range batches {
			e.fill()
			seq := e.take()
			for row := range c.Rows {
				require.EqualValues(t, 1, counts[int(seq)*c.Rows+row].Load())
			}
		}
		e.Close()
	}
}

func TestRanComesBeforeTheRowsCount(t *testing.T) {
	var seen, shown [3]int64 // by worker, on its own
	var total atomic.Int64
	c := Config{Workers: 3, Slots: 2, Rows: 7, Grain: 3}
	c.Run = func(worker int, _ int64, _ int) { seen[worker]++ }
	c.Ran = func(worker int) {
		total.Add(seen[worker] - shown[worker])
		shown[worker] = seen[worker]
	}
	e := start(c)
	defer e.Close()
	for range 100 {
		e.fill()
		seq := e.take()
		require.GreaterOrEqual(t, total.Load(), (seq+1)*int64(c.Rows))
	}
}

func TestWorkersNeverPassTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows atomic.Int64
		e := start(Config{Workers: 3, Slots: 2, Rows: 4, Run: func(int, int64, int) { rows.Add(1) }})
		defer e.Close()
		e.fill()
		synctest.Wait()
		require.EqualValues(t, 8, rows.Load(), "only the armed batches may run")
	})
}

func TestParkKeepsThePlaceAndResetForgetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		e := start(Config{Workers: 2, Slots: 3, Rows: 10, Run: func(int, int64, int) { time.Sleep(time.Millisecond); ran.Add(1) }})
		defer e.Close()
		e.fill()
		e.take()
		e.Park()
		at := ran.Load()
		e.fill()
		time.Sleep(time.Second)
		require.Equal(t, at, ran.Load(), "parked workers must rest")
		e.Resume()
		require.EqualValues(t, 1, e.take())

		e.Park()
		e.reset()
		e.fill()
		e.Resume()
		require.EqualValues(t, 0, e.take())
	})
}

func TestGoexitLosesTheRowAndNotTheWorker(t *testing.T) {
	type at struct {
		worker int
		seq    int64
		row    int
	}
	var lost []at
	e := start(Config{
		Workers: 1, Slots: 1, Rows: 5, Grain: 5,
		Run: func(_ int, _ int64, row int) {
			if row == 2 {
				runtime.Goexit()
			}
		},
		Lost: func(worker int, seq int64, row int) { lost = append(lost, at{worker, seq, row}) },
	})
	defer e.Close()
	e.fill()
	e.take()
	require.Equal(t, []at{{0, 0, 2}}, lost)
}

// TestGoexitInFinishLosesNoWorker ends the goroutine of a worker at the end of
// every batch. As many workers begin as end, and Park and Close find all of them.
func TestGoexitInFinishLosesNoWorker(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		synctest.Test(t, func(t *testing.T) { // which a lost worker would keep waiting for ever
			var begun, ended atomic.Int32
			finished := make(chan struct{}, 2)
			e := New(Config{
				Workers: workers, Slots: 2, Rows: 5, Grain: 2,
				Run:    func(int, int64, int) {},
				Finish: func(int64) { finished <- struct{}{}; runtime.Goexit() },
				Lost:   func(int, int64, int) { t.Error("no row was in hand") },
				Start: func(int) func() {
					begun.Add(1)
					return func() { ended.Add(1) }
				},
			})
			for range 20 {
				e.Arm()
				<-finished
			}
			e.Park()
			require.EqualValues(t, workers, begun.Load()-ended.Load(), "workers left")
			e.Resume()
			e.Arm()
			<-finished
			e.Close()
			require.Equal(t, begun.Load(), ended.Load())
		})
	}
}

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := Config{Workers: 1 + rnd.IntN(4), Slots: 1 + rnd.IntN(4), Rows: 1 + rnd.IntN(9), Grain: rnd.IntN(4)}
		var done [64]atomic.Int32
		c.Run = func(_ int, seq int64, _ int) { done[seq%64].Add(1) }
		c.Finish = func(seq int64) { done[seq%64].Add(1) }
		e := start(c)
		for range 300 {
			switch rnd.IntN(9) {
			case 2:
				e.SetWorkers(1 + rnd.IntN(c.Workers))
			case 0:
				e.Park()
				e.Resume()
			case 1:
				e.Park()
				e.reset()
				for i := range done {
					done[i].Store(0)
				}
				e.Resume()
			default:
				e.Yield(rnd.IntN(2) == 0)
				e.fill()
				require.EqualValues(t, c.Rows+1, done[e.take()%64].Swap(0))
			}
		}
		e.Close()
	}
}

func BenchmarkRow(b *testing.B) {
	e := start(Config{Workers: 2, Slots: 3, Rows: 64, Grain: 1, Run: func(int, int64, int) {}})
	defer e.Close()
	b.ReportAllocs()
	for range b.N/64 + 1 {
		e.fill()
		e.take()
	}
}
