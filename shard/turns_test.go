package shard

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// readInTurns reads an epoch by worlds of other sizes in turns, each of which resumes at
// the stored position of the last. It returns the draws that one world reads and those of
// the turns; stopped sees each plan that stops at a step, before the next one goes on.
func readInTurns(t *rapid.T, cfg Config, epoch int64, turns int, stopped func(p *Plan, pos Position, at int64)) (whole, all []drawn) {
	p := mustNew(t, cfg)
	whole = readDrawn(t, p, epoch, 0, p.Steps(epoch))
	p, err := p.Resume(Position{Epoch: epoch, Phases: []Phase{{cfg.Shards, cfg.Batch, 0}}})
	require.NoError(t, err)
	for left := turns; ; left-- {
		_, step := p.Start()
		to := p.Steps(epoch)
		if left > 0 {
			to = rapid.Int64Range(step, to).Draw(t, "to")
		}
		all = append(all, readDrawn(t, p, epoch, step, to)...)
		if to == p.Steps(epoch) {
			return whole, all
		}
		stored, err := json.Marshal(p.Position(epoch, to))
		require.NoError(t, err)
		var pos Position
		require.NoError(t, json.Unmarshal(stored, &pos))
		stopped(p, pos, to)
		next := cfg
		next.Shards, next.Batch = rapid.IntRange(1, 4).Draw(t, "shards"), rapid.IntRange(1, 7).Draw(t, "batch")
		p, err = mustNew(t, next).Resume(pos)
		require.NoError(t, err)
		require.Equal(t, readDrawn(t, mustNew(t, next), epoch+1, 0, 2), readDrawn(t, p, epoch+1, 0, 2), "the next epoch is a plain one")
	}
}

// sameGlobalBatches compares the global batches of twelve samples that one rank reads with
// those of worlds that go on in turns and share them.
func sameGlobalBatches(t *rapid.T, cfg Config, compare func(want, got []int64)) {
	cfg.Batch, cfg.Shards = 12, 1
	whole := mustNew(t, cfg)
	if whole.Len(1) == 0 {
		t.Skip("no steps")
	}
	done, p := int64(0), whole
	for range 4 {
		_, step := p.Start()
		stop := rapid.Int64Range(step, max(step, p.Len(1)-1)).Draw(t, "stop")
		done += stop - step
		other := cfg
		other.Shards = rapid.SampledFrom([]int{1, 2, 3, 4, 6, 12}).Draw(t, "ranks")
		other.Batch = 12 / other.Shards
		var err error
		p, err = mustNew(t, other).Resume(p.Position(1, stop))
		require.NoError(t, err)
		_, step = p.Start()
		require.Equal(t, whole.Len(1)-done, p.Len(1)-step)
		for s := step; s < p.Len(1); s++ {
			compare(read(whole, 1, done+s-step, done+s-step+1), read(p, 1, s, s+1))
		}
	}
}
