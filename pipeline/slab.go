package pipeline

import (
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

// part is what the memory of a dense output belongs to: the batch, from its
// beginning to its release, or where the parts of the pipeline have prefetch depths
// of their own, one of them.
type part uint8

const (
	ofBatch  part = iota
	ofHost        // from the sample region to the operators that read it there
	ofDevice      // from the operators for whole batches to the release

	parts = iota
)

// partOf returns what an output's memory belongs to.
func (p *Pipeline) partOf(output int) part {
	switch {
	case !p.opt.depths():
		return ofBatch
	case p.batchMade(output):
		return ofDevice
	case output < p.shown:
		return ofBatch
	}
	return ofHost
}

// slabCount returns how many slabs of a part there are at the most.
func (p *Pipeline) slabCount(of part) int {
	switch {
	case of == ofHost && p.opt.depths():
		return p.opt.HostPrefetchDepth + 1
	case of == ofDevice && p.opt.depths():
		return p.opt.DevicePrefetchDepth + 1
	case of == ofBatch:
		return p.slots()
	}
	return 0
}

// slab is the memory of the dense outputs of one part, for one batch.
type slab struct {
	of    part
	from  *slots   // that it is given back to; nil of a batch
	dense [][]byte // by output, nil where it belongs to another part
	held  []held
}

// held is memory of a pool.
type held struct {
	pool *memstats.Pool
	mem  []byte
}

// newSlab allocates a slab. The error is a *MemoryError.
func (p *Pipeline) newSlab(of part, use *memoryUse) (*slab, error) {
	s := &slab{of: of, dense: make([][]byte, len(p.outputs))}
	for i, out := range p.outputs {
		if !out.spec.Dense() || p.partOf(i) != of {
			continue
		}
		if !p.ownsMemory(i) {
			s.dense[i] = s.dense[p.alias(i)]
			continue
		}
		n := p.opt.BatchSize * out.spec.Bytes()
		if n == 0 {
			s.dense[i] = []byte{}
			continue
		}
		pool := p.poolOf(out.kind)
		mem, err := pool.Alloc(n)
		if err != nil {
			s.free()
			return nil, &MemoryError{Op: p.maker(i), Kind: out.kind, Bytes: int64(n), Err: err}
		}
		s.held = append(s.held, held{pool, mem})
		s.dense[i] = mem[:n:n]
		use.noteDense(out.value, out.spec.Bytes(), n, p.alias(i) == i)
	}
	return s, nil
}

func (s *slab) free() {
	for _, h := range s.held {
		h.pool.Free(h.mem)
	}
	s.held = nil
}

// lend makes the slab a part of a batch.
func (s *slab) lend(b *Batch) {
	b.slabs[s.of] = s
	for i, mem := range s.dense {
		if mem != nil {
			b.outs[i].dense = mem
		}
	}
}

// takeSlab ends lend. It returns nil if there was no slab.
func (b *Batch) takeSlab(of part) *slab {
	s := b.slabs[of]
	if s == nil {
		return nil
	}
	b.slabs[of] = nil
	for i, mem := range s.dense {
		if mem != nil {
			b.outs[i].dense = nil
		}
	}
	return s
}

// alias returns the first output that shows the same value as output i.
func (p *Pipeline) alias(i int) int {
	for j := range p.outputs[:i] {
		if p.outputs[j].value == p.outputs[i].value {
			return j
		}
	}
	return i
}

// ownsMemory reports whether an output has memory of its own. One in the memory of
// a device that shows a value again has not: the host could not copy it.
func (p *Pipeline) ownsMemory(i int) bool {
	return p.alias(i) == i || p.outputs[i].kind != memstats.Device
}

// maker returns the name of the operator or reader that makes an output.
func (p *Pipeline) maker(output int) string {
	v := p.outputs[output].value
	for i, name := range p.nodeNames() {
		for _, out := range p.nodes[i].out {
			if out == v && name != "" {
				return name
			}
		}
	}
	for i, name := range p.batchOpNames() {
		for _, out := range p.batchOps[i].out {
			if p.outputs[out].value == v {
				return name
			}
		}
	}
	return "if or while" // whose results are moved where they belong
}

// denseBytes returns what the dense outputs of all batches take of the host,
// page-locked memory included, and of the device.
func (p *Pipeline) denseBytes() (host, device int64) {
	for i, o := range p.outputs {
		n := p.denseBytesOf(i)
		if o.kind == memstats.Device {
			device = addCapped(device, n)
		} else {
			host = addCapped(host, n)
		}
	}
	return host, device
}

func (p *Pipeline) denseBytesOf(output int) int64 {
	o := &p.outputs[output]
	if !o.spec.Dense() || !p.ownsMemory(output) {
		return 0
	}
	return mulCapped(mulCapped(int64(p.slabCount(p.partOf(output))), int64(p.opt.BatchSize)), int64(o.spec.Bytes()))
}

// checkBudgets refuses a budget that the dense outputs do not fit into, naming the
// first operator whose outputs do not.
func (p *Pipeline) checkBudgets() error {
	host, device := p.denseBytes()
	limits := [...]struct {
		option            string
		budget, all, used int64
	}{
		{"MemoryBudget", p.opt.MemoryBudget, host, 0},
		{"DeviceMemoryBudget", p.opt.DeviceMemoryBudget, device, 0},
	}
	for i, o := range p.outputs {
		l := &limits[0]
		if o.kind == memstats.Device {
			l = &limits[1]
		}
		n := p.denseBytesOf(i)
		if l.budget > 0 && addCapped(l.used, n) > l.budget {
			return &BuildError{Op: p.maker(i), Err: fmt.Errorf("the dense outputs of all batches in flight count against %s: %w",
				l.option, &memstats.BudgetError{Need: l.all - l.used, Used: l.used, Limit: l.budget})}
		}
		l.used = addCapped(l.used, n)
	}
	return nil
}
