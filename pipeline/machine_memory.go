package pipeline

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/planktonml/plankton/memstats"
)

// checkMachine refuses a pipeline that needs more memory from the beginning than the
// machine has, naming the operator whose outputs do, or the options. Memory from an
// Options.Allocator of the program's own may be more; it is asked when it is needed.
func (p *Pipeline) checkMachine() error {
	limit := memstats.MachineMemory()
	if n := p.ownBytes(); n > limit {
		return &BuildError{Op: "options", Err: fmt.Errorf("BatchSize %d, PrefetchDepth %d and %d workers: %w",
			p.opt.BatchSize, p.opt.PrefetchDepth, p.maxWorkers(), &memstats.MachineError{Need: n, Machine: limit})}
	}
	if _, heap := p.opt.Allocator.(memstats.Heap); p.opt.Allocator != nil && !heap {
		return nil
	}
	for i := range p.nodes {
		for _, v := range p.nodes[i].out {
			if spec := p.values[v].spec; spec.Dense() && int64(spec.Bytes()) > limit {
				return &BuildError{Op: p.nodes[i].op.Name, Err: fmt.Errorf("a sample of %s: %w", spec, &memstats.MachineError{Need: int64(spec.Bytes()), Machine: limit})}
			}
		}
	}
	var used int64
	for i, o := range p.outputs {
		if o.kind == memstats.Device {
			continue
		}
		if used = addCapped(used, p.denseBytesOf(i)); used > limit {
			return &BuildError{Op: p.maker(i), Err: fmt.Errorf("the dense outputs of %d batches of %d samples: %w",
				p.slabCount(p.partOf(i)), p.opt.BatchSize, &memstats.MachineError{Need: used, Machine: limit})}
		}
	}
	return nil
}

// ownBytes returns about what the pipeline needs for workers and batches beside the
// samples' data.
func (p *Pipeline) ownBytes() int64 {
	const goroutine = 8 << 10 // of stack
	worker := addCapped(goroutine, mulCapped(int64(len(p.values)), int64(unsafe.Sizeof(cell{}))))
	row := int64(8 + 1 + 8) // of ids, mask and errs
	for _, o := range p.outputs {
		if !o.spec.Dense() {
			row += int64(unsafe.Sizeof(cell{}))
		}
	}
	batches := mulCapped(addCapped(int64(p.opt.PrefetchDepth), 1), addCapped(int64(unsafe.Sizeof(Batch{})), mulCapped(int64(p.opt.BatchSize), row)))
	slots := mulCapped(int64(p.slots()), int64(unsafe.Sizeof(call{})))
	return addCapped(addCapped(mulCapped(int64(p.maxWorkers()), worker), batches), slots)
}

// mulCapped returns the product of two numbers that are not negative, at most MaxInt64.
func mulCapped(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// addCapped returns their sum, likewise.
func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
