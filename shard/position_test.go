package shard

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

func TestResumeSameWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := mustNew(t, drawConfig(t, 200))
		epoch := rapid.Int64Range(0, 9).Draw(t, "epoch")
		step := rapid.Int64Range(0, p.Len(epoch)).Draw(t, "step")
		q, err := p.Resume(p.Position(epoch, step))
		require.NoError(t, err)
		e, s := q.Start()
		require.Equal(t, read(p, epoch, step, p.Len(epoch)), read(q, epoch, step, q.Len(epoch)))
		require.Equal(t, read(p, epoch+1, 0, p.Len(0)), read(q, epoch+1, 0, q.Len(0)))
		if step > 0 && step == p.Len(epoch) {
			require.Equal(t, [2]int64{epoch + 1, 0}, [2]int64{e, s})
		} else {
			require.Equal(t, [2]int64{epoch, step}, [2]int64{e, s})
		}
	})
}

// world draws ranks and batch. By step the global batch stays the same in half
// of the draws.
func world(t *rapid.T, cfg Config, name string) Config {
	cfg.Shards = rapid.IntRange(1, 9).Draw(t, name+" shards")
	if cfg.Partition == ByStep && rapid.Bool().Draw(t, name+" same global batch") {
		cfg.Shards, cfg.Batch = cfg.Batch, cfg.Shards
	} else {
		cfg.Batch = rapid.IntRange(1, 9).Draw(t, name+" batch")
	}
	return cfg
}

// TestResumeOtherWorlds runs an epoch through several worlds, each stopped after
// some steps, with the position stored as JSON in between.
func TestResumeOtherWorlds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, 300)
		p := mustNew(t, cfg)
		epoch := rapid.Int64Range(0, 5).Draw(t, "epoch")
		var ids []int64
		step := int64(0)
		for i := range rapid.IntRange(0, 4).Draw(t, "changes") {
			if p.Steps(epoch)-step < 1 {
				break
			}
			to := rapid.Int64Range(step, p.Steps(epoch)-1).Draw(t, "stop")
			ids = append(ids, read(p, epoch, step, to)...)
			stored, err := json.Marshal(p.Position(epoch, to))
			require.NoError(t, err)
			var pos Position
			require.NoError(t, json.Unmarshal(stored, &pos))

			next := mustNew(t, world(t, cfg, string(rune('a'+i))))
			p, err = next.Resume(pos)
			require.NoError(t, err)
			var e int64
			e, step = p.Start()
			require.Equal(t, epoch, e)
			require.Equal(t, read(next, epoch+1, 0, next.Len(epoch+1)), read(p, epoch+1, 0, p.Len(epoch+1)), "the next epoch is a plain one")
		}
		ids = append(ids, read(p, epoch, step, p.Steps(epoch))...)
		checkPolicy(t, cfg, ids)
		if cfg.Policy == Drop {
			require.Less(t, cfg.Samples-int64(len(ids)), int64(p.cfg.Shards*p.cfg.Batch+p.cfg.Shards), "drops more than the last batches")
		}
	})
}

func TestResumeKeepsGlobalBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, 500)
		cfg.Partition, cfg.StickToShard = ByStep, false
		sameGlobalBatches(t, cfg, func(want, got []int64) { require.Equal(t, want, got) })
	})
}

// TestRepartitionForSameWorld states why nothing has to be listed: what is left
// of shards is cut where the shards were.
func TestRepartitionForSameWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, 200)
		cfg.Policy = Partial
		p := mustNew(t, cfg)
		if p.Len(2) < 2 {
			t.Skip("too short to be stopped")
		}
		stop := rapid.Int64Range(1, p.Len(2)-1).Draw(t, "stop")
		q := *p
		q.rest = p.rest.read(p, 2, Phase{cfg.Shards, cfg.Batch, stop})
		require.Equal(t, p.Len(2)-stop, q.Len(2))
		for step := range q.Len(2) {
			require.Equal(t, read(p, 2, stop+step, stop+step+1), read(&q, 2, step, step+1))
		}
	})
}

func TestResumeRefuses(t *testing.T) {
	p := mustNew(t, Config{Samples: 100, Batch: 5, Shards: 4}) // 5 steps
	dali := mustNew(t, Config{Samples: 100, Batch: 5, Shards: 4, Mode: DALI, Policy: Fill})
	for _, c := range []struct {
		plan  *Plan
		pos   Position
		field string
	}{
		{p, Position{}, "Phases"},
		{p, Position{Epoch: -1, Phases: []Phase{{4, 5, 1}}}, "Epoch"},
		{p, Position{Epoch: math.MaxInt64, Phases: []Phase{{4, 5, 1}}}, "Epoch"},
		{p, Position{Phases: []Phase{{4, 5, 6}}}, "Phases[0].Steps"},
		{p, Position{Phases: []Phase{{4, 5, -1}}}, "Phases[0].Steps"},
		{p, Position{Phases: []Phase{{0, 5, 1}}}, "Phases[0]"},
		{p, Position{Phases: []Phase{{4, 0, 1}}}, "Phases[0]"},
		{p, Position{Phases: []Phase{{4, 5, 5}, {2, 5, 1}}}, "Phases[0].Steps"},
		{p, Position{Phases: []Phase{{4, 5, 3}, {2, 5, 5}}}, "Phases[1].Steps"},
		{dali, Position{Phases: []Phase{{2, 5, 1}}}, "Phases[0]"},
		{dali, Position{Phases: []Phase{{4, 6, 1}}}, "Phases[0]"},
		{dali, Position{Phases: []Phase{{4, 5, 1}, {4, 5, 1}}}, "Phases"},
		{dali, Position{Epoch: MaxDALIEpochs, Phases: []Phase{{4, 5, 1}}}, "Epoch"},
	} {
		_, err := c.plan.Resume(c.pos)
		var posErr *PositionError
		require.ErrorAs(t, err, &posErr, "%+v", c.pos)
		require.Equal(t, c.field, posErr.Field)
		require.NotContains(t, err.Error(), "%!")
	}
}

func TestResumeDALI(t *testing.T) {
	p := mustNew(t, Config{Samples: 31, Batch: 4, Shards: 3, Mode: DALI, Policy: Fill})
	q, err := p.Resume(p.Position(7, 1))
	require.NoError(t, err)
	e, s := q.Start()
	require.Equal(t, [2]int64{7, 1}, [2]int64{e, s})
	require.Equal(t, read(p, 7, 1, p.Steps(7)), read(q, 7, 1, q.Steps(7)))
}

func TestFingerprint(t *testing.T) {
	cfg := Config{Samples: 100, Batch: 5, Shards: 4, Shuffle: true, Seed: 7}
	p := mustNew(t, cfg)
	require.Equal(t, "plan/1 samples=100 policy=partial mode=exact partition=shard pad_last_batch=false stick_to_shard=false "+
		"shuffle=true seed=7 block=0 size=0 last_batch_padded=false pipes=[]", p.Fingerprint())
	require.NoError(t, p.CheckFingerprint(p.Fingerprint()))

	cfg.Shards, cfg.Batch = 2, 10
	require.NoError(t, mustNew(t, cfg).CheckFingerprint(p.Fingerprint()), "the world may change")

	for field, change := range map[string]func(*Config){
		"samples":        func(c *Config) { c.Samples++ },
		"policy":         func(c *Config) { c.Policy = Fill },
		"partition":      func(c *Config) { c.Partition = ByStep },
		"pad_last_batch": func(c *Config) { c.PadLastBatch = true },
		"stick_to_shard": func(c *Config) { c.StickToShard = true },
		"shuffle":        func(c *Config) { c.Shuffle = false },
		"seed":           func(c *Config) { c.Seed = 8 },
		"block":          func(c *Config) { c.Block = 8 },
		"block_group":    func(c *Config) { c.BlockGroup, c.BlockEnds = 2, []int64{1, 100} },
	} {
		other := cfg
		change(&other)
		err := mustNew(t, other).CheckFingerprint(p.Fingerprint())
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, field, mismatch.Field)
		require.Contains(t, err.Error(), "its "+field+" is ")
	}

	var mismatch *MismatchError
	require.ErrorAs(t, p.CheckFingerprint(strings.Replace(p.Fingerprint(), "plan/1", "plan/2", 1)), &mismatch)
	require.Equal(t, "version", mismatch.Field)
	for edited, field := range map[string]string{
		"": "version", "plan/1": "fingerprint", "plan/1 size=100": "fingerprint", p.Fingerprint()[:40]: "mode", p.Fingerprint() + " more=1": "more",
	} {
		require.ErrorAs(t, p.CheckFingerprint(edited), &mismatch, edited)
		require.Equal(t, field, mismatch.Field, edited)
	}
}

func TestResumeCostsTheSameAnywhere(t *testing.T) {
	p := mustNew(t, Config{Samples: 1e9, Batch: 256, Shards: 3, Shuffle: true})
	for _, step := range []int64{0, 1_000_000} {
		pos := p.Position(0, step)
		allocs := alloctest.PerRound(10, func() {
			q, err := p.Resume(pos)
			if err != nil || q.Valid(0, step, 2) != 256 {
				t.Fatal("cannot resume")
			}
		})
		require.LessOrEqual(t, allocs, 3.0)
	}
}

func TestNoAllocations(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Shuffle: true},
		{Shuffle: true, StickToShard: true},
		{Shuffle: true, Block: 4096},
		{Shuffle: true, Block: 4096, BlockGroup: 50},
		{Shuffle: true, BlockEnds: []int64{1, 5e8, 1e9}, BlockGroup: 2},
		{Partition: ByStep, Policy: Fill, Shuffle: true},
		{Mode: DALI},
	} {
		cfg.Samples, cfg.Batch, cfg.Shards = 1e9, 256, 8
		p := mustNew(t, cfg)
		ids := make([]int64, 0, 256)
		p.Len(2)
		alloctest.None(t, 100, func() {
			ids = p.AppendBatch(ids[:0], 2, 77, 3)
			if _, ok := p.Sample(2, 77, 3, 5); !ok {
				t.Fatal("no sample")
			}
		}, cfg)
		require.Len(t, ids, 256)
	}
}
