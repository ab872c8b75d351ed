package region

import (
	"context"
	"errors"
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

// fill arms every free slot while the consumer holds the given number.
func fill(e *Engine, held int64) {
	for e.Armed()-e.delivered+held < int64(e.cfg.Slots) {
		e.Arm()
	}
}

func TestEveryRowOnceAndBatchesInOrder(t *testing.T) {
	for _, c := range []Config{
		{Workers: 1, Slots: 1, Rows: 1},
		{Workers: 4, Slots: 1, Rows: 3},
		{Workers: 4, Slots: 3, Rows: 7, Grain: 2},
		{Workers: 3, Slots: 5, Rows: 2, Grain: 16},
	} {
		const batches = 200
		counts := make([]atomic.Int32, batches*c.Rows+c.Slots*c.Rows)
		c.Run = func(_ int, seq int64, row int) { counts[int(seq)*c.Rows+row].Add(1) }
		e := New(c)
		fill(e, 0)
		for k := range int64(batches) {
			seq, err := e.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, k, seq)
			for row := range c.Rows {
				require.EqualValues(t, 1, counts[int(seq)*c.Rows+row].Load())
			}
			e.Arm()
		}
		e.Close()
	}
}

func TestWorkersNeverPassTheLimit(t *testing.T) {
	var last atomic.Int64
	e := New(Config{Workers: 3, Slots: 2, Rows: 4, Run: func(_ int, seq int64, _ int) { last.Store(max(last.Load(), seq)) }})
	defer e.Close()
	fill(e, 0)
	for range 2 {
		_, err := e.Next(t.Context())
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, last.Load(), "only the armed batches may run")
}

func TestParkKeepsPositionAndResetForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		e := New(Config{Workers: 2, Slots: 3, Rows: 10, Run: func(int, int64, int) { time.Sleep(time.Millisecond); ran.Add(1) }})
		defer e.Close()
		fill(e, 0)
		_, err := e.Next(t.Context())
		require.NoError(t, err)
		e.Park()
		at := ran.Load()
		time.Sleep(time.Second)
		require.Equal(t, at, ran.Load(), "parked workers must rest")
		e.Arm()
		e.Resume()
		seq, err := e.Next(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, seq)

		e.Park()
		e.Reset()
		fill(e, 0)
		e.Resume()
		seq, err = e.Next(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 0, seq)
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{Workers: 1, Slots: 1, Rows: 1, Run: func(int, int64, int) { time.Sleep(time.Hour) }})
		defer e.Close()
		e.Arm()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err := e.Next(ctx)
		require.ErrorIs(t, err, why)
		seq, err := e.Next(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 0, seq)
	})
}

func TestGoexitLosesTheRowAndNotTheWorker(t *testing.T) {
	type at struct {
		seq int64
		row int
	}
	var lost []at
	e := New(Config{
		Workers: 1, Slots: 1, Rows: 5, Grain: 5,
		Run: func(_ int, _ int64, row int) {
			if row == 2 {
				runtime.Goexit()
			}
		},
		Lost: func(_ int, seq int64, row int) { lost = append(lost, at{seq, row}) },
	})
	defer e.Close()
	e.Arm()
	_, err := e.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []at{{0, 2}}, lost)
}

func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := Config{Workers: 1 + rnd.IntN(4), Slots: 1 + rnd.IntN(4), Rows: 1 + rnd.IntN(9), Grain: rnd.IntN(4)}
		var done [64]atomic.Int32
		c.Run = func(_ int, seq int64, _ int) { done[seq%64].Add(1) }
		c.Finish = func(seq int64) { done[seq%64].Add(1) }
		e := New(c)
		want := int64(0)
		for range 300 {
			switch rnd.IntN(8) {
			case 0:
				e.Park()
				e.Resume()
			case 1:
				e.Park()
				e.Reset()
				for i := range done {
					done[i].Store(0)
				}
				want = 0
				e.Resume()
			default:
				fill(e, 0)
				seq, err := e.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, want, seq)
				require.EqualValues(t, c.Rows+1, done[seq%64].Swap(0))
				want++
			}
		}
		e.Close()
	}
}

func BenchmarkRow(b *testing.B) {
	e := New(Config{Workers: 2, Slots: 3, Rows: 64, Grain: 1, Run: func(int, int64, int) {}})
	defer e.Close()
	fill(e, 0)
	b.ReportAllocs()
	for range b.N/64 + 1 {
		if _, err := e.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
		e.Arm()
	}
}
