package run

import (
	"fmt"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/fault"
)

// slab is the memory of the dense outputs of one part, for one batch.
type slab struct {
	of    compiled.Part
	from  *slabDispenser // that it is given back to; nil of a batch
	dense [][]byte       // by output, nil where it belongs to another part
	held  []held
}

// held is memory of a pool.
type held struct {
	pool *memstats.Pool
	mem  []byte
}

// newSlab allocates a slab. The error is a *fault.MemoryError.
func (e *Engine) newSlab(of compiled.Part, use *memoryUse) (*slab, error) {
	p := e.p
	s := &slab{of: of, dense: make([][]byte, len(p.Outputs()))}
	for i, out := range p.Outputs() {
		if !out.Spec.Dense() || out.Part != of {
			continue
		}
		if !out.Owns {
			s.dense[i] = s.dense[out.Alias]
			continue
		}
		n := p.Options().BatchSize * out.Spec.Bytes()
		if n == 0 {
			s.dense[i] = []byte{}
			continue
		}
		pool := e.outputPool(i)
		mem, err := pool.Alloc(n)
		if err != nil {
			s.free()
			return nil, &fault.MemoryError{Op: p.Maker(i), Kind: out.Kind, Bytes: int64(n), Err: err}
		}
		s.held = append(s.held, held{pool, mem})
		s.dense[i] = mem[:n:n]
		use.noteDense(out.Value, out.Spec.Bytes(), n, out.Alias == i)
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
func (s *slab) lend(f *Flight) {
	f.slabs[s.of] = s
	for i, mem := range s.dense {
		if mem != nil {
			f.outs[i].dense = mem
		}
	}
}

// takeSlab ends lend. It returns nil if there was no slab.
func (f *Flight) takeSlab(of compiled.Part) *slab {
	s := f.slabs[of]
	if s == nil {
		return nil
	}
	f.slabs[of] = nil
	for i, mem := range s.dense {
		if mem != nil {
			f.outs[i].dense = nil
		}
	}
	return s
}

// checkBudgets refuses a budget that the dense outputs do not fit into, naming the
// first operator whose outputs do not.
func checkBudgets(p *compiled.Pipeline) error {
	host, device := p.DenseBytes()
	limits := [...]struct {
		option            string
		budget, all, used int64
	}{
		{"MemoryBudget", p.Options().MemoryBudget, host + p.Options().IndexBytes, p.Options().IndexBytes},
		{"DeviceMemoryBudget", p.Options().DeviceMemoryBudget, device, 0},
	}
	for i, o := range p.Outputs() {
		l := &limits[0]
		if o.Kind == memstats.Device {
			l = &limits[1]
		}
		n := p.DenseBytesOf(i)
		if l.budget > 0 && compiled.AddCapped(l.used, n) > l.budget {
			return &fault.BuildError{Op: p.Maker(i), Err: fmt.Errorf("the dense outputs of all batches in flight count against %s: %w",
				l.option, &memstats.BudgetError{Need: l.all - l.used, Used: l.used, Limit: l.budget})}
		}
		l.used = compiled.AddCapped(l.used, n)
	}
	return nil
}
