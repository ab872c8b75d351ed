package ops

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// inPlace returns one operator that does the work of producer and then of op, whose kernels
// take an output that is their first input for what they change where it lies. What producer
// fuses with is fused in front of both.
func inPlace(producer *pipeline.Op, op pipeline.Op) *pipeline.Op {
	first := len(producer.Inputs)
	fused := &pipeline.Op{
		Name:   producer.Name + "+" + op.Name,
		Inputs: append(producer.Inputs[:first:first], op.Inputs[1:]...), Outputs: op.Outputs,
		New: func() (datum.Kernel, error) {
			a, err := producer.New()
			if err != nil {
				return nil, err
			}
			b, err := op.New()
			return &both{a, b, first, nil}, err
		},
		Expensive: producer.Expensive || op.Expensive,
	}
	if producer.Fuse != nil {
		fuse := producer.Fuse
		fused.Fuse = func(before *pipeline.Op) *pipeline.Op {
			if p := fuse(before); p != nil {
				return inPlace(p, op)
			}
			return nil
		}
	}
	return fused
}

// both runs one kernel after the other on the same output.
type both struct {
	first, second datum.Kernel
	inputs        int // of first
	in            []*datum.Tensor
}

func (k *both) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if err := k.first.Run(s, in[:k.inputs], out); err != nil {
		return err
	}
	k.in = append(append(k.in[:0], out...), in[k.inputs:]...)
	return k.second.Run(s, k.in, out)
}

// Release gives up what the kernels keep from sample to sample.
func (k *both) Release() {
	for _, k := range []datum.Kernel{k.first, k.second} {
		if r, ok := k.(datum.Releaser); ok {
			r.Release()
		}
	}
}
