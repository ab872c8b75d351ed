package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// rowLoop is a loop over a program that has rows and nothing else but what behind adds.
type rowLoop struct {
	*RowPool
	t     *testing.T
	x     *Executor
	slots int
	loop  *Loop
}

// rowProgram says what a rowLoop runs.
type rowProgram struct {
	workers, slots int
	rows           Rows
	row            func(worker int, iteration int64, row int)
	behind         []KernelFunc // expensive nodes, one behind the other
	armed          func()       // called by the kernel of the node with rows when they can be made
}

func (p rowProgram) start(t *testing.T) *rowLoop {
	t.Helper()
	if p.rows.Row == nil {
		p.rows.Row = func(worker int, c *Call, row int) { p.row(worker, c.Root(), row) }
	}
	if p.rows.Finish == nil {
		p.rows.Finish = func(c *Call) { c.Done(nil) }
	}
	g := NewGraph()
	out := g.Add("rows", Op{Outputs: 1, Async: true, Order: InOrder, Rows: &p.rows, Run: func(_ context.Context, c *Call) error {
		c.Set(0, Int(c.Root()))
		if !c.Arm() {
			return ErrClosed
		}
		if p.armed != nil {
			p.armed()
		}
		return nil
	}}).Out(0)
	for i, run := range p.behind {
		out = g.Add("behind"+string(rune('0'+i)), Op{Outputs: 1, Order: Serial, Expensive: true, Run: func(ctx context.Context, c *Call) error {
			c.Set(0, c.In(0))
			return run(ctx, c)
		}}, out).Out(0)
	}
	g.Output("out", out)
	prog, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	x, err := New(prog, Options{Workers: p.workers})
	require.NoError(t, err)
	l := &rowLoop{RowPool: x.Rows(), t: t, x: x, slots: p.slots}
	l.begin()
	return l
}

func (l *rowLoop) begin() {
	l.t.Helper()
	var err error
	l.loop, err = l.x.Loop(context.Background(), LoopOptions{Slots: l.slots})
	require.NoError(l.t, err)
}

// take takes the next iteration and gives it back.
func (l *rowLoop) take() int64 {
	l.t.Helper()
	r, err := l.loop.Next(context.Background())
	require.NoError(l.t, err)
	n := r.Output(0).Int()
	require.Equal(l.t, r.Index(), n)
	r.Release()
	return n
}

func (l *rowLoop) park() {
	l.Pause()
	require.True(l.t, l.Quiet(context.Background()))
}

func (l *rowLoop) end() {
	l.loop.Close()
	require.NoError(l.t, l.x.Close())
}

func TestEveryRowOnce(t *testing.T) {
	for _, p := range []rowProgram{
		{workers: 1, slots: 1, rows: Rows{N: 1}},
		{workers: 4, slots: 1, rows: Rows{N: 3}},
		{workers: 4, slots: 3, rows: Rows{N: 7, Grain: 2}},
		{workers: 3, slots: 5, rows: Rows{N: 2, Grain: 16}},
	} {
		const batches = 200
		counts := make([]atomic.Int32, (batches+p.slots+1)*p.rows.N)
		p.row = func(_ int, k int64, row int) { counts[int(k)*p.rows.N+row].Add(1) }
		l := p.start(t)
		for k := range int64(batches) {
			l.loop.Limit(k + int64(p.slots))
			require.Equal(t, k, l.take())
			for row := range p.rows.N {
				require.EqualValues(t, 1, counts[int(k)*p.rows.N+row].Load())
			}
		}
		l.end()
	}
}

// Again says whether all rows were made before, in which case Finish comes once more.
func TestAgainOfAnIterationThatIsMade(t *testing.T) {
	var own, late []bool
	made, finished := map[int]int{}, 0
	l := rowProgram{workers: 1, slots: 1, rows: Rows{
		N: 3,
		Row: func(_ int, c *Call, row int) {
			if made[row]++; row == 1 && made[row] == 1 {
				own = append(own, c.st.x.rows.Again(c, row))
			}
		},
		Finish: func(c *Call) {
			if finished++; finished > 2 {
				c.Done(nil)
				return
			}
			late = append(late, c.st.x.rows.Again(c, 0))
		},
	}}.start(t)
	l.loop.Limit(1)
	l.take()
	l.end()
	require.Equal(t, []bool{false}, own)
	require.Equal(t, []bool{true, true}, late)
	require.Equal(t, map[int]int{0: 3, 1: 2, 2: 1}, made)
}

func TestRanComesBeforeTheRowsCount(t *testing.T) {
	var seen, shown [3]int64 // by worker, on its own
	var total atomic.Int64
	p := rowProgram{workers: 3, slots: 2, rows: Rows{N: 7, Grain: 3}}
	p.row = func(worker int, _ int64, _ int) { seen[worker]++ }
	p.rows.Ran = func(worker int) {
		total.Add(seen[worker] - shown[worker])
		shown[worker] = seen[worker]
	}
	l := p.start(t)
	defer l.end()
	for range 100 {
		k := l.take()
		require.GreaterOrEqual(t, total.Load(), (k+1)*7)
	}
}

func TestWorkersNeverPassTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows atomic.Int64
		l := rowProgram{workers: 3, slots: 2, rows: Rows{N: 4}, row: func(int, int64, int) { rows.Add(1) }}.start(t)
		defer l.end()
		synctest.Wait()
		require.EqualValues(t, 8, rows.Load(), "only the rows of iterations that have a slot may be made")
	})
}

func TestParkKeepsThePlaceAndAnotherLoopBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		l := rowProgram{workers: 2, slots: 3, rows: Rows{N: 10}, row: func(int, int64, int) { time.Sleep(time.Millisecond); ran.Add(1) }}.start(t)
		defer l.end()
		l.take()
		l.park()
		at := ran.Load()
		time.Sleep(time.Second)
		require.Equal(t, at, ran.Load(), "parked workers must rest")
		l.Resume()
		require.EqualValues(t, 1, l.take())

		_, err := l.x.Loop(context.Background(), LoopOptions{})
		require.ErrorIs(t, err, errOneLoop)
		l.loop.Close()
		l.begin()
		require.EqualValues(t, 0, l.take())
	})
}

func TestGoexitLosesTheRowAndNotTheWorker(t *testing.T) {
	type at struct {
		worker, row int
		iteration   int64
	}
	lost := make(chan at, 1)
	p := rowProgram{workers: 1, slots: 1, rows: Rows{N: 5, Grain: 5}}
	p.row = func(_ int, k int64, row int) {
		if row == 2 && k == 0 {
			runtime.Goexit()
		}
	}
	p.rows.Lost = func(worker int, c *Call, row int) { lost <- at{worker, row, c.Root()} }
	l := p.start(t)
	defer l.end()
	l.take()
	require.Equal(t, at{0, 2, 0}, <-lost)
	l.take()
}

// The rows of a ticket are made at once, or one by one if that was refused or has ended the
// goroutine: then no row is lost.
func TestTicketsAtOnce(t *testing.T) {
	for _, workers := range []int{1, 3} {
		const batches = 100
		p := rowProgram{workers: workers, slots: 2, rows: Rows{N: 10, Grain: 4}}
		counts := make([]atomic.Int32, (batches+p.slots+1)*p.rows.N)
		var atOnce, oneByOne, lost atomic.Int32
		p.rows.Ticket = func(_ int, c *Call, row, end int) bool {
			switch (int(c.Root()) + row/4) % 3 {
			case 0:
				return false
			case 1:
				runtime.Goexit()
			}
			for ; row < end; row++ {
				counts[int(c.Root())*p.rows.N+row].Add(1)
				atOnce.Add(1)
			}
			return true
		}
		p.row = func(_ int, k int64, row int) {
			counts[int(k)*p.rows.N+row].Add(1)
			oneByOne.Add(1)
		}
		p.rows.Lost = func(int, *Call, int) { lost.Add(1) }
		l := p.start(t)
		for k := range int64(batches) {
			l.loop.Limit(k + int64(p.slots))
			require.Equal(t, k, l.take())
			for row := range p.rows.N {
				require.EqualValues(t, 1, counts[int(k)*p.rows.N+row].Load(), "iteration %d row %d", k, row)
			}
		}
		l.end()
		require.Positive(t, atOnce.Load())
		require.Positive(t, oneByOne.Load())
		require.Zero(t, lost.Load())
	}
}

// A kernel behind the rows that ends the goroutine of the worker that made the last one
// fails its node; the worker's number goes on.
func TestGoexitBehindRowsEndsTheLoopAndNotAWorker(t *testing.T) {
	for _, workers := range []int{1, 3} {
		l := rowProgram{
			workers: workers, slots: 2, rows: Rows{N: 4}, row: func(int, int64, int) {},
			behind: []KernelFunc{func(_ context.Context, c *Call) error {
				if c.Root() == 7 {
					runtime.Goexit()
				}
				return nil
			}},
		}.start(t)
		for range 7 {
			l.take()
		}
		_, err := l.loop.Next(context.Background())
		require.ErrorIs(t, err, ErrGoexit)
		l.park()
		l.loop.Close()
		l.begin()
		require.Zero(t, l.take())
		l.end()
	}
}

// What may take long never runs on the goroutine of the program that starts an iteration,
// even if the rows are made before that call has gone on.
func TestWhatFollowsRowsLeavesTheConsumerAlone(t *testing.T) {
	for _, workers := range []int{1, 3} {
		made := make(chan struct{}, 1)
		var mu sync.Mutex
		ended := map[int64]bool{}
		l := rowProgram{
			workers: workers, slots: 1, row: func(int, int64, int) {},
			rows:  Rows{N: 4, Finish: func(c *Call) { c.Done(nil); made <- struct{}{} }},
			armed: func() { <-made },
			behind: []KernelFunc{func(_ context.Context, c *Call) error {
				mu.Lock()
				ended[c.Root()] = true
				mu.Unlock()
				if c.Root() == 20 { // by then the node is known to be cheap
					runtime.Goexit()
				}
				return nil
			}},
		}.start(t)
		for range 20 {
			l.take()
		}
		_, err := l.loop.Next(context.Background())
		require.ErrorIs(t, err, ErrGoexit)
		mu.Lock()
		require.Len(t, ended, 21)
		mu.Unlock()
		l.end()
	}
}

// With one worker, rows are made while an operator behind them blocks.
func TestWhatBlocksBehindRowsDoesNotStarveThem(t *testing.T) {
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var rows atomic.Int64
			block := make(chan struct{})
			l := rowProgram{
				workers: workers, slots: 3, rows: Rows{N: 4}, row: func(int, int64, int) { rows.Add(1) },
				behind: []KernelFunc{func(context.Context, *Call) error { <-block; return nil }},
			}.start(t)
			synctest.Wait()
			require.EqualValues(t, 12, rows.Load(), "all rows for which there are slots")
			close(block)
			for range 20 {
				l.take()
			}
			l.end()
		})
	}
}

// Goroutines are those that make rows and those that what is behind them needs.
func TestRowsAndNodesShareOnePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 4
		l := rowProgram{
			workers: workers, slots: 3, rows: Rows{N: 64}, row: func(int, int64, int) {},
			behind: slices.Repeat([]KernelFunc{func(context.Context, *Call) error { time.Sleep(10 * time.Microsecond); return nil }}, 3),
		}.start(t)
		defer l.end()
		for range 200 {
			l.take()
		}
		synctest.Wait()
		l.x.mu.Lock()
		started := l.x.started
		l.x.mu.Unlock()
		require.LessOrEqual(t, started, 2*workers+3, "one for each number, as many that rest, and one in each node")
	})
}

// Somebody else takes rows several at a time, finishes them in another order, and
// gives some of them back.
func TestTakersOfSeveralRows(t *testing.T) {
	const n, slots, batches = 10, 3, 60
	var mu sync.Mutex
	made := map[[2]int64]int{}
	note := func(k int64, row int) {
		mu.Lock()
		made[[2]int64{k, int64(row)}]++
		mu.Unlock()
	}
	l := rowProgram{workers: 2, slots: slots, rows: Rows{N: n, Grain: 2}, row: func(_ int, k int64, row int) {
		note(k, row)
		runtime.Gosched()
	}}.start(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	var takers sync.WaitGroup
	for seed := range uint64(3) {
		takers.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 2))
			for {
				if _, err := l.Wait(ctx, 0, true); err != nil {
					if !errors.Is(err, errRowsOver) {
						t.Error(err)
					}
					return
				}
				some := l.Take(0, 1+rnd.IntN(4), nil)
				if len(some) == 0 {
					continue
				}
				got := some[0]
				if rnd.IntN(2) == 0 {
					runtime.Gosched() // so that others are done before
				}
				for row := got.Row; row < got.End; row++ {
					if rnd.IntN(8) == 0 {
						l.Again(got.Call, row)
					} else {
						note(got.Call.Root(), row)
					}
				}
				l.Done(got)
			}
		})
	}
	for k := range int64(batches) {
		if k%7 == 3 {
			l.park()
			l.Resume()
		}
		l.take()
		mu.Lock()
		for row := range int64(n) {
			require.Equal(t, 1, made[[2]int64{k, row}], "row %d of %d", row, k)
		}
		mu.Unlock()
	}
	cancel(errRowsOver)
	takers.Wait()
	l.end()
}

func TestRowHistories(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := rowProgram{workers: 1 + rnd.IntN(4), slots: 1 + rnd.IntN(4), rows: Rows{N: 1 + rnd.IntN(9), Grain: rnd.IntN(4)}}
		var done [64]atomic.Int32
		p.row = func(_ int, k int64, _ int) { done[k%64].Add(1) }
		p.rows.Finish = func(c *Call) { done[c.Root()%64].Add(1); c.Done(nil) }
		if rnd.IntN(2) == 0 {
			p.behind = []KernelFunc{func(context.Context, *Call) error { runtime.Gosched(); return nil }}
		}
		l := p.start(t)
		for range 300 {
			switch rnd.IntN(9) {
			case 2:
				l.SetWorkers(1 + rnd.IntN(p.workers))
			case 0:
				l.park()
				l.Resume()
			case 1:
				if rnd.IntN(2) == 0 {
					l.park()
				}
				l.loop.Close()
				for i := range done {
					done[i].Store(0)
				}
				l.begin()
			default:
				l.Yield(rnd.IntN(2) == 0)
				r, err := l.loop.Next(context.Background())
				require.NoError(t, err)
				require.EqualValues(t, p.rows.N+1, done[r.Index()%64].Swap(0))
				r.Release()
			}
		}
		l.end()
	}
}

func BenchmarkRow(b *testing.B) {
	for _, behind := range []int{0, 1} {
		b.Run([]string{"alone", "and a node behind"}[behind], func(b *testing.B) {
			t := &testing.T{}
			l := rowProgram{
				workers: 2, slots: 3, rows: Rows{N: 64}, row: func(int, int64, int) {},
				behind: slices.Repeat([]KernelFunc{func(context.Context, *Call) error { return nil }}, behind),
			}.start(t)
			defer l.end()
			b.ReportAllocs()
			for range b.N/64 + 1 {
				l.take()
			}
		})
	}
}

var errRowsOver = errors.New("no more rows are wanted")

// What one worker writes is on cache lines of its own.
func TestRowStateFillsCacheLines(t *testing.T) {
	require.Zero(t, unsafe.Sizeof(hand{})%64)
	require.Zero(t, unsafe.Sizeof(rowSlot{})%64)
}

// A loop that is being closed has the rows of the program until nothing of it is at
// work: a kernel that comes late must not arm its call among those of another loop.
func TestALoopHasTheRowsUntilItsKernelsAreDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var once sync.Once
		late, goOn := make(chan struct{}), make(chan struct{})
		rows := Rows{N: 1, Row: func(int, *Call, int) {}, Finish: func(c *Call) { c.Done(nil) }}
		g := NewGraph()
		g.Output("out", g.Add("rows", Op{Outputs: 1, Async: true, Order: InOrder, Rows: &rows, Run: func(_ context.Context, c *Call) error {
			c.Set(0, Int(c.Root()))
			if c.Root() == 1 {
				once.Do(func() { close(late) })
				<-goOn
			}
			if !c.Arm() {
				return ErrClosed
			}
			return nil
		}}).Out(0))
		prog, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(prog, Options{Workers: 1})
		require.NoError(t, err)
		one, err := x.Loop(t.Context(), LoopOptions{Slots: 2, Limit: 1})
		require.NoError(t, err)
		go one.Limit(2) // runs the kernel of iteration 1
		<-late
		go one.Close()
		synctest.Wait()
		_, err = x.Loop(t.Context(), LoopOptions{Slots: 2, Limit: 1})
		require.ErrorIs(t, err, errOneLoop)
		close(goOn)
		one.Close()
		synctest.Wait()
		other, err := x.Loop(t.Context(), LoopOptions{Slots: 2, Limit: 1})
		require.NoError(t, err)
		r, err := other.Next(t.Context())
		require.NoError(t, err)
		require.Zero(t, r.Output(0).Int())
		r.Release()
		one.Close() // a second time: it must not touch the rows of the other loop
		other.Limit(2)
		r, err = other.Next(t.Context())
		require.NoError(t, err)
		r.Release()
		other.Close()
		require.NoError(t, x.Close())
	})
}
