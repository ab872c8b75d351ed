package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline/datum"
)

// slowDisk is a Prefetcher whose samples take a while to come, as many at a time
// as are asked for.
type slowDisk struct {
	numbers
	ahead   int
	latency time.Duration
	warm    bool // everything is at hand

	mu       sync.Mutex
	comes    map[int64]time.Time // when a sample that was asked for is there
	asked    []int64             // by Prefetch
	blocking atomic.Bool         // Prefetch waits for the end of its context
	read     atomic.Int64        // samples that were begun to be read
	farthest int64               // most samples that Prefetch was ahead of Read
}

func (d *slowDisk) ReadAhead() int { return d.ahead }

func (d *slowDisk) Prefetch(ctx context.Context, index int64) bool {
	d.mu.Lock()
	d.asked = append(d.asked, index)
	d.farthest = max(d.farthest, index-d.read.Load()+1)
	d.request(index)
	d.mu.Unlock()
	if d.blocking.Load() {
		<-ctx.Done()
	}
	return !d.warm
}

// request returns when a sample is there, which it asks for if nobody has.
func (d *slowDisk) request(index int64) time.Time {
	if d.comes == nil {
		d.comes = map[int64]time.Time{}
	}
	if _, ok := d.comes[index]; !ok {
		d.comes[index] = time.Now().Add(d.latency)
	}
	return d.comes[index]
}

func (d *slowDisk) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	d.mu.Lock()
	comes := d.request(index)
	d.mu.Unlock()
	d.read.Add(1)
	time.Sleep(time.Until(comes))
	return d.numbers.Read(ctx, index, out)
}

// work is what an operator takes for a sample.
const work = time.Millisecond

func diskPipeline(t *testing.T, o Options, d datum.Source) *Pipeline {
	t.Helper()
	p, err := New(o, func(g *Graph) {
		v := g.Read(ReaderOptions{}, d)[0]
		g.Output("square", square(g, v, func(int32) error { time.Sleep(work); return nil }))
	})
	require.NoError(t, err)
	return p
}

// Samples come from a disk of 20 ms while others are worked on, if they are read
// ahead, and each is asked for once, never too far ahead.
func TestReadAheadHidesTheDisk(t *testing.T) {
	const n, latency = 256, 20 * work
	took := func(t *testing.T, ahead, workers int) (wall time.Duration, d *slowDisk, grain int) {
		d = &slowDisk{numbers: numbers{n: n}, ahead: ahead, latency: latency}
		p := diskPipeline(t, Options{BatchSize: 32, Workers: workers, PrefetchDepth: 2}, d)
		began := time.Now()
		r, err := p.NewRunner(feedtest.Once(n, 32))
		require.NoError(t, err)
		collect(t, r)
		wall = time.Since(began)
		require.NoError(t, r.Close())
		return wall, d, p.compiled.Grain()
	}
	synctest.Test(t, func(t *testing.T) {
		alone, _, _ := took(t, 0, 1)
		require.Equal(t, n*(latency+work), alone)
		for _, workers := range []int{1, 3} {
			alone, _, _ := took(t, 0, workers)
			for _, ahead := range []int{1, 40, 64} {
				wall, d, grain := took(t, ahead, workers)
				slices.Sort(d.asked)
				require.Equal(t, slices.Compact(slices.Clone(d.asked)), d.asked, "no sample twice")
				// Of the rows up to the last that was begun, each of the other workers may
				// have as many in hand and not read as it takes at a time.
				require.LessOrEqual(t, d.farthest, int64(ahead+1+(workers-1)*grain))
				if ahead >= 40 {
					require.Less(t, wall, alone/3, "%d workers, %d ahead", workers, ahead)
				}
			}
		}
	})
}

// What is at hand is not looked at for nothing.
func TestReadAheadLeavesWarmSamplesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2048
		d := &slowDisk{numbers: numbers{n: n}, ahead: 64, warm: true}
		r, err := diskPipeline(t, Options{BatchSize: 32, Workers: 2}, d).NewRunner(feedtest.Once(n, 32))
		require.NoError(t, err)
		collect(t, r)
		require.NoError(t, r.Close())
		require.GreaterOrEqual(t, len(d.asked), run.AheadAtHand)
		require.LessOrEqual(t, len(d.asked), run.AheadAtHand+n/run.AheadSample+2)
	})
}

// A fetch that hangs holds neither a worker nor, once its context ends, Close.
// Between runs and while the workers are parked nothing is asked for.
func TestReadAheadEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{numbers: numbers{n: 1 << 20}, ahead: 40}
		d.blocking.Store(true)
		p := diskPipeline(t, Options{BatchSize: 8, Workers: 2}, d)
		r, err := p.NewRunner(feedtest.Once(1<<20, 8))
		require.NoError(t, err)
		next := func() {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			b.Release()
		}
		for range 10 {
			next()
		}
		r.Stop()
		require.NoError(t, r.Reset(feedtest.Once(1<<20, 8)))
		d.blocking.Store(false)
		for range 10 {
			next()
		}
		r.Park(t.Context())
		synctest.Wait()
		asked := len(d.asked)
		time.Sleep(time.Hour)
		require.Len(t, d.asked, asked)
		next()
		next()
		synctest.Wait()
		require.Greater(t, len(d.asked), asked)
		d.blocking.Store(true)
		next()
		require.NoError(t, r.Close())
	})
}

func TestReadAheadUnderABudgetAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 96
		d := &slowDisk{numbers: numbers{n: n}, ahead: 33, latency: 5 * work}
		bad := errors.New("bad")
		d.numbers.read = func(_ context.Context, i int64) error {
			if i%7 == 3 {
				return bad
			}
			return nil
		}
		p := diskPipeline(t, Options{BatchSize: 16, Workers: 3, OnError: Skip, MemoryBudget: 1 << 20}, d)
		r, err := p.NewRunner(feedtest.Once(n, 16))
		require.NoError(t, err)
		collect(t, r)
		require.EqualValues(t, 14, r.Bad())
		require.NoError(t, r.Close())
	})
}

// A batch that is held keeps its flight, so that those behind it have the flights in another
// order. What is read ahead stays in the order of the rows, each sample once.
func TestReadAheadWhileABatchIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, batch = 240, 8
		d := &slowDisk{numbers: numbers{n: n}, ahead: 12, latency: 5 * work}
		p := diskPipeline(t, Options{BatchSize: batch, Workers: 1, PrefetchDepth: 3}, d)
		r, err := p.NewRunner(feedtest.Once(n, batch))
		require.NoError(t, err)
		var held *Batch
		for k := range int64(n / batch) {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, k*batch, b.IDs()[0])
			switch {
			case k%5 == 1:
				held = b
				continue
			case k%5 == 4:
				require.Equal(t, (k-3)*batch, held.IDs()[0], "it is not in use for another batch")
				held.Release()
			}
			b.Release()
		}
		require.True(t, slices.IsSorted(d.asked), "in the order of the rows: %v", d.asked)
		require.Equal(t, len(slices.Compact(slices.Clone(d.asked))), len(d.asked), "no sample twice")
		require.Greater(t, len(d.asked), n/2)
		require.NoError(t, r.Close())
	})
}

// panicky is a Prefetcher that panics for every third sample. A sample takes a
// second to read, in which all that is fetched ahead has panicked.
type panicky struct {
	numbers
	mu       sync.Mutex
	panicked map[int64]bool
}

func (p *panicky) ReadAhead() int { return 8 }

func (p *panicky) Prefetch(_ context.Context, index int64) bool {
	if index%3 == 1 {
		p.mu.Lock()
		p.panicked[index] = true
		p.mu.Unlock()
		panic(index)
	}
	return true
}

func (p *panicky) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	time.Sleep(time.Second)
	return p.numbers.Read(ctx, index, out)
}

// panickyMemory is a panicky whose samples can be copied many at a time.
type panickyMemory struct {
	*panicky
	asked *atomic.Int64 // samples
}

func (p panickyMemory) Gathers() bool { return true }

func (p panickyMemory) Gather(index []int64, out []datum.Rows) bool {
	time.Sleep(time.Second)
	p.asked.Add(int64(len(index)))
	for i, x := range index {
		datum.View[int32](out[0].Data)[i] = int32(x)
	}
	return true
}

// A panic of Prefetch fails the sample that it was called for and no other one,
// whatever the workers do meanwhile, and also where they make many samples at a time.
func TestAPanicOfPrefetchFailsItsSample(t *testing.T) {
	const batch, batches = 16, 4
	for _, workers := range []int{1, 2, 5, -1, -2} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			s := &panicky{numbers: numbers{n: batch * batches}, panicked: map[int64]bool{}}
			src := datum.Source(s)
			if workers < 0 {
				workers, src = -workers, panickyMemory{s, &asked}
				defer func() { require.Positive(t, asked.Load()) }()
			}
			p, err := New(Options{BatchSize: batch, Workers: workers, OnError: Skip}, func(g *Graph) { g.Output("x", g.Read(ReaderOptions{}, src)[0]) })
			require.NoError(t, err)
			r, err := p.NewRunner(feedtest.Once(batch*batches, batch))
			require.NoError(t, err)
			failed := map[int64]bool{}
			for range batches {
				b, err := r.Next(t.Context())
				require.NoError(t, err)
				for row, err := range b.Errors() {
					require.Equal(t, err == nil, b.Mask()[row])
					if err == nil {
						require.EqualValues(t, b.IDs()[row], b.Int32s("x")[row])
					}
					if err != nil {
						var panicked *PanicError
						require.ErrorAs(t, err, &panicked)
						require.Equal(t, err.Index, panicked.Value)
						failed[err.Index] = true
					}
				}
				b.Release()
			}
			require.NotEmpty(t, failed)
			require.Equal(t, s.panicked, failed)
			require.NoError(t, r.Close())
		})
	}
}
