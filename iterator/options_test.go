package iterator

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

func TestOptionsThatContradictEachOther(t *testing.T) {
	yes, no := true, false
	unordered := base()
	unordered.reader.Shuffle = false
	for want, o := range map[string]Options{
		`Size: it is 7, but reader "reader" decides`:                     {ReaderName: "reader", Size: 7, Mode: shard.DALI},
		`LastBatchPadded: reader "reader" says whether it pads`:          {ReaderName: "reader", LastBatchPadded: true, Mode: shard.DALI},
		`Size: it is 7, but in mode exact`:                               {Size: 7},
		`Size: it is -1, but in mode exact`:                              {Size: -1},
		`LastBatchPadded: it belongs to a positive Size`:                 {LastBatchPadded: true},
		`LastBatchPadded: it belongs to`:                                 {LastBatchPadded: true, Mode: shard.DALI, Size: -1, LastBatch: shard.Fill},
		`Policy is partial; want Fill with a negative Size`:              {Mode: shard.DALI, Size: -1},
		`Policy is drop; want Fill with a negative Size`:                 {Mode: shard.DALI, Size: -1, LastBatch: shard.Drop},
		`FillLastBatch: it is true and LastBatch is drop`:                {FillLastBatch: &yes, LastBatch: shard.Drop},
		`FillLastBatch: it is false and LastBatch is fill`:               {FillLastBatch: &no, LastBatch: shard.Fill},
		`Partition is step; want ByShard in DALI mode`:                   {Mode: shard.DALI, Partition: shard.ByStep},
		`Block is 4; want 0 without Shuffle`:                             {ShuffleBlock: 4},
		`Policy is Policy(9); want Partial, Fill or Drop`:                {LastBatch: 9},
		`Mode is Mode(9); want Exact or DALI`:                            {Mode: 9},
		`Partition is Partition(9); want ByShard or ByStep`:              {Partition: 9},
		`there is no reader "valid"; the pipeline has ["reader"]`:        {ReaderName: "valid"},
		`BlockGroup is 3; want 0 without Shuffle`:                        {ShuffleGroup: 3},
		`BlockGroup is -3; want a positive number of blocks`:             {ShuffleGroup: -3},
		`reader "reader": shard: Block is -1; want a positive number of`: {ShuffleBlock: -1},
	} {
		l, err := New(o, unordered.pipe(t))
		require.ErrorContains(t, err, want)
		require.Nil(t, l)
		var option *OptionError
		var plan *shard.ConfigError
		if errors.As(err, &option) {
			require.ErrorIs(t, err, option.Err)
		} else {
			require.ErrorAs(t, err, &plan)
		}
	}

	ordered := base()
	_, err := New(Options{Mode: shard.DALI}, ordered.pipe(t))
	require.ErrorContains(t, err, "Shuffle is true; want false in DALI mode")

	pair := func() []*pipeline.Pipeline {
		a, b := unordered, unordered
		a.reader.NumShards, b.reader.NumShards, b.reader.ShardID = 2, 2, 1
		return []*pipeline.Pipeline{a.pipe(t), b.pipe(t)}
	}
	_, err = New(Options{Mode: shard.DALI, Size: -1, LastBatch: shard.Fill}, pair()...)
	require.ErrorContains(t, err, "a negative one is for a single pipeline")

	two, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		g.Output("x", g.Read(pipeline.ReaderOptions{Name: "a"}, numbers{n: 10})[0])
		g.Output("y", g.Read(pipeline.ReaderOptions{Name: "b"}, numbers{n: 10})[0])
	})
	require.NoError(t, err)
	_, err = New(Options{ReaderName: "a", Mode: shard.DALI}, two)
	require.ErrorContains(t, err, "DALI mode takes pipelines with one reader, this one has 2")
}

func TestOptionsThatSequencesDoNotTake(t *testing.T) {
	for field, o := range map[string]Options{
		"Mode":         {Mode: shard.DALI},
		"Partition":    {Partition: shard.ByStep},
		"ShuffleBlock": {ShuffleBlock: 4},
		"ShuffleGroup": {ShuffleGroup: 4},
		"LastBatch":    {LastBatch: shard.Fill},
	} {
		p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
			g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, endless{10})[0])
		})
		require.NoError(t, err)
		_, err = New(o, p)
		var option *OptionError
		require.ErrorAs(t, err, &option)
		require.Equal(t, field, option.Field)
		require.ErrorContains(t, err, "sequence")
	}
}

func TestFillLastBatchIsAPolicy(t *testing.T) {
	for fill, want := range map[bool]shard.Policy{true: shard.Fill, false: shard.Partial} {
		s := base()
		s.loader.FillLastBatch = &fill
		l := s.loaderOf(t)
		require.Equal(t, want, l.Options().LastBatch)
		require.Equal(t, want, l.Plan().Config().Policy)
	}
}

func TestAnEpochWithoutEnd(t *testing.T) {
	s := base()
	s.reader.Shuffle = false
	s.loader = Options{Mode: shard.DALI, Size: -1, LastBatch: shard.Fill}
	s.reader.NumShards, s.reader.ShardID = 2, 1
	require.Equal(t, []int{1}, s.loaderOf(t).Plan().Config().Pipes)
	s.reader.NumShards, s.reader.ShardID = 1, 0
	l := s.loaderOf(t)
	require.Zero(t, l.Len())
	var got []int64
	for b, err := range l.Steps(t.Context(), 10) {
		require.NoError(t, err)
		require.Zero(t, b.Epoch())
		got = append(got, b.Int64s("x")...)
	}
	require.Equal(t, append(upTo(22), upTo(18)...), got)
	require.NoError(t, l.Reset(), "it has no end to skip to")
	require.Equal(t, []int64{18, 19, 20, 21}, take(t, l, 1)[0].x)
}

func TestBlocksStayTogether(t *testing.T) {
	s := base()
	s.source.n = 40
	s.loader.ShuffleBlock = 8
	l := s.loaderOf(t)
	var order []int64
	for _, r := range take(t, l, all) {
		order = append(order, r.x...)
	}
	for ; len(order) > 0; order = order[8:] {
		for _, x := range order[:8] {
			require.Equal(t, order[0]/8, x/8)
		}
	}
}

func TestOptionsPrintThemselves(t *testing.T) {
	require.Equal(t, "reader (only one), last batch partial, partition by shard, mode exact", Options{}.String())
	require.Equal(t, "reader (only one), last batch drop, partition by shard, mode dali, size 7, last batch padded true",
		Options{LastBatch: shard.Drop, Mode: shard.DALI, Size: 7, LastBatchPadded: true}.String())
	require.Equal(t, "reader train, last batch fill, partition by step, mode exact, shuffled in blocks of 64",
		Options{ReaderName: "train", LastBatch: shard.Fill, Partition: shard.ByStep, ShuffleBlock: 64}.String())
	require.Equal(t, "reader (only one), last batch partial, partition by shard, mode exact, shuffled in blocks of 64, 5 at a time",
		Options{ShuffleBlock: 64, ShuffleGroup: 5}.String())
	require.Equal(t, "reader (only one), last batch partial, partition by shard, mode exact, shuffled by 5 shards at a time", Options{ShuffleGroup: 5}.String())
}

func TestSamplersPrintThemselves(t *testing.T) {
	require.Equal(t, "reader (only one), last batch partial, partition by step, mode exact, sampler shard.Repeated, groups of windows of 9, budget 7, padded true",
		Options{Partition: shard.ByStep, Sampler: shard.Repeated{Times: 2}, Groups: &shard.Groups{Window: 9, Budget: 7, Padded: true}}.String())
}

func TestUnevenLoaders(t *testing.T) {
	uneven := func(change func(*setup)) bool {
		s := base()
		s.source.n = 24
		s.reader.Shuffle = false
		change(&s)
		return s.loaderOf(t).Uneven()
	}
	require.False(t, uneven(func(*setup) {}))
	require.True(t, uneven(func(s *setup) { s.source.n = 23 }))
	require.True(t, uneven(func(s *setup) { s.reader.NumShards = 4 }))
	require.False(t, uneven(func(s *setup) { s.source.n, s.loader.LastBatch = 23, shard.Fill }))
	require.False(t, uneven(func(s *setup) { s.source.n, s.loader.LastBatch = 23, shard.Drop }))
	require.True(t, uneven(func(s *setup) { s.options.OnError = pipeline.Skip }))
	require.True(t, uneven(func(s *setup) { s.loader.Mode, s.loader.Size = shard.DALI, 23 }))
	require.False(t, uneven(func(s *setup) { s.loader.Mode, s.loader.Size = shard.DALI, 20 }))
}
