package run

import (
	"fmt"
	"unsafe"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/fault"
)

// checkRoom refuses a pipeline that needs more memory from the beginning than the
// machine has, naming the operator whose outputs do, or the options. Memory from an
// Options.Allocator of the program's own may be more; it is asked when it is needed.
func checkRoom(p *compiled.Pipeline) error {
	limit := memstats.MachineMemory()
	if n := ownBytes(p); n > limit {
		return &fault.BuildError{Op: "options", Err: fmt.Errorf("BatchSize %d, PrefetchDepth %d and %d workers: %w",
			p.Options().BatchSize, p.Options().PrefetchDepth, p.Options().MaxWorkers, &memstats.RoomError{Need: n, Machine: limit})}
	}
	if _, heap := p.Options().Allocator.(memstats.Heap); p.Options().Allocator != nil && !heap {
		return nil
	}
	for i := range p.Nodes() {
		for _, v := range p.Nodes()[i].Out {
			if spec := p.Values()[v].Spec; spec.Dense() && int64(spec.Bytes()) > limit {
				return &fault.BuildError{Op: p.Nodes()[i].Name, Err: fmt.Errorf("a sample of %s: %w", spec, &memstats.RoomError{Need: int64(spec.Bytes()), Machine: limit})}
			}
		}
	}
	var used int64
	for i, o := range p.Outputs() {
		if o.Kind == memstats.Device {
			continue
		}
		if used = compiled.AddCapped(used, p.DenseBytesOf(i)); used > limit {
			return &fault.BuildError{Op: p.Maker(i), Err: fmt.Errorf("the dense outputs of %d batches of %d samples: %w",
				p.SlabCount(p.Outputs()[i].Part), p.Options().BatchSize, &memstats.RoomError{Need: used, Machine: limit})}
		}
	}
	return nil
}

// ownBytes returns about what the pipeline needs for workers and batches beside the
// samples' data.
func ownBytes(p *compiled.Pipeline) int64 {
	const goroutine = 8 << 10 // of stack
	worker := compiled.AddCapped(goroutine, compiled.MulCapped(int64(len(p.Values())), int64(unsafe.Sizeof(cell{}))))
	row := int64(8 + 1 + 8) // of ids, mask and errs
	for _, o := range p.Outputs() {
		if !o.Spec.Dense() {
			row += int64(unsafe.Sizeof(cell{}))
		}
	}
	batches := compiled.MulCapped(compiled.AddCapped(int64(p.Options().PrefetchDepth), 1), compiled.AddCapped(int64(unsafe.Sizeof(Flight{})), compiled.MulCapped(int64(p.Options().BatchSize), row)))
	return compiled.AddCapped(compiled.MulCapped(int64(p.Options().MaxWorkers), worker), batches)
}
