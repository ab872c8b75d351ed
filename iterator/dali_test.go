package iterator

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// vector is one recorded run of DALI's iterator.
type vector struct {
	ID                string
	N                 int64
	Batch, Shards     int
	Policy            shard.Policy
	Pad, Stick        bool
	Pipes             []int
	Size              *int64
	LastBatchPadded   bool  `json:"last_batch_padded"`
	AutoReset         any   `json:"auto_reset"`
	PrepareFirstBatch *bool `json:"prepare_first_batch"`
	Shuffle           json.RawMessage
	Error             string
	Script            []string
	Events            []json.RawMessage
	Epochs            []struct {
		Len, Steps int
		Batches    [][][]int64
	}
}

func readVectors(t *testing.T, name string) []vector {
	t.Helper()
	var vs []vector
	require.NoError(t, json.Unmarshal(datatest.Vectors(t, name), &vs))
	require.NotEmpty(t, vs)
	return vs
}

// empty reports whether no epoch had a step. DALI finds that no error unless it
// prepares the first batch.
func (v *vector) empty() bool {
	for _, e := range v.Epochs {
		if e.Steps > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(v.Events, func(e json.RawMessage) bool { return strings.HasPrefix(string(e), "[[") })
}

func (v *vector) options() Options {
	o := Options{Mode: shard.DALI, LastBatch: v.Policy, LastBatchPadded: v.LastBatchPadded}
	if v.Size != nil {
		o.Size = *v.Size
	}
	return o
}

func (v *vector) pipelines(t *testing.T) (pipes []*pipeline.Pipeline) {
	shards := v.Pipes
	if shards == nil {
		for i := range v.Shards {
			shards = append(shards, i)
		}
	}
	for _, id := range shards {
		p, err := pipeline.New(pipeline.Options{BatchSize: v.Batch, Workers: 2}, func(g *pipeline.Graph) {
			g.Output("x", g.Read(pipeline.ReaderOptions{
				NumShards: v.Shards, ShardID: id, PadLastBatch: v.Pad, StickToShard: v.Stick, Shuffle: v.Shuffle != nil,
			}, numbers{n: v.N})[0])
		})
		require.NoError(t, err)
		pipes = append(pipes, p)
	}
	return pipes
}

// delivered returns the samples of every pipeline of a step. With a size,
// DALI's iterator leaves pipelines without samples out.
func (v *vector) delivered(b *Batch) [][]int64 {
	all := [][]int64{}
	for i := range b.Parts() {
		ids := []int64{}
		for row, ok := range b.Part(i).Mask() {
			if ok {
				ids = append(ids, b.Part(i).Int64s("x")[row])
			}
		}
		if len(ids) > 0 || v.Size == nil {
			all = append(all, ids)
		}
	}
	return all
}

func TestDALIModeIsDALI(t *testing.T) {
	for _, name := range []string{"epochs_dali.json", "epochs_dali_more.json"} {
		for _, v := range readVectors(t, name) {
			l, err := New(v.options(), v.pipelines(t)...)
			switch {
			case v.Size != nil && *v.Size == 0: // here it means that there is none
			case v.Shuffle != nil || v.Error != "":
				require.Error(t, err, v.ID)
			case v.empty():
				require.ErrorIs(t, err, shard.ErrNoSteps, v.ID)
			case v.Script != nil:
				require.NoError(t, err, v.ID)
				(&script{vector: v, l: l}).play(t)
			default:
				require.NoError(t, err, v.ID)
				checkEpochs(t, &v, l)
			}
			if l != nil {
				require.NoError(t, l.Close())
			}
		}
	}
}

func checkEpochs(t *testing.T, v *vector, l *Loader) {
	for e, want := range v.Epochs {
		require.Equal(t, want.Len, l.Len(), "%s epoch %d", v.ID, e)
		steps := 0
		got := make([][][]int64, len(want.Batches))
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			for i, ids := range v.delivered(b) {
				got[i] = append(got[i], ids)
			}
			steps++
		}
		require.Equal(t, want.Steps, steps, "%s epoch %d", v.ID, e)
		for i := range got {
			require.True(t, slices.EqualFunc(want.Batches[i], got[i], slices.Equal), "%s epoch %d pipeline %d: %v, not %v", v.ID, e, i, got[i], want.Batches[i])
		}
	}
}

// script plays calls of DALI's iterator on a loader. The loader's Next is that
// of an iterator with auto_reset; without it an epoch that is over stays over
// until the reset, which the script keeps in mind.
type script struct {
	vector
	l    *Loader
	over bool
}

func (s *script) play(t *testing.T) {
	if s.PrepareFirstBatch == nil || *s.PrepareFirstBatch {
		require.NoError(t, s.l.Prefetch(t.Context()))
	}
	for i, call := range s.Script {
		var got any
		switch call {
		case "len":
			got = s.l.Len()
		case "next":
			if got = s.next(t); got == nil {
				got = "StopIteration"
			}
		case "reset", "iter":
			s.reset(t)
			continue // what was recorded are warnings
		case "for":
			s.reset(t)
			got = s.drain(t)
		case "drain":
			got = s.drain(t)
		default:
			t.Fatalf("%s: unknown call %q", s.ID, call)
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(s.Events[i]), string(text), "%s call %d: %s of %v", s.ID, i, call, s.Script)
	}
}

func (s *script) next(t *testing.T) any {
	if s.over {
		return nil
	}
	b, err := s.l.Next(context.Background())
	if err == io.EOF {
		s.over = s.AutoReset != true && s.AutoReset != "yes"
		return nil
	}
	require.NoError(t, err)
	return s.delivered(b)
}

func (s *script) reset(t *testing.T) {
	if s.over {
		s.over = false
		return
	}
	middle := s.l.step > 0 && s.l.step < s.l.plan.Steps(s.l.epoch)
	err := s.l.Reset()
	if middle {
		require.ErrorIs(t, err, ErrUnfinished)
	} else {
		require.NoError(t, err)
	}
}

func (s *script) drain(t *testing.T) any {
	all := []any{}
	for {
		b := s.next(t)
		if b == nil {
			return all
		}
		all = append(all, b)
	}
}
