package pipeline

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/affinity"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// What the machine cannot hold is an error of New that names the options or the operator.
func TestPipelinesThatTheMachineCannotHold(t *testing.T) {
	const huge = 1 << 45
	machine := int(memstats.MachineMemory())
	wide := func(g *Graph, n int) Value {
		return jitter(g, datum.Spec{DType: datum.Uint8, Shape: []int{n}}, g.Read(ReaderOptions{}, numbers{n: 1})[0], nil)
	}
	show := func(n int) func(*Graph) { return func(g *Graph) { g.Output("x", wide(g, n)) } }
	ragged := func(g *Graph) {
		g.Output("x", jitter(g, datum.Spec{DType: datum.Uint8, Shape: []int{-1}}, g.Read(ReaderOptions{}, numbers{n: 1})[0], nil))
	}
	hidden := func(g *Graph) {
		g.Output("x", jitter(g, datum.Spec{DType: datum.Int32}, jitter(g, datum.Spec{DType: datum.Int32, Shape: []int{machine}}, g.Read(ReaderOptions{}, numbers{n: 1})[0], nil), nil))
	}
	for name, c := range map[string]struct {
		o      Options
		define func(*Graph)
		op     string
	}{
		"PrefetchDepth":      {Options{BatchSize: 1, PrefetchDepth: 1 << 40}, show(1), "options"},
		"PrefetchDepth, all": {Options{BatchSize: 1, PrefetchDepth: math.MaxInt}, show(1), "options"},
		"BatchSize":          {Options{BatchSize: huge}, show(1), "options"},
		"BatchSize, all":     {Options{BatchSize: math.MaxInt}, show(1), "options"},
		"BatchSize, ragged":  {Options{BatchSize: huge}, ragged, "options"},
		"Workers":            {Options{BatchSize: 1, Workers: 1 << 40}, show(1), "options"},
		"Workers, more":      {Options{BatchSize: 1, Workers: 1 << 62}, show(1), "options"},
		"Workers, pinned":    {Options{BatchSize: 1, Workers: 1 << 40, SetAffinity: canPin()}, show(1), "options"},
		"a sample":           {Options{BatchSize: 1}, show(machine + 1), "jitter"},
		"a hidden one":       {Options{BatchSize: 1}, hidden, "jitter"},
		"a batch":            {Options{BatchSize: 1 << 10}, show(machine >> 9), "jitter"},
		"batches":            {Options{BatchSize: 1, PrefetchDepth: 9}, show(machine / 9), "jitter"},
		"outputs":            {Options{BatchSize: 1, PrefetchDepth: 1}, func(g *Graph) { g.Output("x", wide(g, machine/3)); g.Output("y", wide(g, machine/3)) }, "jitter#2"},
		"of whole batches": {Options{BatchSize: 1}, func(g *Graph) {
			g.Output("x", g.AddBatch(BatchOp{
				Name: "whole", Inputs: []Value{wide(g, 1)}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{machine}}},
				New: func() (batchop.Kernel, error) {
					return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error { return nil }), nil
				},
			})[0])
		}, "whole"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.o, c.define)
			var bad *BuildError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, c.op, bad.Op)
			var over *memstats.RoomError
			require.ErrorAs(t, err, &over)
			require.Greater(t, over.Need, over.Machine)
		})
	}
	for _, shape := range [][]int{{math.MaxInt, 2}, {1 << 40, 1 << 40}} {
		_, err := New(Options{BatchSize: 1}, func(g *Graph) {
			g.Output("x", jitter(g, datum.Spec{DType: datum.Uint8, Shape: shape}, g.Read(ReaderOptions{}, numbers{n: 1})[0], nil))
		})
		require.ErrorContains(t, err, "pipeline: jitter: output 0 is uint8 ")
		require.ErrorContains(t, err, "an int must hold the number of its bytes")
	}
}

// What only a sample shows is the error of the sample.
func TestSamplesThatTheMachineCannotHold(t *testing.T) {
	for name, run := range map[string]func(*datum.Sample, *datum.Tensor) error{
		"resize": func(_ *datum.Sample, out *datum.Tensor) error { _, err := out.Resize(1<<20, 4, 1<<20); return err },
		"machine": func(_ *datum.Sample, out *datum.Tensor) error {
			_, err := out.Resize(int(memstats.MachineMemory()), 1, 1)
			return err
		},
		"dropped": func(_ *datum.Sample, out *datum.Tensor) error { _, _ = out.Resize(1<<20, 1<<20, 4); return nil },
		"beside":  func(c *datum.Sample, _ *datum.Tensor) error { return c.Reserve(memstats.MachineMemory()) },
	} {
		good, bad := rowsOf(t, Options{Workers: 2}, func(g *Graph) Value {
			return g.Add(Op{
				Name: "jitter", Inputs: g.Read(ReaderOptions{}, numbers{n: 40}), Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1, -1, -1}}},
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(c *datum.Sample, in, out []*datum.Tensor) error {
						if in[0].Int32s()[0] == 3 {
							return run(c, out[0])
						}
						_, err := out[0].Resize(1, 2, 3)
						return err
					}), nil
				},
			})[0]
		})
		require.Len(t, good, 39, name)
		var over *memstats.RoomError
		require.ErrorAs(t, bad[3], &over, name)
		require.Equal(t, "jitter", bad[3].Op)
	}
}

// canPin reports whether SetAffinity is possible here.
func canPin() bool {
	_, err := affinity.Allowed()
	return err == nil
}
