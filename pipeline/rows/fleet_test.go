package rows_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/rows"
	"github.com/planktonml/plankton/pipeline/stats"
)

// fleet is workers that are not there: they take the time that rows would take, on the clock of
// a synctest bubble, and make squares of samples. Each has a cache, which keeps what it has when
// it is full.
type fleet struct {
	workers int
	samples int
	cache   int           // samples of a worker; 0 for none
	hit     time.Duration // a row takes, if its sample is in the cache
	miss    time.Duration // else
	trip    time.Duration // of a request
	cores   int           // rows that a worker makes at once
	queue   int           // requests that a worker takes at once
	local   int           // workers of a training program
	depth   int           // batches that a training program has made ahead
	lanes   int           // requests that a training program has in flight to each worker
	shard   int           // samples of a shard, which are read in order; 0 for samples that are shuffled
	hello   string        // the process that answers first in each lane; none is the worker's own

	plan rows.Plan
	look func(stats.Run) // at the statistics after each batch and at the end; may be nil

	made  atomic.Int64 // rows that the training programs made themselves
	mu    sync.Mutex
	nodes []*node
}

// node is one worker of a fleet.
type node struct {
	f            *fleet
	name         string
	cores        chan struct{}
	mu           sync.Mutex
	has          map[int64]bool
	hits, misses int
	requests     int
	most         int           // rows of a request
	asked, ended int           // rows, and those of requests that were ended before they were made
	busy, at     int           // requests that were turned away, and those at work
	breaks       int           // a request breaks when so many rows of all have been made, and again; 0 never
	made         int           // rows
	freezes      int           // it sends nothing when it has made so many rows; 0 never
	slow         time.Duration // is added to each row
}

func (f *fleet) Check() error { return nil }

func (f *fleet) Plan() rows.Plan { return f.plan }

func (f *fleet) node(i int) *node {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.nodes) <= i {
		f.nodes = append(f.nodes, &node{f: f, name: fmt.Sprint("process ", len(f.nodes)), cores: make(chan struct{}, f.cores), has: map[int64]bool{}})
	}
	return f.nodes[i]
}

// Open has some requests in flight to each worker, and asks a worker that has no time again, as
// package remote does.
func (f *fleet) Open(ctx context.Context, house rows.House, _ bool) (func(), error) {
	return func() {
		var group sync.WaitGroup
		for i := range f.workers {
			for range f.lanes {
				group.Go(func() {
					for ctx.Err() == nil {
						if err := house.Lane(ctx, fmt.Sprint("worker ", i), cmp.Or(f.hello, f.node(i).name), f.node(i)); err == errBusy {
							time.Sleep(20 * time.Millisecond)
						} else if f.node(i).frozen() { // it would answer no hello
							<-ctx.Done()
						}
					}
				})
			}
		}
		group.Wait()
	}, nil
}

var errBusy = errors.New("busy")

// work is the time that a row takes, and keeps its sample.
func (n *node) work(id int64) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.has[id] {
		n.hits++
		return n.f.hit + n.slow
	}
	n.misses++
	if len(n.has) < n.f.cache {
		n.has[id] = true
	}
	return n.f.miss + n.slow
}

func (n *node) Make(ctx context.Context, q *rows.Request, a rows.Answer) error {
	time.Sleep(n.f.trip)
	n.mu.Lock()
	n.requests++
	n.most = max(n.most, len(q.Keys))
	n.asked += len(q.Keys)
	n.at++
	busy := n.at > n.f.queue
	if busy {
		n.busy++
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.at--
		n.mu.Unlock()
	}()
	if busy {
		return errBusy
	}
	if err := a.From(n.name); err != nil {
		return err
	}
	open := len(q.Keys)
	defer func() {
		if ctx.Err() != nil {
			n.mu.Lock()
			n.ended += open
			n.mu.Unlock()
		}
	}()
	for i, k := range q.Keys {
		n.cores <- struct{}{}
		time.Sleep(n.work(k.IDs[0]))
		<-n.cores
		if err := ctx.Err(); err != nil {
			return err
		}
		row := a.Row(i)
		if row == nil {
			continue
		}
		to, err := row.Value(datum.Int64, "", []int{})
		if err != nil {
			return err
		}
		if n.frozen() {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if n.broken() {
			return io.ErrUnexpectedEOF
		}
		binary.LittleEndian.PutUint64(to, uint64(k.IDs[0]*k.IDs[0]))
		row.End()
		open--
	}
	return nil
}

// broken counts a row, and reports whether the request breaks with it.
func (n *node) broken() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	return n.breaks > 0 && n.made%n.breaks == 0
}

// frozen reports whether the worker sends nothing.
func (n *node) frozen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.freezes > 0 && n.made >= n.freezes
}

// numbers is so many samples, from 0.
type numbers int64

func (n numbers) Len() int64            { return int64(n) }
func (n numbers) Outputs() []datum.Spec { return []datum.Spec{{DType: datum.Int64, Shape: []int{}}} }
func (n numbers) Meta() datum.Meta      { return datum.Meta{} }

func (n numbers) Describe(i int64) string { return fmt.Sprint("number ", i) }

func (n numbers) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	b, err := out[0].Resize()
	if err == nil {
		datum.View[int64](b)[0] = i
	}
	return err
}

// inShards is numbers in shards.
type inShards struct {
	numbers
	size int
}

func (s inShards) ShardEnds() (ends []int64) {
	for end := 0; end < int(s.numbers); {
		end = min(int(s.numbers), end+s.size)
		ends = append(ends, int64(end))
	}
	return ends
}

// run has so many epochs made by the fleet, and returns the rows of a second in the last one. The
// error is that of the run, or a row that is another one than was asked for.
func (f *fleet) run(ctx context.Context, seed uint64, batch, epochs int) (rate float64, err error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Workers: f.local, PrefetchDepth: f.depth, Seed: seed, Remote: f}, func(g *pipeline.Graph) {
		var source datum.Source = numbers(f.samples)
		if f.shard > 0 {
			source = inShards{numbers(f.samples), f.shard}
		}
		x := g.Read(pipeline.ReaderOptions{Shuffle: f.shard == 0}, source)[0]
		g.Output("squares", g.Add(pipeline.Op{
			Name: "square", Inputs: []pipeline.Value{x}, Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{}}}, Expensive: true,
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					b, err := out[0].Resize()
					time.Sleep(f.miss)
					f.made.Add(1)
					if err == nil {
						v := in[0].Int64s()[0]
						datum.View[int64](b)[0] = v * v
					}
					return err
				}), nil
			},
		})[0])
	})
	if err != nil {
		return 0, err
	}
	l, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, l.Close()); f.look != nil {
			f.look(p.Stats())
		}
	}()
	n, counted, began := 0, 0, time.Now()
	for b, err := range l.Epochs(ctx, epochs) {
		if err != nil {
			return 0, err
		}
		for i, id := range b.IDs() {
			if b.Mask()[i] && b.Int64s("squares")[i] != id*id {
				return 0, fmt.Errorf("the square of %d is %d", id, b.Int64s("squares")[i])
			}
		}
		if f.look != nil {
			f.look(p.Stats())
		}
		if n += b.NumValid(); b.Epoch() == int64(epochs)-1 && counted == 0 {
			counted, began = n, time.Now()
			f.share() // from here on
		}
	}
	return float64(n-counted) / time.Since(began).Seconds(), nil
}

// share returns the share of rows whose sample was in a cache, since the last call.
func (f *fleet) share() float64 {
	hits, all := 0, 0
	for i := range f.workers {
		n := f.node(i)
		n.mu.Lock()
		hits, all = hits+n.hits, all+n.hits+n.misses
		n.hits, n.misses = 0, 0
		n.mu.Unlock()
	}
	return float64(hits) / float64(max(1, all))
}

// Four workers that can each keep a quarter of the data together keep all of it, if rows go to
// those that own their blocks, and nearly all rows are in a cache where each has a tenth more room, for what it has made for others and
// since hashes do not share evenly; and where nobody has a cache, or all rows have one owner, little is lost by it.
func TestFourCachesHoldAllOfTheData(t *testing.T) {
	const near = 200 * time.Microsecond
	for name, c := range map[string]struct {
		cache         int
		hit, slow     time.Duration // slow is added to the rows of one of the workers
		least, better float64       // share of hits and rate against that without routing
		shard         int
		trip          time.Duration
	}{
		"caches":                                {*fleetSamples / 4, time.Millisecond, 0, 0.75, 1.8, 0, near},
		"caches with a tenth more room":         {*fleetSamples * 11 / 40, time.Millisecond, 0, 0.93, 1.8, 0, near},
		"caches, and one three times slower":    {*fleetSamples / 4, time.Millisecond, 2 * time.Millisecond, 0.5, 1.2, 0, near},
		"no caches":                             {0, time.Millisecond, 0, 0, 0.7, 0, near},
		"no caches, and one three times slower": {0, time.Millisecond, 8 * time.Millisecond, 0, 0.7, 0, near},
		"caches, shards in order":               {*fleetSamples / 4, time.Millisecond, 0, 0, 0.7, *fleetSamples / 4, near},
		"caches, shards in order, far away":     {*fleetSamples / 4, time.Millisecond, 0, 0, 0.7, *fleetSamples / 4, 20 * time.Millisecond},
		"no caches, shards in order, far away":  {0, time.Millisecond, 0, 0, 0.7, *fleetSamples / 4, 20 * time.Millisecond},
	} {
		shares, rates := map[bool]float64{}, map[bool]float64{}
		for _, cached := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{
					workers: 4, samples: *fleetSamples, cache: c.cache, hit: c.hit, miss: 4 * time.Millisecond, trip: c.trip, cores: 1, queue: 32, lanes: 4, shard: c.shard, local: 1, depth: 2,
					plan: rows.Plan{Lanes: 16, Rows: 16, Only: true, Patience: time.Second, Cached: cached},
				}
				f.node(0).slow = c.slow
				var err error
				rates[cached], err = f.run(t.Context(), 1, 64, 3)
				require.NoError(t, err)
				shares[cached] = f.share()
			})
		}
		t.Logf("%s: hits %.3f, unrouted %.2f; rate %.2f of unrouted", name, shares[true], shares[false], rates[true]/rates[false])
		require.GreaterOrEqual(t, shares[true], c.least, name)
		require.GreaterOrEqual(t, rates[true], c.better*rates[false], name)
	}
}

// A request has more rows than the first ones when the pace of its worker is known: also where a worker
// has one request in flight, and where lanes take turns and another process said hello.
func TestRequestsGrow(t *testing.T) {
	for name, c := range map[string]struct {
		lanes, seats int
		hello        string
	}{
		"one request at once":                    {1, 8, ""},
		"turns":                                  {4, 2, ""},
		"turns, another process behind the name": {4, 2, "another process"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{
				workers: 2, samples: 3200, miss: time.Millisecond, trip: 200 * time.Microsecond, cores: 1, queue: 32, lanes: c.lanes, hello: c.hello, local: 1, depth: 2,
				plan: rows.Plan{Lanes: c.seats, Rows: 16, Only: true, Patience: time.Second},
			}
			_, err := f.run(t.Context(), 1, 64, 2)
			require.NoError(t, err)
			for _, n := range f.nodes {
				require.Greater(t, n.most, 4, name) // those that a lane asks for first
			}
		})
	}
}

// Most rows of an epoch's last batch may have no sample. Who took nothing but such rows has none in hand any
// more, and the next iteration may have begun; the race detector sees who looks at it all the same.
func TestShortEpochs(t *testing.T) {
	for _, cached := range []bool{false, true} {
		f := &fleet{
			workers: 2, samples: 9, cores: 2, queue: 32, lanes: 2, local: 2, depth: 2,
			plan: rows.Plan{Lanes: 4, Rows: 2, Patience: time.Second, Cached: cached},
		}
		_, err := f.run(t.Context(), 1, 8, 100)
		require.NoError(t, err)
	}
}

var (
	fleetWorkers  = flag.Int("rows.workers", 20, "workers of TestFleet")
	fleetTrainers = flag.Int("rows.trainers", 2, "training programs of TestFleet")
	fleetBatch    = flag.Int("rows.batch", 64, "batch of TestFleet")
	fleetDepth    = flag.Int("rows.depth", 2, "prefetch depth of TestFleet")
	fleetSamples  = flag.Int("rows.samples", 1600, "samples of TestFleet and TestFourCachesHoldAllOfTheData")
	fleetLanes    = flag.Int("rows.lanes", 4, "requests of a training program to each worker in TestFleet")
	fleetEpochs   = flag.Int("rows.epochs", 2, "epochs of TestFleet")
)

// Many training programs share many workers: the batches are right, all workers are asked, and the
// log says what the workers had to do (docs/remote.md has it for a thousand of them).
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{
			workers: *fleetWorkers, samples: *fleetSamples, hit: time.Millisecond, miss: 4 * time.Millisecond, trip: 200 * time.Microsecond, cores: 4, queue: 32, lanes: *fleetLanes,
			local: 8, depth: *fleetDepth, plan: rows.Plan{Lanes: 256, Rows: 16, Only: true, Patience: 100 * time.Millisecond, Audit: 400, Cached: true},
		}
		f.cache = f.samples * 11 / 10 / f.workers
		errs, rates := make([]error, *fleetTrainers), make([]float64, *fleetTrainers)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { rates[i], errs[i] = f.run(t.Context(), uint64(i), *fleetBatch, *fleetEpochs) })
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
		asked, requests, busy := 0, 0, 0
		for _, n := range f.nodes {
			requests, busy = requests+n.requests, busy+n.busy
			if n.requests > 0 {
				asked++
			}
		}
		rate := 0.0
		for _, r := range rates {
			rate += r
		}
		t.Logf("%d workers, %d training programs: %.0f rows/s of %.0f from caches; %.1f rows a request, %d of %d requests turned away, %d workers asked, hits %.2f",
			f.workers, len(rates), rate, float64(f.workers*f.cores)/f.hit.Seconds(), float64(*fleetTrainers**fleetEpochs*f.samples)/float64(requests-busy), busy, requests, asked, f.share())
		require.Positive(t, asked)
	})
}
