package pipeline

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/planktonml/plankton/memstats"
)

// SetBufferRules changes how the pipeline's buffers grow and shrink from now on;
// it may be called while the pipeline runs.
func (p *Pipeline) SetBufferRules(r memstats.Rules) error { return p.pool.SetRules(r) }

// BufferRules returns how the pipeline's buffers grow and shrink.
func (p *Pipeline) BufferRules() memstats.Rules { return p.pool.Rules() }

// setMemory readies the pool, and the sizes that buffers begin with.
func (p *Pipeline) setMemory() error {
	o := &p.opt
	rules := o.BufferRules
	if rules == nil {
		r, err := memstats.RulesFromEnv(os.LookupEnv)
		if err != nil {
			return err
		}
		rules = &r
	}
	pool, err := memstats.NewPool(memstats.PoolOptions{Allocator: o.Allocator, Rules: rules})
	if err != nil {
		return err
	}
	p.pool = pool
	if p.devicePools, err = newDevicePools(o.Device, rules); err != nil {
		return err
	}
	return p.setHints()
}

// setHints finds out what every value is presized to.
func (p *Pipeline) setHints() error {
	p.hints = make([]int, len(p.values))
	for i := range p.hints {
		p.hints[i] = p.opt.BytesPerSample
	}
	names := p.nodeNames()
	for name, sizes := range p.opt.BytesPerSampleHint {
		i := slices.Index(names, name)
		if name == "" || i < 0 {
			known := slices.DeleteFunc(names, func(s string) bool { return s == "" })
			return fmt.Errorf("BytesPerSampleHint names %q, but the operators that run are %q", name, known)
		}
		out := p.nodes[i].out
		if len(sizes) != 1 && len(sizes) != len(out) {
			return fmt.Errorf("BytesPerSampleHint has %d sizes for %q, which has %d outputs; give one for all, or one for each", len(sizes), name, len(out))
		}
		for k, v := range out {
			size := sizes[min(k, len(sizes)-1)]
			if size < 0 {
				return fmt.Errorf("BytesPerSampleHint of %q is %d; it must not be negative", name, size)
			}
			p.hints[v] = size
		}
	}
	return nil
}

// nodeNames returns the names of the operators and readers of the region, by
// node; those of control nodes are empty. Of operators with the same name, the
// second is name#2 and so on.
func (p *Pipeline) nodeNames() []string {
	names := make([]string, len(p.nodes))
	count := map[string]int{}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.kind == noControl {
			names[i] = numbered(n.op.Name, count)
		}
	}
	return names
}

// batchOpNames returns the names of the operators for whole batches, likewise.
func (p *Pipeline) batchOpNames() []string {
	names := make([]string, len(p.batchOps))
	count := map[string]int{}
	for i := range p.batchOps {
		names[i] = numbered(p.batchOps[i].op.Name, count)
	}
	return names
}

func numbered(name string, count map[string]int) string {
	if count[name]++; count[name] > 1 {
		return fmt.Sprintf("%s#%d", name, count[name])
	}
	return name
}

// resources describes the options that concern memory and processors, for
// Options.String.
func (o *Options) resources() string {
	var b strings.Builder
	if o.MemoryBudget > 0 {
		fmt.Fprintf(&b, ", at most %d bytes", o.MemoryBudget)
	}
	if o.DeviceMemoryBudget > 0 {
		fmt.Fprintf(&b, ", %d of the device", o.DeviceMemoryBudget)
	}
	if o.SetAffinity {
		b.WriteString(", pinned")
	}
	return b.String()
}
