package lookahead

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/storage"
)

// following ranges over the epochs of a plan, in batches of its one rank.
func following(t *testing.T, c shard.Config, epochs int64) iter.Seq[datum.Coming] {
	t.Helper()
	c.Shards = 1
	plan, err := shard.New(c)
	require.NoError(t, err)
	return func(yield func(datum.Coming) bool) {
		place := int64(0)
		for epoch := range epochs {
			for step := range plan.Steps(epoch) {
				groups := plan.AppendShuffleGroups(nil, epoch, step, 0)
				for row, id := range plan.AppendBatch(nil, epoch, step, 0) {
					if !yield(datum.Coming{Place: place, Index: id, Epoch: epoch, Group: groups[row]}) {
						return
					}
					place++
				}
			}
		}
	}
}

// readAll reads all that comes, one after the other, and reports the counts.
func readAll(t *testing.T, s *store, o Options, coming iter.Seq[datum.Coming], each func(place int64)) storage.LookAhead {
	t.Helper()
	o.Place = s
	run, err := Start(t.Context(), o, coming)
	require.NoError(t, err)
	defer run.Close()
	for c := range coming {
		r := o.Samples.AppendRanges(nil, c.Index)[0]
		dst := make([]byte, r.Length)
		held, err := run.Read(t.Context(), c.Place, c.Index, r.Offset, dst)
		require.NoError(t, err)
		if held {
			require.Equal(t, bytesOf(o.Samples.Object(r.Object), r.Offset, r.Length), dst)
		}
		run.Done(c.Place, c.Place+1)
		each(c.Place)
	}
	run.Close()
	return s.counts
}

// Shards that are shuffled in groups are fetched whole, each once in an epoch, in requests of
// 4 MiB at most; and so are those that are read in order. All other samples are one request each,
// but for neighbours.
func TestRequestsOfAnEpoch(t *testing.T) {
	const objects, each, size, gap = 20, 50, 900, 100
	all := evenly(objects, each, size, gap)
	for name, c := range map[string]struct {
		config shard.Config
		want   int64
	}{
		"groups":   {shard.Config{Shuffle: true, Block: each, BlockGroup: 5}, objects},
		"blocks":   {shard.Config{Shuffle: true, Block: each}, objects},
		"in order": {shard.Config{}, objects + 3}, // a quarter of the memory at a time
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Samples, c.config.Batch = objects*each, 16
			s := &store{}
			counts := readAll(t, s, Options{Samples: all, Bytes: 1200 << 10, Requests: 8}, following(t, c.config, 3), func(int64) {})
			require.EqualValues(t, 3*c.want, counts.Requests)
			require.EqualValues(t, 3*objects*each, counts.Hits)
			require.Zero(t, counts.Misses)
			require.EqualValues(t, 3*objects*each*size, counts.BytesNeeded)
			require.Greater(t, counts.BytesFetched, counts.BytesNeeded)
			require.LessOrEqual(t, counts.BytesFetched, int64(3*objects*(each*size+(each-1)*gap)))
			require.LessOrEqual(t, s.most, 8)
		})
	}
}

// Where memory is short requests are small, and a group that does not fit is read all the same.
func TestShortMemory(t *testing.T) {
	all := evenly(4, 100, 1000, 0)
	config := shard.Config{Samples: 400, Batch: 7, Shuffle: true, Block: 100, BlockGroup: 4}
	for _, memory := range []int64{4 << 10, 64 << 10, 256 << 10} {
		counts := readAll(t, &store{}, Options{Samples: all, Bytes: memory, Requests: 4}, following(t, config, 2), func(int64) {})
		require.EqualValues(t, 800, counts.Hits+counts.Misses)
	}
}

// A loop that takes 3,000 samples a second from a store that answers after 30 ms waits for the
// first request, and never again: not within groups, from one to the next, nor at the end of an
// epoch.
func TestNeverLate(t *testing.T) {
	for name, config := range map[string]shard.Config{
		"groups": {Shuffle: true, Block: 100, BlockGroup: 10}, "full shuffle": {Shuffle: true}, "in order": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config.Samples, config.Batch = 5000, 64
				s := &store{latency: 30 * time.Millisecond}
				began := time.Now()
				counts := readAll(t, s, Options{Samples: evenly(50, 100, 700, 100), Bytes: 2 << 20, Requests: 256}, following(t, config, 3), func(int64) { time.Sleep(time.Second / 3000) })
				require.Equal(t, s.latency+15_000*(time.Second/3000), time.Since(began))
				require.Equal(t, 30*time.Millisecond, counts.Waited)
				require.EqualValues(t, 15_000, counts.Hits)
			})
		})
	}
}

// No more than the rest of an epoch and the next one are fetched, however much memory there is.
func TestNoFurtherThanAnEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		all := evenly(1, 10, 100, 0)
		run, err := Start(t.Context(), Options{Place: s, Samples: all, Bytes: 1 << 20, Requests: 8}, following(t, shard.Config{Samples: 10, Batch: 5}, 100))
		require.NoError(t, err)
		defer run.Close()
		read := func(place int64) {
			held, err := run.Read(t.Context(), place, place%10, place%10*100, make([]byte, 100))
			require.NoError(t, err)
			require.True(t, held)
			synctest.Wait()
		}
		synctest.Wait()
		require.Len(t, s.asked, 1)
		read(0)
		require.Len(t, s.asked, 2)
		for place := int64(1); place < 10; place++ {
			read(place)
		}
		require.Len(t, s.asked, 2)
		read(10)
		require.Len(t, s.asked, 3)
		run.Done(0, 20) // also rows that nobody has read
		synctest.Wait()
		require.Len(t, s.asked, 3)
		run.Done(20, 25)
		synctest.Wait()
		require.Len(t, s.asked, 4)
	})
}

// A place gives its range once. What is read again, another sample than the planned one, and
// another part of it are read from the store.
func TestAPlaceGivesItsRangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, err := Start(t.Context(), Options{Place: &store{}, Samples: evenly(1, 10, 100, 0), Bytes: 1 << 20, Requests: 8}, following(t, shard.Config{Samples: 10, Batch: 5}, 1))
		require.NoError(t, err)
		defer run.Close()
		for _, c := range []struct {
			place, sample, off int64
			n                  int
			held               bool
		}{
			{3, 4, 300, 100, false}, {3, 3, 301, 99, false}, {3, 3, 300, 99, false},
			{3, 3, 300, 100, true}, {3, 3, 300, 100, false}, {2, 2, 200, 100, true}, {10, 0, 0, 100, false}, {-1, 0, 0, 100, false},
		} {
			held, err := run.Read(t.Context(), c.place, c.sample, c.off, make([]byte, c.n))
			require.NoError(t, err)
			require.Equal(t, c.held, held, "%+v", c)
		}
	})
}

// A request that fails takes no sample with it that can be read, unless the store cannot be read
// at all.
func TestRequestsThatFail(t *testing.T) {
	for _, c := range []struct {
		fail error
		want error
	}{{errStore, nil}, {fmt.Errorf("away: %w", storage.ErrUnavailable), storage.ErrUnavailable}} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{fault: func(asked) error { return c.fail }}
			run, err := Start(t.Context(), Options{Place: s, Samples: evenly(1, 10, 100, 0), Bytes: 1 << 20, Requests: 8}, following(t, shard.Config{Samples: 10, Batch: 5}, 1))
			require.NoError(t, err)
			defer run.Close()
			held, err := run.Read(t.Context(), 0, 0, 0, make([]byte, 100))
			require.Equal(t, c.want != nil, held)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// Close ends what is under way at once, whatever reads wait for.
func TestCloseInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		run, err := Start(ctx, Options{Place: &store{latency: time.Hour}, Samples: evenly(100, 10, 1000, 0), Bytes: 64 << 10, Requests: 64}, following(t, shard.Config{Samples: 1000, Batch: 5, Shuffle: true}, 9))
		require.NoError(t, err)
		began := time.Now()
		var reads sync.WaitGroup
		for place := range int64(8) {
			reads.Go(func() {
				_, err := run.Read(ctx, place, 0, 0, make([]byte, 1000))
				_ = err
			})
		}
		synctest.Wait()
		cancel()
		run.Close()
		reads.Wait()
		require.Zero(t, time.Since(began))
		run.Close() // twice is no error
	})
}

// Memory that there is not is an error of Start.
func TestMemoryThatThereIsNot(t *testing.T) {
	_, err := Start(t.Context(), Options{Place: &store{}, Samples: samples{}, Bytes: 1 << 60, Requests: 1}, func(func(datum.Coming) bool) {})
	require.ErrorContains(t, err, "bytes of memory to look ahead")
}

// A read of what was fetched allocates nothing.
func TestReadAllocatesNothing(t *testing.T) {
	const n = 2000
	run, err := Start(t.Context(), Options{Place: &store{}, Samples: evenly(1, n, 100, 0), Bytes: 2 << 20, Requests: 1}, following(t, shard.Config{Samples: n, Batch: 5}, 1))
	require.NoError(t, err)
	defer run.Close()
	dst := make([]byte, 100)
	held, err := run.Read(t.Context(), n-1, n-1, 100*(n-1), dst) // the last one: all were fetched with it
	require.NoError(t, err)
	require.True(t, held)
	place := int64(0)
	alloctest.None(t, n/5, func() {
		held, err = run.Read(t.Context(), place, place, 100*place, dst)
		run.Done(place, place+1)
		place++
	})
	require.NoError(t, err)
	require.True(t, held)
}
