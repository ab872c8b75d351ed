package compiled

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/fault"
)

// placeOutputs decides in what memory the outputs of a batch lie. Where
// Options.Device has memory of its own, that is what the executor infers from the
// edges of the program: what mixed and device operators write is on the device, and
// what they read of the host is page-locked.
func (p *Pipeline) placeOutputs() error {
	for i := range p.outputs {
		o := &p.outputs[i]
		o.Spec, o.Whole = p.values[o.Value].Spec, p.values[o.Value].Whole
		o.Alias = slices.IndexFunc(p.outputs, func(first Output) bool { return first.Value == o.Value })
		o.Part = p.partOf(i)
	}
	if _, ok := p.options.Device.(accel.Memory); ok {
		if err := p.askProgram(); err != nil {
			return err
		}
	}
	for i := range p.outputs { // one on a device that shows a value again has no memory: the host could not copy it
		o := &p.outputs[i]
		o.Owns = o.Alias == i || !o.OnDevice()
	}
	return nil
}

// askProgram takes over what the executor infers.
func (p *Pipeline) askProgram() error {
	program, err := p.Program(idleKernels())
	if err != nil {
		return err
	}
	place := func(node string, output, to int) {
		p.place(to, program.Attr(node, output).Kind())
	}
	for i, o := range p.readOfRegion() {
		place(regionNode, 1+i, o)
	}
	for i, op := range p.ops {
		for j, o := range op.Out {
			place(p.opNode(i), j, o)
		}
	}
	for _, op := range p.ops {
		for i, o := range op.In {
			if op.Backend == executor.Host && p.outputs[o].OnDevice() {
				return &fault.BuildError{Op: op.Name, Err: fmt.Errorf("input %d is in the memory of %s, which an operator on the host cannot read", i, p.options.Device.Name())}
			}
		}
	}
	return nil
}

// place puts all outputs that show the value of output i in one kind of memory.
func (p *Pipeline) place(i int, kind memstats.Kind) {
	for j := range p.outputs {
		if p.outputs[j].Value == p.outputs[i].Value {
			p.outputs[j].Kind = kind
		}
	}
}
