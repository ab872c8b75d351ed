package iterator

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

func stateOf(t require.TestingT, l *Loader) State {
	s, err := l.State()
	require.NoError(t, err)
	return s
}

// stored returns a state as it comes back from a file.
func storedState(t require.TestingT, s State) (back State) {
	text, err := s.MarshalText()
	require.NoError(t, err)
	require.NoError(t, back.UnmarshalText(text))
	require.Equal(t, s, back)
	return back
}

// anySetup draws a setup for one rank of up to four.
func anySetup(t *rapid.T) setup {
	s := base()
	s.source.n = rapid.Int64Range(16, 40).Draw(t, "samples")
	s.loader.LastBatch = rapid.SampledFrom([]shard.Policy{shard.Partial, shard.Fill, shard.Drop}).Draw(t, "policy")
	s.loader.Partition = rapid.SampledFrom([]shard.Partition{shard.ByShard, shard.ByStep}).Draw(t, "partition")
	s.reader.Shuffle = rapid.Bool().Draw(t, "shuffle")
	s.reader.PadLastBatch = rapid.Bool().Draw(t, "pad")
	s.reader.StickToShard = s.loader.Partition == shard.ByShard && rapid.Bool().Draw(t, "stick")
	s.reader.NumShards = rapid.IntRange(1, 4).Draw(t, "shards")
	s.reader.ShardID = rapid.IntRange(0, s.reader.NumShards-1).Draw(t, "rank")
	return s
}

func TestARestoredLoaderGoesOnBitForBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySetup(t)
		first, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		defer first.Close()
		wander(t, first)
		state := storedState(t, stateOf(t, first))
		s.options.Workers = rapid.IntRange(1, 4).Draw(t, "workers")
		s.options.PrefetchDepth = rapid.IntRange(1, 4).Draw(t, "depth")
		second, err := New(s.loader, s.pipe(t))
		require.NoError(t, err)
		defer second.Close()
		take(t, second, rapid.IntRange(1, 3).Draw(t, "before"))
		require.NoError(t, second.Restore(state))
		require.Equal(t, state, stateOf(t, second))
		for range 3 {
			require.Equal(t, take(t, first, all), take(t, second, all))
		}
	})
}

func TestTheStateIsBehindTheBatchAtHand(t *testing.T) {
	l := base().loaderOf(t)
	step := int64(0)
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		step++
		want := shard.Position{Epoch: 0, Phases: []shard.Phase{{Shards: 1, Batch: 4, Steps: step}}}
		if step == int64(l.Len()) { // the end of an epoch is the start of the next
			want = shard.Position{Epoch: 1, Phases: []shard.Phase{{Shards: 1, Batch: 4}}}
		}
		require.Equal(t, want, stateOf(t, l).Position())
		require.ErrorIs(t, l.Restore(stateOf(t, l)), ErrBusy)
		require.Equal(t, step-1, b.Step())
	}
}

func TestAllRanksHaveTheSameState(t *testing.T) {
	var want State
	for rank := range 3 {
		s := base()
		s.reader.NumShards, s.reader.ShardID = 3, rank
		l := s.loaderOf(t)
		take(t, l, 1)
		if rank == 0 {
			want = stateOf(t, l)
		}
		require.Equal(t, want, stateOf(t, l))
	}
	var pipes []*pipeline.Pipeline
	for rank := range 3 {
		s := base()
		s.reader.NumShards, s.reader.ShardID = 3, rank
		pipes = append(pipes, s.pipe(t))
	}
	l, err := New(Options{}, pipes...)
	require.NoError(t, err)
	defer l.Close()
	take(t, l, 1)
	require.Equal(t, want, stateOf(t, l), "one process for all ranks")
}

// Epochs read by changing worlds, each of which stops after some steps, are
// complete, and by step have the batches of one rank.
func TestAnotherWorldGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := base()
		s.source.n = rapid.Int64Range(20, 60).Draw(t, "samples")
		s.loader.Partition = rapid.SampledFrom([]shard.Partition{shard.ByShard, shard.ByStep}).Draw(t, "partition")
		const global = 12
		var state *State
		var steps [][]int64 // the samples of all ranks by step
		for state == nil || state.Position().Epoch == 0 {
			ranks := rapid.SampledFrom([]int{1, 2, 3, 4, 6}).Draw(t, "ranks")
			n := rapid.IntRange(1, 4).Draw(t, "steps")
			world := make([][]record, ranks)
			var next State
			for rank := range ranks {
				s := s
				s.options.BatchSize, s.reader.NumShards, s.reader.ShardID = global/ranks, ranks, rank
				l, err := New(s.loader, s.pipe(t))
				require.NoError(t, err)
				if state != nil {
					require.NoError(t, l.Restore(*state))
				}
				world[rank] = take(t, l, n)
				next = storedState(t, stateOf(t, l))
				require.NoError(t, l.Close())
			}
			for step := range world[0] {
				var ids []int64
				for rank := range ranks {
					ids = append(ids, world[rank][step].x...)
				}
				slices.Sort(ids)
				steps = append(steps, ids)
			}
			state = &next
		}
		got := slices.Concat(steps...)
		slices.Sort(got)
		require.Equal(t, upTo(s.source.n), got)
		if s.loader.Partition == shard.ByStep {
			s.options.BatchSize = global
			l, err := New(s.loader, s.pipe(t))
			require.NoError(t, err)
			defer l.Close()
			for i, r := range take(t, l, all) {
				slices.Sort(r.x)
				require.Equal(t, r.x, steps[i])
			}
		}
	})
}

func TestSeveralReadersAreRestoredInTheSameWorldOnly(t *testing.T) {
	small := pipeline.ReaderOptions{Name: "small", Shuffle: true}
	build := func(batch int) *Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 3}, func(g *pipeline.Graph) {
			g.Output("x", g.Read(pipeline.ReaderOptions{Name: "big", Shuffle: true}, numbers{n: 10})[0])
			g.Output("draw", g.Read(small, numbers{n: 8})[0])
		})
		require.NoError(t, err)
		l, err := New(Options{ReaderName: "big"}, p)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return l
	}
	a, b := build(4), build(4)
	take(t, a, all)
	take(t, a, 1)
	require.NoError(t, b.Restore(stateOf(t, a)))
	require.Equal(t, take(t, a, all), take(t, b, all))
	require.Equal(t, take(t, a, all), take(t, b, all))

	var mismatch *MismatchError
	require.ErrorAs(t, build(2).Restore(stateOf(t, a)), &mismatch)
	require.ErrorContains(t, mismatch, "the world of a pipeline with several readers was 1×4, now it is 1×2")
	require.ErrorContains(t, base().loaderOf(t).Restore(stateOf(t, a)), "the number of readers was 2, now it is 1")
	small.Shuffle = false
	require.ErrorContains(t, build(4).Restore(stateOf(t, a)), "the order of reader small was shuffle=true, now it is shuffle=false; go on")
}

func TestStatesOfOtherRuns(t *testing.T) {
	build := func(change func(*setup)) *Loader {
		s := base()
		change(&s)
		return s.loaderOf(t)
	}
	was := build(func(*setup) {})
	take(t, was, 2)
	state := storedState(t, stateOf(t, was))
	for want, change := range map[string]func(*setup){
		"the number of samples of reader reader was 22, now it is 23":                                   func(s *setup) { s.source.n = 23 },
		"the fingerprint of the data of reader reader was 0000000000000000, now it is 00000000000000ff": func(s *setup) { s.source.fingerprint = 255 },
		"the name of reader 0 was reader, now it is other":                                              func(s *setup) { s.reader.Name = "other" },
		"the pipeline was seed=7, now it is seed=8; go on":                                              func(s *setup) { s.options.Seed = 8 },
		"the plan's policy was partial, now it is fill":                                                 func(s *setup) { s.loader.LastBatch = shard.Fill },
		"the plan's partition was shard, now it is step":                                                func(s *setup) { s.loader.Partition = shard.ByStep },
		"the plan's shuffle was true, now it is false":                                                  func(s *setup) { s.reader.Shuffle = false },
		"the plan's block was 0, now it is 2":                                                           func(s *setup) { s.loader.ShuffleBlock = 2 },
		"the plan's stick_to_shard was false, now it is true":                                           func(s *setup) { s.reader.StickToShard = true },
		"the plan's pad_last_batch was false, now it is true":                                           func(s *setup) { s.reader.PadLastBatch = true },
		"the pipeline was output x = v0, now it is v2 int64 scalar = draw":                              func(s *setup) { s.extra = true },
		"go on with the same data and settings, or start anew":                                          func(s *setup) { s.source.n = 1000 },
	} {
		l := build(change)
		fresh := build(change)
		before := take(t, l, 1)
		err := l.Restore(state)
		require.ErrorContains(t, err, want)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, take(t, fresh, all), append(before, take(t, l, all)...), "a refused state moves nothing")
	}

	longer := build(func(s *setup) { s.extra = true })
	require.ErrorContains(t, was.Restore(stateOf(t, longer)), "the pipeline was v2 int64 scalar = draw, now it is output x = v0")
	shown := build(func(s *setup) { s.again = true })
	require.ErrorContains(t, shown.Restore(state), "the pipeline was without, now it is with output again = v0")
	require.ErrorContains(t, was.Restore(stateOf(t, shown)), "the pipeline was with output again = v0, now it is without")

	two := base()
	two.reader.NumShards = 2
	a := two.pipe(t)
	two.reader.ShardID, two.extra = 1, true
	l, err := New(Options{}, a, two.pipe(t))
	require.NoError(t, err)
	defer l.Close()
	require.ErrorContains(t, l.Restore(state), "the number of different pipelines was 1, now it is 2")
}

func TestPlacesThatCannotBe(t *testing.T) {
	l := base().loaderOf(t)
	take(t, l, 2)
	place := func(epoch int64, phases ...shard.Phase) State {
		s := stateOf(t, l)
		s.position = shard.Position{Epoch: epoch, Phases: phases}
		return s
	}
	for _, s := range []State{
		place(-1, shard.Phase{Shards: 1, Batch: 4}),
		place(0),
		place(0, shard.Phase{Shards: 1, Batch: 4, Steps: 7}),
		place(0, shard.Phase{Shards: 0, Batch: 4, Steps: 1}),
		place(0, shard.Phase{Shards: 1, Batch: -4, Steps: 1}),
		place(0, shard.Phase{Shards: 1, Batch: 4, Steps: -1}),
		place(0, shard.Phase{Shards: 1, Batch: 4, Steps: 6}, shard.Phase{Shards: 1, Batch: 4}),
	} {
		var bad *shard.PositionError
		require.ErrorAs(t, l.Restore(s), &bad)
	}
	require.ErrorIs(t, l.Restore(State{}), ErrDamaged)
	require.EqualValues(t, 2, take(t, l, 1)[0].step)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Restore(stateOf(t, l)), ErrClosed)
}

func TestDALIModeHasStates(t *testing.T) {
	s := base()
	s.reader = pipeline.ReaderOptions{}
	s.loader = Options{Mode: shard.DALI, LastBatch: shard.Fill}
	a, b := s.loaderOf(t), s.loaderOf(t)
	take(t, a, all)
	take(t, a, all)
	take(t, a, 2)
	require.NoError(t, b.Restore(storedState(t, stateOf(t, a))))
	require.Equal(t, take(t, a, all), take(t, b, all))
	require.Equal(t, take(t, a, all), take(t, b, all))
	s.options.BatchSize = 5
	var bad *shard.PositionError
	require.ErrorAs(t, s.loaderOf(t).Restore(stateOf(t, a)), &bad)
}

// The caps on bad samples are no part of a state: after Restore they count anew.
func TestBadSamplesCountAnewAfterARestore(t *testing.T) {
	s := base()
	s.options.OnError, s.options.MaxBad = pipeline.Skip, 2
	s.source = numbers{n: 8, read: func(_ context.Context, i int64) error {
		if i == 1 || i == 5 {
			return errors.New("broken")
		}
		return nil
	}}
	l := s.loaderOf(t)
	start := stateOf(t, l)
	for range 3 {
		take(t, l, all)
		require.NoError(t, l.Restore(start))
	}
	take(t, l, all)
	_, err := l.Next(t.Context())
	for err == nil {
		_, err = l.Next(t.Context())
	}
	require.ErrorIs(t, err, pipeline.ErrTooManyBad)
}

// One goroutine at a time restores a loader: another one is told so before anything of
// the loader is looked at.
func TestRestoresAtOnce(t *testing.T) {
	l := base().loaderOf(t)
	first := stateOf(t, l)
	other := base()
	other.extra = true
	foreign := stateOf(t, other.loaderOf(t))
	for _, err := range l.Steps(t.Context(), 1) {
		require.NoError(t, err)
		require.ErrorIs(t, l.Restore(foreign), ErrBusy)
	}
	var mismatch *MismatchError
	require.ErrorAs(t, l.Restore(foreign), &mismatch)

	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range 100 {
				if err := l.Restore(first); err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	require.Equal(t, first, stateOf(t, l))
}

func TestSequencesHaveNoState(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, endless{10})[0])
	})
	require.NoError(t, err)
	l, err := New(Options{}, p)
	require.NoError(t, err)
	defer l.Close()
	_, err = l.State()
	require.ErrorIs(t, err, errSequence)
	require.ErrorIs(t, l.Restore(stateOf(t, base().loaderOf(t))), errSequence)
}

func TestStoredStates(t *testing.T) {
	l := base().loaderOf(t)
	take(t, l, 2)
	s := stateOf(t, l)
	require.Equal(t, "epoch 0, 2 steps of 1×4 rows", s.String())
	s.position.Phases = append(s.position.Phases, shard.Phase{Shards: 2, Batch: 3, Steps: 1})
	require.Equal(t, "epoch 0, 2 steps of 1×4 rows, 1 of 2×3", s.String())
	require.Equal(t, "epoch 0", State{}.String())

	// Every form, and a form that another program has written anew.
	type checkpoint struct{ Loader State }
	text, err := json.MarshalIndent(checkpoint{s}, "", "  ")
	require.NoError(t, err)
	var whole checkpoint
	require.NoError(t, json.Unmarshal(text, &whole))
	require.Equal(t, s, whole.Loader)
	var loose map[string]any
	line, err := s.MarshalText()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &loose))
	sorted, err := json.Marshal(loose)
	require.NoError(t, err)
	require.NotEqual(t, line, sorted)
	var again State
	require.NoError(t, again.UnmarshalText(sorted))
	require.Equal(t, s, again)
	bin, err := s.MarshalBinary()
	require.NoError(t, err)
	again = State{}
	require.NoError(t, again.UnmarshalBinary(bin))
	require.Equal(t, s, again)
	require.Less(t, len(bin), 1024)
}

func TestDamagedStates(t *testing.T) {
	l := base().loaderOf(t)
	take(t, l, 2)
	text, err := stateOf(t, l).MarshalText()
	require.NoError(t, err)
	refused := func(text string, want error) {
		t.Helper()
		kept := stateOf(t, l)
		s := kept
		var u encoding.TextUnmarshaler = &s
		require.ErrorIs(t, u.UnmarshalText([]byte(text)), want, "%s", text)
		require.Equal(t, kept, s)
	}
	for n := range text {
		refused(string(text[:n]), ErrDamaged)
	}
	whole := stateOf(t, l)
	for i := range text {
		for bit := range 8 {
			b := slices.Clone(text)
			b[i] ^= 1 << bit
			var s State
			switch err := s.UnmarshalText(b); {
			case err == nil: // in JSON, "Steps" is another way to write "steps"
				require.Equal(t, bytes.ToLower(text), bytes.ToLower(b))
				require.Equal(t, whole, s)
			case errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion):
				require.Zero(t, s)
			default:
				require.Fail(t, "another error", "%s: %v", b, err)
			}
		}
	}
	edit := func(old, new string) string {
		require.Contains(t, string(text), old)
		return strings.Replace(string(text), old, new, 1)
	}
	refused(edit(`"steps":2`, `"steps":3`), ErrDamaged)
	refused(edit(`"version":1`, `"version":2`), ErrVersion)
	refused(edit(`"version":1`, `"version":0`), ErrDamaged)
	refused(edit(`"version":1,`, ``), ErrDamaged)
	refused(edit(`"version":1`, `"version":1,"note":"mine"`), ErrDamaged)
	refused(edit(`"samples":22`, `"samples":23`), ErrDamaged)
	refused(string(text)+"{}", ErrDamaged)
	refused("{}", ErrDamaged)
	require.ErrorContains(t, new(State).UnmarshalText([]byte("{}")), "it is no state, or was edited")
	refused("null", ErrDamaged)
	refused(fmt.Sprintf("%q", text), ErrDamaged)
}

func FuzzState(f *testing.F) {
	s := base()
	p := s.pipe(f)
	l, err := New(s.loader, p)
	require.NoError(f, err)
	f.Cleanup(func() { l.Close() })
	text, err := stateOf(f, l).MarshalText()
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s State
		if s.UnmarshalText(text) != nil {
			return
		}
		_ = s.String()
		if l.Restore(s) == nil {
			require.Equal(t, s, stateOf(t, l))
		}
		storedState(t, s)
	})
}

func TestFilesThatChangedSinceAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.jpg", "b.jpg", "c.jpg", "d.jpg"} {
		require.NoError(t, os.WriteFile(file(name), []byte(name), 0o644))
	}
	build := func() *Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
			content, _ := readers.File(g, readers.FileOptions{Root: dir})
			g.Output("file", content)
		})
		require.NoError(t, err)
		l, err := New(Options{}, p)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return l
	}
	state := stateOf(t, build())
	require.NoError(t, build().Restore(state))
	require.NoError(t, os.Rename(file("c.jpg"), file("e.jpg")))
	require.ErrorContains(t, build().Restore(state), "the fingerprint of the data of reader reader was")
	require.NoError(t, os.Remove(file("e.jpg")))
	require.ErrorContains(t, build().Restore(state), "the number of samples of reader reader was 4, now it is 3")
}
