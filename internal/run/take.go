package run

import (
	"fmt"
	"unsafe"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/fault"
)

// Take is described at pipeline.Batch.Take. The flight is the consumer's, so nobody else
// looks at its memory.
func (f *Flight) Take(name string) ([]byte, error) {
	old, i := f.Bytes(name), f.index(name)
	o := &f.p.Outputs()[i]
	if o.Kind != memstats.Host {
		panic(fmt.Sprintf("pipeline: output %q is in %s memory, which belongs to the pipeline's device: only memory of the host can be taken", name, o.Kind))
	}
	if len(old) == 0 {
		return old, nil
	}
	for k := range f.slabs[o.Part].held {
		h := &f.slabs[o.Part].held[k]
		if unsafe.SliceData(h.mem) != unsafe.SliceData(old) {
			continue
		}
		mem, err := h.pool.Alloc(len(old))
		if err != nil {
			return nil, &fault.MemoryError{Op: f.p.Maker(i), Kind: o.Kind, Bytes: int64(len(old)), Err: err}
		}
		h.pool.Forget(h.mem)
		h.mem = mem
		mem = mem[:len(old):len(old)]
		f.slabs[o.Part].dense[i], f.outs[i].dense = mem, mem
		return old, nil
	}
	panic(fmt.Sprintf("pipeline: the memory of output %q is in no slab", name))
}
