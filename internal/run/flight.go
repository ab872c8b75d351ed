package run

import (
	"fmt"
	"sync/atomic"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
)

// Flight is all that belongs to one batch while it is being made, waits and is held. A
// run has one for each slot of its loop, found by Call.Slot, which serves one batch after
// the other. Programs know it as a pipeline.Batch, whose methods those with the same names
// are and are described there.
type Flight struct {
	r    *sampleRegion
	p    *compiled.Pipeline
	slot int

	// Of the batch that is in the slot:
	seq, epoch, step int64
	samples          [][]int64 // by reader: of the valid rows
	ids              []int64
	epochs           []int64 // by row, the visit of the sample; nil where that is the epoch
	mask             []bool
	errs             []*fault.SampleError // by row, nil where the sample is good
	valid, bad       int

	call   *executor.Call  // of the sample region, while rows are made
	err    error           // what ends the call in place of the batch
	result executor.Result // the hold on the loop's iteration, while the consumer has the batch
	refs   atomic.Int32

	outs  []batchOutput
	slabs [compiled.Parts]*slab // memory of dense outputs, nil while the batch has none of a part
	gone  atomic.Bool           // the memory was freed

	fetches  []fetch        // by reader that reads ahead; each is its own
	ops      []opWork       // by operator for whole batches
	setAside map[int][]cell // by row: what a sequence has delivered for a sample that gave up; the arbiter's
}

// newFlight allocates a flight and its memory.
func newFlight(r *sampleRegion, slot int) (*Flight, error) {
	n := r.p.Options().BatchSize
	f := &Flight{
		r: r, p: r.p, slot: slot,
		samples: make([][]int64, len(r.p.Readers())), ids: make([]int64, n), mask: make([]bool, n), errs: make([]*fault.SampleError, n),
		fetches: make([]fetch, len(r.aheads)), ops: make([]opWork, len(r.p.BatchOps())),
	}
	if err := f.newOutputs(); err != nil {
		return nil, err
	}
	return f, nil
}

// begin readies the flight for a batch, but for the memory of its rows, which is trim's
// business.
func (f *Flight) begin(seq, epoch, step int64) {
	for i, a := range f.r.aheads {
		a.forget(&f.fetches[i])
	}
	f.seq, f.epoch, f.step = seq, epoch, step
	f.valid, f.bad = 0, 0
	clear(f.errs)
}

// hold has the flight be found while its rows are made, in a call of the sample region.
func (f *Flight) hold(c *executor.Call) {
	f.r.flights[f.slot] = f
	f.trim()
	f.call, f.err = c, nil
}

// complete ends the call of the sample region. The flight may have its next batch before
// complete returns.
func (f *Flight) complete() {
	f.finish()
	f.rowsDone()
	f.r.use(compiled.OfBatch, f.slot).noteRagged(f)
	f.tell(f.p.Options().Events.BatchMade)
	c, err := f.call, f.err
	f.call, f.err = nil, nil
	c.Done(err)
}

// finish applies the error policy when every row is done.
func (f *Flight) finish() {
	for row, err := range f.errs {
		if err != nil {
			f.bad++
			if f.p.Options().OnError == compiled.Replace {
				if from := f.nearestGood(row); from >= 0 {
					f.replace(row, from)
				}
			}
		}
	}
	for _, ok := range f.mask {
		if ok {
			f.valid++
		}
	}
}

// nearestGood returns the nearest earlier row whose own sample is good, else
// the next one, or -1.
func (f *Flight) nearestGood(row int) int {
	good := func(i int) bool { return f.mask[i] && f.errs[i] == nil }
	for i := row - 1; i >= 0; i-- {
		if good(i) {
			return i
		}
	}
	for i := row + 1; i < len(f.mask); i++ {
		if good(i) {
			return i
		}
	}
	return -1
}

func (f *Flight) Retain() { f.refs.Add(1) }

func (f *Flight) Release() {
	switch n := f.refs.Add(-1); {
	case n < 0:
		panic(fmt.Errorf("%w: it was released more often than it was taken", fault.ErrReleased))
	case n == 0:
		res := f.result // the flight may have its next batch before Release returns
		f.r.consumer.released(f)
		f.tell(f.p.Options().Events.BatchReleased)
		f.poison()
		f.returnSlab(compiled.OfDevice)
		f.r.memory.returned(f)
		res.Release()
		// Last of all: from here on a Reset in another goroutine may end the run.
		f.r.consumer.held.Add(-1)
	}
}

func (f *Flight) Epoch() int64                  { return f.epoch }
func (f *Flight) Step() int64                   { return f.step }
func (f *Flight) NumValid() int                 { return f.valid }
func (f *Flight) Mask() []bool                  { return f.mask }
func (f *Flight) IDs() []int64                  { return f.ids }
func (f *Flight) Errors() []*fault.SampleError  { return f.errs }
func (f *Flight) Names() []string               { return f.p.OutputNames() }
func (f *Flight) Dense(name string) bool        { return f.out(name).dense != nil }
func (f *Flight) Shape(name string) []int       { return f.out(name).shape }
func (f *Flight) DType(name string) datum.DType { return f.p.Outputs()[f.index(name)].Spec.DType }
func (f *Flight) OnDevice(name string) bool     { return f.out(name).OnDevice() }

func (f *Flight) Bytes(name string) []byte {
	o := f.out(name)
	if o.dense == nil {
		panic(fmt.Sprintf("pipeline: output %q is ragged (%s): use Sample", name, f.p.Outputs()[f.index(name)].Spec))
	}
	return o.dense
}

// Elements is Bytes of an output that is of the type is.
func (f *Flight) Elements(name string, is datum.DType) []byte {
	mem := f.Bytes(name)
	if got := f.DType(name); got != is {
		panic(fmt.Sprintf("pipeline: output %q is %s, not %s", name, got, is))
	}
	return mem
}

func (f *Flight) Sample(name string, i int) *datum.Tensor {
	n := f.index(name)
	o := &f.outs[n]
	if i < 0 || i >= len(f.mask) {
		panic(fmt.Sprintf("pipeline: there is no row %d of output %q; the batch has %d rows, counted from 0", i, name, len(f.mask)))
	}
	if o.dense == nil {
		return &o.ragged[i].Tensor
	}
	c := new(datum.Cell)
	c.Declare(&f.p.Outputs()[n].Spec)
	c.Bind(o.row(i))
	c.Fill()
	return &c.Tensor
}

func (f *Flight) out(name string) *batchOutput { return &f.outs[f.index(name)] }

func (f *Flight) index(name string) int {
	if f.refs.Load() <= 0 {
		panic(fault.ErrReleased)
	}
	if f.gone.Load() {
		panic(fault.ErrClosed)
	}
	return f.p.Output(name)
}
