package gorgoniaplugin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// mixed defines outputs of all kinds: "x" float32 of 5, "label" int64,
// "wide" and "taken" float64 and float32 numbers, "bytes" uint8, "pictures" ragged,
// "empty" of no numbers.
func mixed(g *pipeline.Graph) {
	x, label := dataset(8, 0)
	v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features), readers.Rows(label),
		readers.Rows(make([]float64, 8)), readers.Rows(make([]uint8, 8*6), 2, 3), readers.Ragged(make([][]float32, 8)), readers.Rows(make([]float32, 8)))
	for i, name := range []string{"x", "label", "wide", "bytes", "pictures", "taken"} {
		g.Output(name, v[i])
	}
	none := datum.Spec{DType: datum.Float32, Shape: []int{0}}
	g.Output("empty", ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{none}}, func(_ *datum.Sample, _, out []*datum.Tensor) error {
		_, err := out[0].Resize(0)
		return err
	}, v[0])[0])
}

// input makes an input node.
func input(g *gorgonia.ExprGraph, name string, dt tensor.Dtype, shape ...int) *gorgonia.Node {
	return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...))
}

func TestNewRefuses(t *testing.T) {
	option := func(o ...gorgoniaplugin.Option) []gorgoniaplugin.Option { return o }
	for _, c := range []struct {
		name   string
		opts   []gorgoniaplugin.Option
		output string
		text   string
	}{
		{"integers", nil, "label", `output "label": its samples are int64 scalar, but Gorgonia computes with float32 and float64: cast`},
		{"bytes", option(gorgoniaplugin.Outputs("x", "bytes")), "bytes", "uint8 2×3, but Gorgonia computes with float32 and float64: cast"},
		{"ragged", option(gorgoniaplugin.Outputs("pictures")), "pictures", "resize"},
		{"no such output", option(gorgoniaplugin.Outputs("x", "z")), "z", `no such output; it has ["x"`},
		{"empty", option(gorgoniaplugin.Outputs("empty")), "empty", "its samples are empty (float32 0)"},
		{"node of this name", option(gorgoniaplugin.Outputs("x", "taken")), "taken", "use Bind"},
		{"labels elsewhere", option(gorgoniaplugin.Outputs("x"), gorgoniaplugin.LabelsMasked("y")), "y", "no such output"},
		{"labels that are numbers", option(gorgoniaplugin.Outputs("wide"), gorgoniaplugin.LabelsMasked("wide")), "wide", "one-hot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gorgonia.NewGraph()
			input(g, "taken", tensor.Float32, 4)
			before := len(g.AllNodes())
			_, err := gorgoniaplugin.New(g, newLoader(t, batchOf4, drop, mixed), c.opts...)
			require.ErrorContains(t, err, c.text)
			var bind *gorgoniaplugin.BindError
			require.ErrorAs(t, err, &bind)
			require.Equal(t, c.output, bind.Output)
			require.Len(t, g.AllNodes(), before, "the graph must stay as it was")
		})
	}
}

func TestBindRefuses(t *testing.T) {
	g, other := gorgonia.NewGraph(), gorgonia.NewGraph()
	x := input(g, "in", tensor.Float32, 4, features)
	wide := input(g, "wide in", tensor.Float64, 4)
	w := input(g, "w", tensor.Float32, 4)
	sum := gorgonia.Must(gorgonia.Add(x, x))
	for _, c := range []struct {
		name         string
		nodes        map[string]*gorgonia.Node
		opts         []gorgoniaplugin.Option
		output, node string
		text         string
	}{
		{"shape", map[string]*gorgonia.Node{"x": input(g, "a", tensor.Float32, 4, 6)}, nil, "x", "a", "shape (4, 6), but (4, 5)"},
		{"batch size", map[string]*gorgonia.Node{"x": input(g, "b", tensor.Float32, 8, features)}, nil, "x", "b", "shape (8, 5), but (4, 5)"},
		{"column for a vector", map[string]*gorgonia.Node{"wide": input(g, "c", tensor.Float64, 4, 1)}, nil, "wide", "c", "shape (4, 1), but (4)"},
		{"scalar", map[string]*gorgonia.Node{"wide": gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("s"))}, nil, "wide", "s", "shape (), but (4)"},
		{"type", map[string]*gorgonia.Node{"x": input(g, "d", tensor.Float64, 4, features)}, nil, "x", "d", "float64, but the batches are float32"},
		{"type of the output", map[string]*gorgonia.Node{"bytes": input(g, "e", tensor.Uint8, 4, 2, 3)}, nil, "bytes", "", "cast"},
		{"ragged", map[string]*gorgonia.Node{"pictures": x}, nil, "pictures", "", "resize"},
		{"no such output", map[string]*gorgonia.Node{"X": x}, nil, "X", "", "no such output"},
		{"nil", map[string]*gorgonia.Node{"x": nil}, nil, "x", "", "nil"},
		{"computed", map[string]*gorgonia.Node{"x": sum}, nil, "x", sum.Name(), "computed"},
		{"two graphs", map[string]*gorgonia.Node{"x": x, "wide": input(other, "f", tensor.Float64, 4)}, nil, "wide", "f", "another graph"},
		{"weights elsewhere", map[string]*gorgonia.Node{"x": x}, []gorgoniaplugin.Option{gorgoniaplugin.WithWeights(input(other, "g", tensor.Float32, 4))}, "", "g", "another graph"},
		{"weights of another size", map[string]*gorgonia.Node{"x": x}, []gorgoniaplugin.Option{gorgoniaplugin.WithWeights(input(g, "h", tensor.Float32, 5))}, "", "h", "shape (5), but (4)"},
		{"mask of another type", map[string]*gorgonia.Node{"x": x}, []gorgoniaplugin.Option{gorgoniaplugin.WithMask(wide)}, "", "wide in", "float64"},
		{"mask is weights", map[string]*gorgonia.Node{"x": x}, []gorgoniaplugin.Option{gorgoniaplugin.WithWeights(w), gorgoniaplugin.WithMask(w)}, "", "w", "already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := gorgoniaplugin.Bind(newLoader(t, batchOf4, drop, mixed), c.nodes, c.opts...)
			require.Nil(t, f)
			require.ErrorContains(t, err, c.text)
			var bind *gorgoniaplugin.BindError
			require.ErrorAs(t, err, &bind)
			require.Equal(t, c.output, bind.Output)
			require.Equal(t, c.node, bind.Node)
			if c.node != "" {
				require.ErrorContains(t, err, `node "`+c.node+`"`)
			}
		})
	}
	_, err := gorgoniaplugin.Bind(newLoader(t, batchOf4, drop, mixed), map[string]*gorgonia.Node{"pictures": x})
	require.ErrorIs(t, err, gorgoniaplugin.ErrRagged)
}

func TestNewRefusesWeightsThatDoNotFit(t *testing.T) {
	g := gorgonia.NewGraph()
	w := input(g, "w", tensor.Float32, 5)
	_, err := gorgoniaplugin.New(g, newLoader(t, batchOf4, drop, numbered(8, 0)), gorgoniaplugin.WithWeights(w))
	require.EqualError(t, err, `gorgoniaplugin: node "w": the node has shape (5), but (4) is what the batches have`)
	require.Equal(t, gorgonia.Nodes{w}, g.AllNodes(), "the graph must stay as it was")
}

func TestArgumentsThatAreMissing(t *testing.T) {
	g := gorgonia.NewGraph()
	l := newLoader(t, batchOf4, drop, numbered(8, 0))
	_, err := gorgoniaplugin.New(nil, l)
	require.ErrorContains(t, err, "no graph")
	_, err = gorgoniaplugin.New(g, nil)
	require.ErrorContains(t, err, "no loader")
	_, err = gorgoniaplugin.Bind(l, nil)
	require.ErrorContains(t, err, "no nodes")
	_, err = gorgoniaplugin.Bind(l, map[string]*gorgonia.Node{"x": input(g, "in", tensor.Float32, 4, features)}, gorgoniaplugin.Outputs("x"))
	require.ErrorContains(t, err, "Outputs is for New")

	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	require.ErrorContains(t, f.Attach(nil), "no machine")
	require.ErrorIs(t, onlyError(t, f), gorgoniaplugin.ErrNotAttached)
	require.PanicsWithError(t, `gorgoniaplugin: output "z": the feed has no node for it; it has ["x" "y"]`, func() { f.Node("z") })
}

func TestLoaderOfSeveralPipelines(t *testing.T) {
	half := func(id int) *pipeline.Pipeline {
		p, err := pipeline.New(batchOf4, func(g *pipeline.Graph) {
			x, _ := dataset(16, 0)
			v := readers.Slices(g, readers.SlicesOptions{NumShards: 2, ShardID: id}, readers.Rows(x, features))
			g.Output("x", v[0])
		})
		require.NoError(t, err)
		return p
	}
	l, err := iterator.New(drop, half(0), half(1))
	require.NoError(t, err)
	defer l.Close()
	_, err = gorgoniaplugin.New(gorgonia.NewGraph(), l)
	require.ErrorContains(t, err, "the loader has 2 pipelines, a feed serves one")
}

// A position that other ranks reached may leave rows over that no plan of this
// loader has.
func TestShortBatchThatNobodyExpected(t *testing.T) {
	loader := func(shards, batch int) *iterator.Loader {
		return newLoader(t, pipeline.Options{BatchSize: batch}, iterator.Options{}, func(g *pipeline.Graph) {
			x, _ := dataset(24, 0)
			v := readers.Slices(g, readers.SlicesOptions{NumShards: shards}, readers.Rows(x, features))
			g.Output("x", v[0])
		})
	}
	three, two := loader(3, 4), loader(2, 4)
	_, err := three.Next(context.Background())
	require.NoError(t, err)
	pos, err := three.Position()
	require.NoError(t, err)

	f, err := gorgoniaplugin.New(gorgonia.NewGraph(), two)
	require.NoError(t, err)
	gorgonia.Must(gorgonia.Sum(f.Node("x")))
	vm := gorgonia.NewTapeMachine(f.Node("x").Graph())
	defer vm.Close()
	require.NoError(t, f.Attach(vm))
	require.NoError(t, two.Seek(pos))
	var last error
	for b, err := range f.Epoch(context.Background()) {
		require.True(t, err != nil || b.NumValid() == b.Size())
		last = err
	}
	require.ErrorIs(t, last, gorgoniaplugin.ErrUnmasked)
	require.ErrorContains(t, last, "rows are valid in step")
	requireZeros(t, f.Node("x"))
}
