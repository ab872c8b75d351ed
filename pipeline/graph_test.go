package pipeline

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
)

// empty is a data set without samples.
type empty struct{ numbers }

func (empty) Len() int64 { return 0 }

// add is an operator of the inputs given, whose outputs are scalars of int32.
func add(name string, outputs int, inputs ...Value) Op {
	return Op{
		Name: name, Inputs: inputs, Outputs: make([]datum.Spec, outputs, outputs+1),
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(*datum.Sample, []*datum.Tensor, []*datum.Tensor) error { return nil }), nil
		},
	}
}

func TestBuildErrorsNameWhatIsWrong(t *testing.T) {
	var foreign Value
	_, err := New(Options{BatchSize: 1}, func(g *Graph) {
		foreign = g.Read(ReaderOptions{}, numbers{n: 1})[0]
		g.Output("x", foreign)
	})
	require.NoError(t, err)
	good := func(g *Graph) Value { return g.Read(ReaderOptions{}, numbers{n: 1})[0] }

	for _, c := range []struct {
		name   string
		opt    Options
		define func(g *Graph)
		want   string
	}{
		{"batch size 0", Options{BatchSize: -1}, nil, "options: BatchSize is -1; it must be at least 1"},
		{"workers", Options{Workers: -2}, nil, "options: Workers is -2; it must be at least 1, or 0 for GOMAXPROCS"},
		{"prefetch", Options{PrefetchDepth: -1}, nil, "options: PrefetchDepth is -1; it must be at least 1, or 0 for the default"},
		{"policy", Options{OnError: 9}, nil, "options: OnError is 9; it must be Fail, Skip or Replace"},
		{"caps", Options{MaxBadShare: 2}, nil, "options: MaxBad is 0 and MaxBadShare 2; they must be at least 0, the share at most 1"},
		{"caps of nothing", Options{MaxBad: 3}, nil, "options: MaxBad and MaxBadShare cap the samples that are skipped or replaced, but OnError is Fail; set it to Skip or Replace, or leave the caps out"},
		{"streams", Options{StreamBudget: -1}, nil, "options: StreamBudget is -1; it must not be negative, and 0 sets no bound"},

		{"nothing", Options{}, func(*Graph) {}, "definition: there is no reader"},
		{"no output", Options{}, func(g *Graph) { good(g) }, "definition: there is no output: call Graph.Output"},
		{"unnamed output", Options{}, func(g *Graph) { g.Output("", good(g)) }, "output: an output needs a name"},
		{"missing output", Options{}, func(g *Graph) { good(g); g.Output("x", Value{}) }, "output x: the value is missing"},
		{"foreign output", Options{}, func(g *Graph) { good(g); g.Output("x", foreign) }, "output x: the value belongs to another pipeline"},
		{"one name twice", Options{}, func(g *Graph) {
			v := good(g)
			g.Output("x", v)
			g.Output("x", v)
		}, "output x: two outputs have this name"},

		{"missing input", Options{}, func(g *Graph) { g.Add(add("blend", 1, good(g), Value{})) }, "blend: input 1 is missing"},
		{"foreign input", Options{}, func(g *Graph) { g.Add(add("blend", 1, foreign)) }, "blend: input 0 belongs to another pipeline"},
		{"no kernel", Options{}, func(g *Graph) { g.Add(Op{Name: "blend"}) }, "blend: Op.New is missing"},
		{"too many dimensions", Options{}, func(g *Graph) {
			op := add("blend", 2, good(g))
			op.Outputs[1].Shape = make([]int, datum.MaxDims+1)
			g.Add(op)
		}, "blend: output 1 has 7 dimensions, at most 6 are possible"},

		{"empty data set", Options{}, func(g *Graph) { g.Read(ReaderOptions{}, empty{}) }, "reader: the data set is empty"},
		{"empty second data set", Options{}, func(g *Graph) { good(g); g.Read(ReaderOptions{}, empty{}) }, "reader2: the data set is empty"},
		{"shards", Options{}, func(g *Graph) { g.Read(ReaderOptions{Name: "train", NumShards: -1}, numbers{n: 1}) },
			"train: NumShards is -1; it must be at least 1"},
		{"shard", Options{}, func(g *Graph) { g.Read(ReaderOptions{NumShards: 2, ShardID: 2}, numbers{n: 1}) },
			"reader: ShardID is 2; with 2 shards it must be 0 … 1"},
		{"readers of one name", Options{}, func(g *Graph) {
			g.Read(ReaderOptions{Name: "train"}, numbers{n: 1})
			g.Read(ReaderOptions{Name: "train"}, numbers{n: 1})
		}, "train: two readers have this name"},
		{"shuffled sequence", Options{}, func(g *Graph) { g.ReadSequence(ReaderOptions{Shuffle: true}, count{}) },
			"reader: a sequence has no length: it cannot be shuffled, sharded, padded or split; use a Source with random access"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.opt.BatchSize == 0 {
				c.opt.BatchSize = 1
			}
			define := c.define
			if define == nil {
				define = func(*Graph) { t.Error("a definition ran although the options are wrong") }
			}
			p, err := New(c.opt, define)
			require.Nil(t, p)
			var build *BuildError
			require.ErrorAs(t, err, &build)
			require.EqualError(t, err, "pipeline: "+c.want)
		})
	}
	_, err = New(Options{}, func(*Graph) {})
	require.ErrorContains(t, err, "BatchSize is 0; it must be at least 1")
}

func TestTheFirstMistakeIsKeptAndNothingPanicsAfterIt(t *testing.T) {
	first := errors.New("first")
	_, err := New(Options{BatchSize: 1}, func(g *Graph) {
		require.NoError(t, g.Err())
		g.Fail("nothing", nil)
		require.NoError(t, g.Err())
		g.Fail("a", first)
		g.Fail("b", errors.New("second"))
		v := g.Read(ReaderOptions{}, numbers{n: 1})[0]
		require.False(t, v.Set())
		outs := g.Add(add("op", 2, v, v))
		require.Len(t, outs, 2)
		require.Equal(t, datum.Spec{}, outs[1].Spec())
		g.Output("x", outs[0])
		g.Output("x", outs[0])
		g.ReadSequence(ReaderOptions{Shuffle: true}, count{})
	})
	require.ErrorIs(t, err, first)
	require.EqualError(t, err, "pipeline: a: first")
}

func TestAKernelThatCannotBeMadeGivesThePipelineUp(t *testing.T) {
	fail := errors.New("no memory")
	p, err := New(Options{BatchSize: 1, Workers: 2}, func(g *Graph) {
		op := add("op", 1, g.Read(ReaderOptions{}, numbers{n: 1})[0])
		op.New = func() (datum.Kernel, error) { return nil, fail }
		g.Output("x", g.Add(op)[0])
	})
	require.NoError(t, err)
	for range 2 { // the second time it is not busy
		_, err = p.NewRunner(feedtest.Once(1, 1))
		require.ErrorIs(t, err, fail)
		require.EqualError(t, err, "pipeline: op: no memory")
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		spec datum.Spec
		want string
	}{
		{datum.Spec{}, "any type scalar"},
		{datum.Spec{DType: datum.Float32}, "float32 scalar"},
		{datum.Spec{DType: datum.Uint8, Layout: datum.HWC, Shape: []int{-1, -1, 3}}, "uint8 HWC ?×?×3"},
		{datum.Spec{DType: datum.Int64, Shape: []int{7}}, "int64 7"},
	} {
		require.Equal(t, c.want, c.spec.String())
	}
	p, err := New(Options{BatchSize: 4, Workers: 2, ExactRGB: true, OnError: Skip, MaxBad: 3, MaxBadShare: 0.5}, func(g *Graph) {
		v := g.Read(ReaderOptions{Name: "train"}, numbers{n: 1})[0]
		g.Output("n", v)
		g.Output("square", square(g, v, nil))
	})
	require.NoError(t, err)
	require.Equal(t, `batch 4, 2 workers, prefetch 2, seed 0, on error skip, exact RGB, at most 3 bad, at most 50 % bad
train → int32 scalar
square → float32 2
output "n": int32 scalar
output "square": float32 2
`, p.String())
	require.True(t, p.Spec("square").Dense())
}

func TestErrorPolicyText(t *testing.T) {
	for _, p := range []ErrorPolicy{Fail, Skip, Replace} {
		var q ErrorPolicy
		require.NoError(t, q.UnmarshalText([]byte(p.String())))
		require.Equal(t, p, q)
	}
	var q ErrorPolicy
	require.EqualError(t, q.UnmarshalText([]byte("ignore")), `pipeline: no error policy "ignore"; the policies are fail, skip, replace`)
	require.Equal(t, "ErrorPolicy(9)", ErrorPolicy(9).String())
}
