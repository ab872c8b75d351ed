package shard

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDALIRecorded holds a few epochs that DALI 2.4.0 returned, per rank, and
// with them its anomalies.
func TestDALIRecorded(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   Config
		lens  string
		ranks []string // of the first epochs, divided by |
	}{
		{"fill carries on", Config{Samples: 7, Batch: 2, Shards: 1, Policy: Fill}, "4 3 4",
			[]string{"[[0 1] [2 3] [4 5] [6 0]] | [[1 2] [3 4] [5 6]] | [[0 1] [2 3] [4 5] [6 0]]"}},
		{"fill carries on, rotating", Config{Samples: 7, Batch: 2, Shards: 3, Policy: Fill}, "2 1 1",
			[]string{"[[0 1] [2 3]] | [[4 5]] | [[6 0]]", "[[2 3] [4 5]] | [[6 0]] | [[1 2]]", "[[4 5] [6 0]] | [[1 2]] | [[3 4]]"}},
		{"fill with padding", Config{Samples: 7, Batch: 2, Shards: 1, Policy: Fill, PadLastBatch: true}, "4 4",
			[]string{"[[0 1] [2 3] [4 5] [6 6]] | [[0 1] [2 3] [4 5] [6 6]]"}},
		{"drop reads on", Config{Samples: 7, Batch: 2, Shards: 1, Policy: Drop}, "3 3 3",
			[]string{"[[0 1] [2 3] [4 5]] | [[1 2] [3 4] [5 6]] | [[2 3] [4 5] [6 0]]"}},
		{"drop with padding repeats", Config{Samples: 7, Batch: 2, Shards: 3, Policy: Drop, PadLastBatch: true}, "1 1",
			[]string{"[[0 1]] | [[1 1]]", "[[2 3]] | [[3 3]]", "[[4 5]] | [[6 6]]"}},
		{"partial shifts", Config{Samples: 7, Batch: 2, Shards: 2}, "2 2",
			[]string{"[[0 1] [2]] | [[4 5] [6 0]]", "[[3 4] [5 6]] | [[0 1] [2]]"}},
		{"partial sticks", Config{Samples: 7, Batch: 2, Shards: 2, StickToShard: true}, "2 2",
			[]string{"[[0 1] [2]] | [[1 2] [0]]", "[[3 4] [5 6]] | [[3 4] [5 6]]"}},
		{"partial with padding", Config{Samples: 7, Batch: 4, Shards: 3, PadLastBatch: true}, "1 1",
			[]string{"[[0 1]] | [[2 3]]", "[[2 3]] | [[4 5 6]]", "[[4 5 6]] | [[0 1]]"}},
		{"len does not follow a size", Config{Samples: 7, Batch: 2, Shards: 1, Policy: Fill, Size: 7}, "4 4 4",
			[]string{"[[0 1] [2 3] [4 5] [6 0]] | [[1 2] [3 4] [5 6]] | [[0 1] [2 3] [4 5] [6 0]]"}},
		{"a size trims the last pipeline", Config{Samples: 10, Batch: 4, Shards: 2, Size: 10}, "2",
			[]string{"[[0 1 2 3] [4 5]]", "[[5 6 7 8]]"}},
	} {
		c.cfg.Mode = DALI
		p := mustNew(t, c.cfg)
		lens := ""
		ranks := make([]string, c.cfg.Shards)
		for e := range int64((len(c.lens) + 1) / 2) {
			sep := ""
			if e > 0 {
				sep = " | "
				lens += " "
			}
			lens += fmt.Sprint(p.Len(e))
			for r := range ranks {
				ranks[r] += sep + fmt.Sprint(batches(p, e, r))
			}
		}
		require.Equal(t, c.lens, lens, c.name)
		require.Equal(t, c.ranks, ranks, c.name)
	}
}

// slowReader reads one sample after the other, as DALI's reader does without a shuffle.
type slowReader struct {
	cfg      Config
	rank     int
	cursor   int64 // next list position
	shard    int   // that is being read
	returned int64 // of the shard, padding included
	last     int64
}

func newSlowReader(cfg Config, rank int) *slowReader {
	return &slowReader{cfg: cfg, rank: rank, shard: rank, cursor: cfg.Samples * int64(rank) / int64(cfg.Shards)}
}

func (r *slowReader) next(firstOfBatch bool) int64 {
	n, s := r.cfg.Samples, int64(r.cfg.Shards)
	from, to := n*int64(r.shard)/s, n*int64(r.shard+1)/s
	if r.returned >= to-from {
		if r.cfg.PadLastBatch && (r.returned < (n+s-1)/s || !firstOfBatch) {
			r.returned++
			return r.last
		}
		r.returned = 0
		if r.cfg.StickToShard {
			r.cursor = from
		} else {
			r.shard = (r.shard + 1) % r.cfg.Shards
			r.cursor = n * int64(r.shard) / s
		}
	}
	r.returned++
	r.last = r.cursor
	r.cursor++
	return r.last
}

func TestDALIReaderStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Samples: rapid.Int64Range(1, 40).Draw(t, "samples"), Batch: rapid.IntRange(1, 9).Draw(t, "batch"), Mode: DALI, Policy: Fill,
			PadLastBatch: rapid.Bool().Draw(t, "pad"), StickToShard: rapid.Bool().Draw(t, "stick"),
		}
		cfg.Shards = rapid.IntRange(1, int(min(cfg.Samples, 6))).Draw(t, "shards")
		rank := rapid.IntRange(0, cfg.Shards-1).Draw(t, "rank")
		r := newSlowReader(cfg, rank)
		for number := range int64(60) {
			b := daliBatch(&cfg, number, rank)
			for row, id := range b.append(nil, &cfg) {
				require.Equal(t, r.next(row == 0), id, "%+v batch %d row %d", cfg, number, row)
			}
		}
	})
}

// TestDALIFinish compares the shortcut to the end of an epoch with single steps.
func TestDALIFinish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawDALI(t)
		quick, slow := newDALIState(&cfg), newDALIState(&cfg)
		for epoch := range 12 {
			steps := int64(0)
			for _, ok := slow.next(); ok; _, ok = slow.next() {
				steps++
			}
			require.Equal(t, steps, quick.steps(), "%+v epoch %d", cfg, epoch)
			quick.finish()
			require.Equal(t, slow, quick)
			require.True(t, quick.reset())
			slow.reset()
		}
	})
}

func drawDALI(t *rapid.T) Config {
	cfg := Config{
		Samples: rapid.Int64Range(1, 40).Draw(t, "samples"), Batch: rapid.IntRange(1, 9).Draw(t, "batch"), Mode: DALI,
		Policy:       rapid.SampledFrom([]Policy{Partial, Fill, Drop}).Draw(t, "policy"),
		PadLastBatch: rapid.Bool().Draw(t, "pad"), StickToShard: rapid.Bool().Draw(t, "stick"),
	}
	cfg.Shards = rapid.IntRange(1, int(min(cfg.Samples, 6))).Draw(t, "shards")
	if rapid.Bool().Draw(t, "size path") {
		cfg.Size = rapid.Int64Range(1, 50).Draw(t, "size")
		cfg.LastBatchPadded = rapid.Bool().Draw(t, "padded")
	}
	return cfg
}

// TestDALICursorIsThePlan loops over whole epochs with a cursor, from a first
// epoch far enough for the plan to have found its cycle.
func TestDALICursorIsThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawDALI(t)
		p := mustNew(t, cfg)
		p.Len(50)
		if p.CheckSteps() != nil {
			_, err := p.Cursor(CursorOptions{PrepareFirstBatch: true})
			require.ErrorIs(t, err, ErrNoSteps)
			return
		}
		c, err := p.Cursor(CursorOptions{PrepareFirstBatch: rapid.Bool().Draw(t, "prepare")})
		require.NoError(t, err)
		for epoch := range int64(40) {
			c.Iter()
			require.Equal(t, p.Len(epoch), c.Len())
			for step := range p.Steps(epoch) {
				d, ok := c.Next()
				require.True(t, ok)
				for rank := range cfg.Shards {
					require.Equal(t, p.AppendBatch(nil, epoch, step, rank), d.AppendBatch(nil, rank), "%+v epoch %d step %d", cfg, epoch, step)
					require.Equal(t, p.Valid(epoch, step, rank), d.Valid(rank))
				}
			}
			_, ok := c.Next()
			require.False(t, ok)
		}
	})
}

func TestDALIShardsOfOtherIterators(t *testing.T) {
	all := mustNew(t, Config{Samples: 23, Batch: 4, Shards: 4, Mode: DALI})
	some := mustNew(t, Config{Samples: 23, Batch: 4, Shards: 4, Mode: DALI, Pipes: []int{3, 1}})
	for epoch := range int64(5) {
		for _, rank := range []int{1, 3} {
			require.Equal(t, batches(all, epoch, rank), batches(some, epoch, rank))
		}
		require.Zero(t, some.Valid(epoch, 0, 0))
	}
}

func TestDALIEndless(t *testing.T) {
	p := mustNew(t, Config{Samples: 5, Batch: 2, Shards: 1, Mode: DALI, Policy: Fill, Size: -1})
	require.Zero(t, p.Len(0))
	require.Equal(t, int64(math.MaxInt64), p.Steps(0))
	require.NoError(t, p.CheckSteps())
	require.Equal(t, []int64{4, 0}, p.AppendBatch(nil, 0, 1_000_002, 0))

	c, err := p.Cursor(CursorOptions{})
	require.NoError(t, err)
	for _, want := range [][]int64{{0, 1}, {2, 3}, {4, 0}} {
		d, ok := c.Next()
		require.True(t, ok)
		require.Equal(t, want, d.AppendBatch(nil, 0))
		require.True(t, c.Reset(), "which changes nothing")
	}
}

func TestDALIFarEpochs(t *testing.T) {
	drop := mustNew(t, Config{Samples: 7, Batch: 2, Shards: 1, Policy: Drop, Mode: DALI})
	require.EqualValues(t, 3, drop.Len(MaxDALIEpochs-1))
	require.Zero(t, drop.Len(MaxDALIEpochs))
	require.False(t, drop.Ended(MaxDALIEpochs-1))
	require.True(t, drop.Ended(MaxDALIEpochs))
	require.False(t, mustNew(t, Config{Samples: 7, Batch: 2, Shards: 1}).Ended(MaxDALIEpochs), "exact plans do not end")
	// 4 batches of every epoch are read, the last is thrown away.
	const epoch = MaxDALIEpochs - 1
	require.Equal(t, []int64{epoch * 8 % 7, (epoch*8 + 1) % 7}, drop.AppendBatch(nil, epoch, 0, 0))
}

func TestDALIConcurrently(t *testing.T) {
	cfg := Config{Samples: 31, Batch: 4, Shards: 3, Mode: DALI, Policy: Fill}
	alone, shared := mustNew(t, cfg), mustNew(t, cfg)
	var wg sync.WaitGroup
	for g := range int64(4) {
		wg.Go(func() {
			for i := range int64(60) {
				epoch := i * (g + 1) % 37
				for step := range shared.Steps(epoch) {
					shared.Valid(epoch, step, int(g)%3)
				}
			}
		})
	}
	wg.Wait()
	for epoch := range int64(37) {
		require.Equal(t, read(alone, epoch, 0, alone.Steps(epoch)), read(shared, epoch, 0, shared.Steps(epoch)))
	}
}

func TestCursorNeedsDALI(t *testing.T) {
	_, err := mustNew(t, Config{Samples: 5, Batch: 2, Shards: 1}).Cursor(CursorOptions{})
	var cfgErr *ConfigError
	require.ErrorAs(t, err, &cfgErr)
	require.Equal(t, "Mode", cfgErr.Field)
}
