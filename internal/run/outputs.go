package run

import (
	"fmt"
	"sync"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
)

// batchOutput is the memory of one output of a flight: one array where the spec is dense,
// a part of one of the flight's slabs, else one tensor per row.
type batchOutput struct {
	*compiled.Output
	dense    []byte
	rowBytes int
	ragged   []cell
	mu       sync.Mutex // guards the buffers of ragged rows while workers make them
	top      int        // bytes of the largest ragged row since rows were last shrunk
	uses     int        // of the flight since then
	shape    []int      // with the batch dimension first
}

func (o *batchOutput) row(i int) []byte { return o.dense[i*o.rowBytes : (i+1)*o.rowBytes] }

// newOutputs allocates the memory of the outputs that belongs to no other part.
func (f *Flight) newOutputs() error {
	p := f.p
	f.outs = make([]batchOutput, len(p.Outputs()))
	own, err := f.r.e.newSlab(compiled.OfBatch, f.r.use(compiled.OfBatch, f.slot))
	if err != nil {
		return err
	}
	own.lend(f)
	for i := range f.outs {
		o := &f.outs[i]
		o.Output = &p.Outputs()[i]
		o.shape = append([]int{p.Options().BatchSize}, o.Spec.Shape...)
		if o.Spec.Dense() {
			o.rowBytes = o.Spec.Bytes()
		} else if o.ragged, err = f.r.newRagged(&o.Spec, p.Hint(o.Value)); err != nil {
			f.free()
			return err
		}
	}
	return nil
}

// newRagged returns the rows of a ragged output, each presized to hint bytes.
func (r *sampleRegion) newRagged(spec *datum.Spec, hint int) ([]cell, error) {
	rows := make([]cell, r.p.Options().BatchSize)
	pool, presize := r.memory.rowPools()
	for i := range rows {
		rows[i].init(spec, pool)
		if hint == 0 {
			continue
		}
		if err := rows[i].buf.Reserve(presize, hint); err != nil {
			for j := range i {
				rows[j].buf.Free()
			}
			return nil, fmt.Errorf("pipeline: presizing ragged outputs: %w", err)
		}
	}
	return rows, nil
}

// free frees the memory of the outputs.
func (f *Flight) free() {
	f.gone.Store(true)
	f.slabs[compiled.OfBatch].free()
	for i := range f.outs {
		for j := range f.outs[i].ragged {
			f.outs[i].ragged[j].buf.Free()
		}
	}
}

// void makes a row not valid: zero, or empty where the output is ragged.
func (f *Flight) void(row int) {
	f.mask[row] = false
	for i := range f.outs {
		o := &f.outs[i]
		if o.Whole { // its operator comes later, and sees the mask
			continue
		}
		if o.dense != nil {
			clear(o.row(row))
			continue
		}
		o.ragged[row].Clear()
	}
}

// replace makes row a copy of row from, a good one.
func (f *Flight) replace(row, from int) {
	for i := range f.outs {
		o := &f.outs[i]
		if o.Whole {
			continue
		}
		if o.dense != nil {
			copy(o.row(row), o.row(from))
		} else if err := o.ragged[row].CopyFrom(&o.ragged[from].Tensor); err != nil {
			panic(err) // a ragged row accepts every shape
		}
	}
	f.ids[row], f.mask[row] = f.ids[from], true
}
