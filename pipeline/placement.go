package pipeline

import (
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
)

// placeOutputs decides in what memory the outputs of a batch lie. Where
// Options.Device has memory of its own, that is what the executor infers from the
// edges of the program: what mixed and device operators write is on the device, and
// what they read of the host is page-locked.
func (p *Pipeline) placeOutputs() error {
	if _, ok := p.opt.Device.(accel.Memory); !ok {
		return nil
	}
	program, err := p.compile(idleKernels())
	if err != nil {
		return err
	}
	place := func(node string, output, to int) {
		attr, _ := program.Attr(node, output)
		p.place(to, attr.Kind())
	}
	for i, o := range p.readOfRegion() {
		place(regionNode, 1+i, o)
	}
	for i, n := range p.batchOps {
		for j, o := range n.out {
			place(p.opNode(i), j, o)
		}
	}
	for _, n := range p.batchOps {
		for i, o := range n.in {
			if n.op.Backend == executor.Host && p.outputs[o].kind == memstats.Device {
				return &BuildError{Op: n.op.Name, Err: fmt.Errorf("input %d is in the memory of %s, which an operator on the host cannot read", i, p.opt.Device.Name())}
			}
		}
	}
	return nil
}

// newDevicePools returns the pools of a device that has memory of its own.
func newDevicePools(device streams.Device, rules *memstats.Rules) (map[memstats.Kind]*memstats.Pool, error) {
	d, ok := device.(accel.Memory)
	if !ok {
		return nil, nil
	}
	pools := map[memstats.Kind]*memstats.Pool{}
	for kind, from := range map[memstats.Kind]memstats.Allocator{memstats.PageLocked: d.HostMemory(), memstats.Device: d.Memory()} {
		pool, err := memstats.NewPool(memstats.PoolOptions{Kind: kind, Allocator: from, Rules: rules})
		if err != nil {
			return nil, err
		}
		pools[kind] = pool
	}
	return pools, nil
}

// trim gives back the memory of Options.Device that was freed.
func (p *Pipeline) trim() {
	for _, pool := range p.devicePools {
		pool.Trim()
	}
}

// place puts all outputs that show the value of output i in one kind of memory.
func (p *Pipeline) place(i int, kind memstats.Kind) {
	for j := range p.outputs {
		if p.outputs[j].value == p.outputs[i].value {
			p.outputs[j].kind = kind
		}
	}
}

// poolOf returns the pool for outputs of a kind.
func (p *Pipeline) poolOf(kind memstats.Kind) *memstats.Pool {
	if kind == memstats.Host {
		return p.pool
	}
	return p.devicePools[kind]
}

// MemoryOf returns what the pipeline's buffers of one kind hold: Host, which is what
// Memory returns, or with an Options.Device that has memory of its own, PageLocked and
// Device.
func (p *Pipeline) MemoryOf(kind memstats.Kind) memstats.Stats {
	if pool := p.poolOf(kind); pool != nil {
		return pool.Stats()
	}
	return memstats.Stats{}
}

// onDevice reports whether the host cannot reach the output.
func (b *Batch) onDevice(i int) bool { return b.p.outputs[i].kind == memstats.Device }

// OnDevice reports whether an output is in the memory of Options.Device.
func (p *Pipeline) OnDevice(name string) bool {
	i := p.output(name)
	return i >= 0 && p.outputs[i].kind == memstats.Device
}

// OnDevice reports whether an output is in the memory of Options.Device: what
// Bytes and the typed methods return are then an address and a length, whose
// bytes the host cannot reach. What made the output has finished.
func (b *Batch) OnDevice(name string) bool { return b.onDevice(b.index(name)) }
