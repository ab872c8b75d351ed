package pipeline

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Batch is one batch of a pipeline. Its memory is the pipeline's: it is valid
// until it is released, and then used again for another batch. Its holder may
// overwrite it.
//
// Methods that take the name of an output panic if there is none of that name,
// or if it has another element type than the method returns. After the release they
// panic with ErrReleased, as long as the memory is not in use for another batch; what
// they returned before shows what that holds then. Builds with the tag
// invariants overwrite it at the release, floats with NaN. The end of the run, such as
// an iterator's Close, frees the memory of batches that are still held as well: methods
// that take the name of an output panic with ErrClosed then, and what they returned
// before must not be used any more. Page-locked memory and that of a device are gone.
type Batch struct {
	p           *Pipeline
	seq         int64
	slot        int
	epoch, step int64
	outs        []batchOutput
	ids         []int64
	epochs      []int64 // by row, of the sample in its source; nil without a mix
	mask        []bool
	errs        []*SampleError // by row, nil where the sample is good
	valid       int
	bad         int
	refs        atomic.Int32
	gone        atomic.Bool // its memory was freed
	consumer    *consumer
	memory      keeper
	slabs       [parts]*slab    // memory of dense outputs, nil while the batch has none of a part
	result      executor.Result // the hold on the loop's iteration
}

// batchOutput is the memory of one output: one array where the spec is dense, a
// part of one of the batch's slabs, else one tensor per row.
type batchOutput struct {
	alias    int // the first output that shows the same value
	dense    []byte
	rowBytes int
	ragged   []cell
	mu       sync.Mutex // guards the buffers of ragged rows while workers make them
	top      int        // bytes of the largest ragged row since rows were last shrunk
	uses     int        // of the batch since then
	shape    []int      // with the batch dimension first
}

func (o *batchOutput) row(i int) []byte { return o.dense[i*o.rowBytes : (i+1)*o.rowBytes] }

func newBatch(r *hostRegion, slot int) (*Batch, error) {
	p, n := r.p, r.p.opt.BatchSize
	b := &Batch{
		p: p, slot: slot, consumer: &r.consumer, memory: r.memory, outs: make([]batchOutput, len(p.outputs)),
		ids: make([]int64, n), mask: make([]bool, n), errs: make([]*SampleError, n),
	}
	own, err := p.newSlab(ofBatch, r.use(ofBatch, slot))
	if err != nil {
		return nil, err
	}
	own.lend(b)
	for i, out := range p.outputs {
		o := &b.outs[i]
		o.alias = p.alias(i)
		o.shape = append([]int{n}, out.spec.Shape...)
		if out.spec.Dense() {
			o.rowBytes = out.spec.Bytes()
		} else if o.ragged, err = r.newRagged(&p.outputs[i].spec, p.hints[out.value]); err != nil {
			b.free()
			return nil, err
		}
	}
	return b, nil
}

// newRagged returns the rows of a ragged output, each presized to hint bytes.
func (r *hostRegion) newRagged(spec *datum.Spec, hint int) ([]cell, error) {
	rows := make([]cell, r.p.opt.BatchSize)
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

func (b *Batch) free() {
	b.gone.Store(true)
	b.slabs[ofBatch].free()
	for i := range b.outs {
		for j := range b.outs[i].ragged {
			b.outs[i].ragged[j].buf.Free()
		}
	}
}

// begin readies the batch for another use, but for the memory of its rows, which is
// trim's business.
func (b *Batch) begin(seq, epoch, step int64) {
	b.seq, b.epoch, b.step = seq, epoch, step
	b.valid, b.bad = 0, 0
	clear(b.errs)
}

// void makes a row not valid: zero, or empty where the output is ragged.
func (b *Batch) void(row int) {
	b.mask[row] = false
	for i := range b.outs {
		o := &b.outs[i]
		if b.p.batchMade(i) { // its operator comes later, and sees the mask
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
func (b *Batch) replace(row, from int) {
	for i := range b.outs {
		o := &b.outs[i]
		if b.p.batchMade(i) {
			continue
		}
		if o.dense != nil {
			copy(o.row(row), o.row(from))
		} else if err := o.ragged[row].CopyFrom(&o.ragged[from].Tensor); err != nil {
			panic(err) // a ragged row accepts every shape
		}
	}
	b.ids[row], b.mask[row] = b.ids[from], true
}

// finish applies the error policy when every row is done.
func (b *Batch) finish() {
	for row, err := range b.errs {
		if err != nil {
			b.bad++
			if b.p.opt.OnError == Replace {
				if from := b.nearestGood(row); from >= 0 {
					b.replace(row, from)
				}
			}
		}
	}
	for _, ok := range b.mask {
		if ok {
			b.valid++
		}
	}
}

// nearestGood returns the nearest earlier row whose own sample is good, else
// the next one, or -1.
func (b *Batch) nearestGood(row int) int {
	good := func(i int) bool { return b.mask[i] && b.errs[i] == nil }
	for i := row - 1; i >= 0; i-- {
		if good(i) {
			return i
		}
	}
	for i := row + 1; i < len(b.mask); i++ {
		if good(i) {
			return i
		}
	}
	return -1
}

// Retain keeps the batch from being used again until Release is called once
// more. It occupies one of the pipeline's PrefetchDepth + 1 batches meanwhile,
// of DevicePrefetchDepth + 1 where that is set. Close does not wait for the release.
func (b *Batch) Retain() { b.refs.Add(1) }

// Release gives the batch back; a loop over an epoch does it by itself. It may
// be called from any goroutine.
func (b *Batch) Release() {
	switch n := b.refs.Add(-1); {
	case n < 0:
		panic(fmt.Errorf("%w: it was released more often than it was taken", ErrReleased))
	case n == 0:
		res := b.result // the batch may be in use again before Release returns
		b.consumer.released(b)
		b.tell(b.p.opt.Events.BatchReleased)
		b.poison()
		b.returnSlab(ofDevice)
		b.memory.returned(b)
		res.Release()
		// Last of all: from here on a Reset in another goroutine may end the run.
		b.consumer.held.Add(-1)
	}
}

// Epoch returns the number of the batch's epoch, from 0.
func (b *Batch) Epoch() int64 { return b.epoch }

// Step returns the number of the batch in its epoch, from 0.
func (b *Batch) Step() int64 { return b.step }

// Size returns the number of rows, valid or not: the pipeline's batch size.
func (b *Batch) Size() int { return len(b.mask) }

// NumValid returns the number of valid rows: the first ones, unless samples were
// skipped (Mask). Rows that are not valid are zero.
func (b *Batch) NumValid() int { return b.valid }

// Mask says of every row whether it is valid.
func (b *Batch) Mask() []bool { return b.mask }

// IDs returns the number of every row's sample in the first reader, -1 where the row is
// not valid and has none. With a Split it counts in the part that the reader shows, and
// in a Graph.Mix through the sources; see Reader.WholeIndex and Reader.Locate.
func (b *Batch) IDs() []int64 { return b.ids }

// Errors returns the errors of the samples of this batch that were skipped or
// replaced, by row; nil for good ones.
func (b *Batch) Errors() []*SampleError { return b.errs }

// Names returns the names of the outputs.
func (b *Batch) Names() []string { return b.p.Outputs() }

// Dense reports whether every sample of an output has the same shape, so that
// the batch is one array.
func (b *Batch) Dense(name string) bool { return b.out(name).dense != nil }

// Shape returns the shape of an output: the batch size, then the shape of a
// sample with -1 where it differs.
func (b *Batch) Shape(name string) []int { return b.out(name).shape }

// DType returns the element type of an output.
func (b *Batch) DType(name string) datum.DType { return b.p.outputs[b.index(name)].spec.DType }

// Bytes returns the memory of a dense output; see OnDevice.
func (b *Batch) Bytes(name string) []byte {
	o := b.out(name)
	if o.dense == nil {
		panic(fmt.Sprintf("pipeline: output %q is ragged (%s): use Sample", name, b.p.outputs[b.index(name)].spec))
	}
	return o.dense
}

// Sample returns row i of an output, dense or ragged. It allocates for a dense
// one, and panics if there is no such row.
func (b *Batch) Sample(name string, i int) *datum.Tensor {
	n := b.index(name)
	o := &b.outs[n]
	if i < 0 || i >= b.Size() {
		panic(fmt.Sprintf("pipeline: no row %d of output %q; the batch has %d rows, counted from 0", i, name, b.Size()))
	}
	if o.dense == nil {
		return &o.ragged[i].Tensor
	}
	t := new(datum.Tensor)
	t.Declare(&b.p.outputs[n].spec)
	t.Bind(o.row(i))
	t.Fill()
	return t
}

// Float32s returns the elements of a dense float32 output, rows one after the
// other; the other typed methods do the same for their types.
func (b *Batch) Float32s(name string) []float32 { return typed[float32](b, name, datum.Float32) }

func (b *Batch) Float64s(name string) []float64 { return typed[float64](b, name, datum.Float64) }
func (b *Batch) Uint8s(name string) []uint8     { return typed[uint8](b, name, datum.Uint8) }
func (b *Batch) Int32s(name string) []int32     { return typed[int32](b, name, datum.Int32) }
func (b *Batch) Int64s(name string) []int64     { return typed[int64](b, name, datum.Int64) }

func typed[T datum.Element](b *Batch, name string, want datum.DType) []T {
	mem := b.Bytes(name)
	if got := b.DType(name); got != want {
		panic(fmt.Sprintf("pipeline: output %q is %s, not %s", name, got, want))
	}
	return datum.View[T](mem)
}

func (b *Batch) out(name string) *batchOutput { return &b.outs[b.index(name)] }

func (b *Batch) index(name string) int {
	if b.refs.Load() <= 0 {
		panic(ErrReleased)
	}
	if b.gone.Load() {
		panic(ErrClosed)
	}
	i := b.p.output(name)
	if i < 0 {
		panic(fmt.Sprintf("pipeline: no output %q; the outputs are %q", name, b.p.Outputs()))
	}
	return i
}
