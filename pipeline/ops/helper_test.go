package ops_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// array is a sample of an output, its elements as float64.
type array struct {
	dtype  datum.DType
	layout datum.Layout
	shape  []int
	data   []float64
}

// epoch builds a pipeline and returns every sample of its first epoch by output,
// or the error that ended it.
func epoch(t *testing.T, o pipeline.Options, define func(g *pipeline.Graph)) (map[string][]array, error) {
	t.Helper()
	if o.BatchSize == 0 {
		o.BatchSize = 1
	}
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	return run(t, p)
}

func run(t *testing.T, p *pipeline.Pipeline) (map[string][]array, error) {
	t.Helper()
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	got := map[string][]array{}
	for b, err := range l.Epoch(t.Context()) {
		if err != nil {
			return got, err
		}
		for _, name := range p.Outputs() {
			for i, ok := range b.Mask() {
				if ok {
					got[name] = append(got[name], toArray(b.Sample(name, i)))
				}
			}
		}
	}
	return got, nil
}

func toArray(x *datum.Tensor) array {
	a := array{x.DType(), x.Layout(), slices.Clone(x.Shape()), make([]float64, x.Len())}
	if len(a.data) > 0 {
		to := unsafe.Slice((*byte)(unsafe.Pointer(&a.data[0])), 8*len(a.data))
		if err := imaging.Cast(to, datum.Float64, x.Bytes(), x.DType()); err != nil {
			panic(err)
		}
	}
	return a
}

// only is epoch for a pipeline with one column and one output, "out", that
// works.
func only(t *testing.T, column readers.Column, define func(g *pipeline.Graph, v pipeline.Value) pipeline.Value) []array {
	t.Helper()
	got, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
		g.Output("out", define(g, readers.Slices(g, readers.SlicesOptions{}, column)[0]))
	})
	require.NoError(t, err)
	return got["out"]
}

// fails is only for a sample that fails; it returns the message.
func fails(t *testing.T, column readers.Column, define func(g *pipeline.Graph, v pipeline.Value) pipeline.Value) string {
	t.Helper()
	_, err := epoch(t, pipeline.Options{}, func(g *pipeline.Graph) {
		g.Output("out", define(g, readers.Slices(g, readers.SlicesOptions{}, column)[0]))
	})
	var bad *pipeline.SampleError
	require.ErrorAs(t, err, &bad)
	require.NotErrorAs(t, err, new(*pipeline.PanicError))
	require.True(t, bad.Ended)
	bad.Ended = false // what it adds is the same for all
	return bad.Error()
}

// picture is a column of pictures of h×w×c bytes.
func picture(h, w, c int, data ...uint8) readers.Column {
	return readers.Rows(data, h, w, c).WithLayout(datum.HWC)
}

// ramp returns n numbers from 0 on.
func ramp(n int) []uint8 {
	data := make([]uint8, n)
	for i := range data {
		data[i] = uint8(i)
	}
	return data
}

// ragged makes every picture's size unknown until it runs.
func ragged(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	spec := v.Spec()
	return g.Add(pipeline.Op{
		Name: "ragged", Inputs: []pipeline.Value{v},
		Outputs: []datum.Spec{{DType: spec.DType, Layout: spec.Layout, Shape: []int{-1, -1, spec.Shape[2]}}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				return out[0].CopyFrom(in[0])
			}), nil
		},
	})[0]
}
