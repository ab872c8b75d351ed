package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// LookupTableOptions configures LookupTable.
type LookupTableOptions struct {
	Keys    []int       // 0 … 65535; of equal ones the last counts
	Values  []float64   // what each becomes
	Default float64     // what other numbers become
	DType   datum.DType // default Float32; integers are rounded and saturate
}

// maxKey is the largest key of a table.
const maxKey = 1<<16 - 1

// LookupTable replaces integers by the values of a table, and by Default where they are no keys.
// The shape stays. Keys beyond 65535 are refused, as is an input that is not of integers.
func LookupTable(g *pipeline.Graph, v pipeline.Value, o LookupTableOptions) pipeline.Value {
	const name = "lookup_table"
	given(g, name, v)
	spec := v.Spec()
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	element(g, name, o.DType)
	if t := spec.DType; t.IsFloat() || t == datum.Bool {
		g.Fail(name, fmt.Errorf("the input is %s; integers are wanted", spec))
	}
	if len(o.Keys) != len(o.Values) {
		g.Fail(name, fmt.Errorf("%d keys and %d values; as many are wanted", len(o.Keys), len(o.Values)))
	}
	largest := -1
	for _, k := range o.Keys {
		if k < 0 || k > maxKey {
			g.Fail(name, fmt.Errorf("the key %d is not possible; keys are 0 … %d", k, maxKey))
		}
		largest = max(largest, k)
	}
	spec.DType, spec.Classes = o.DType, 0 // labels are no longer what they were
	if g.Err() != nil {
		return pipeline.Value{}
	}
	wide := make([]float64, largest+2) // the last is the default
	for i := range wide {
		wide[i] = o.Default
	}
	for i, k := range o.Keys {
		wide[k] = o.Values[i]
	}
	table := make([]byte, len(wide)*o.DType.Size())
	g.Fail(name, plain(imaging.Cast(table, o.DType, datum.BytesOf(wide), datum.Float64)))
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Config: fmt.Sprintf("%v %v %g %v", o.Keys, o.Values, o.Default, o.DType),
		New: func() (datum.Kernel, error) { return lookup{table, o.DType}, nil },
	})
}

type lookup struct {
	table []byte
	to    datum.DType
}

func (k lookup) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	dst, err := output(out[0], in[0], k.to)
	if err != nil {
		return err
	}
	return plain(imaging.Replace(dst, k.table, k.to.Size(), in[0].Bytes(), in[0].DType()))
}

// RunRows implements datum.RowsKernel.
func (k lookup) RunRows(_ int, in, out []datum.Rows) bool {
	return imaging.Replace(out[0].Data, k.table, k.to.Size(), in[0].Data, in[0].Spec.DType) == nil
}
