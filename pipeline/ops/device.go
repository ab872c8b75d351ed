package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// Operators with the same command like to share a stream.
const (
	commandUpload = iota + 1
	commandKernel
	commandDecode
)

// ToDevice ends the part of a pipeline that works on single samples on the host:
// it brings whole batches to the device of pipeline.Options.Device, in one copy
// each. Only operators for whole batches and Graph.Output can take the
// result. Without such a device it is v itself, and on one that has no memory of its
// own a copy on the host.
//
// The copy of a batch starts when its last row is written, and passes while the
// consumer works on the batches before, whose work is not on the pipeline's streams.
// With the policy streams.PerBackend uploads have a stream of their own, so that the
// pipeline's kernels do not hold them up either; the other policies put an upload on
// the stream of the kernel that reads it. A batch is not copied in parts while its
// rows are written: there are batches ahead, so only the first would come sooner.
func ToDevice(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	const name = "to_device"
	given(g, name, v)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	if g.Options().Device == nil && v.Spec().Dense() {
		return g.WholeBatch(v)
	}
	return g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{v.Spec()},
		Backend: executor.Mixed, Command: commandUpload, Moves: true,
		New: func() (batchop.Kernel, error) { return batchop.KernelFunc(upload), nil },
	})[0]
}

func upload(c *streams.Context, in, out []batchop.Tensor) error {
	if q := queue(c); q != nil {
		return q.Copy(out[0].Data, in[0].Data)
	}
	copy(out[0].Data, in[0].Data)
	return nil
}

// queue returns what launches on the device of a stream, nil where the work is
// to be done on the host.
func queue(c *streams.Context) accel.Queue {
	if c == nil {
		return nil
	}
	q, _ := c.Native.(accel.Queue)
	return q
}

// DeviceOneHot is OneHot for labels that ToDevice brought to the device, int32 or
// int64. The result is float32, with the classes as the last dimension. A kernel
// cannot fail a sample, so labels outside of the classes give a vector of Off
// alone: OneHotOptions.IgnoreUnknown must be set.
func DeviceOneHot(g *pipeline.Graph, label pipeline.Value, o OneHotOptions) pipeline.Value {
	const name = "device_one_hot"
	given(g, name, label)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	in := label.Spec()
	if o.Classes == 0 {
		o.Classes = in.Classes
	}
	if o.On == 0 && o.Off == 0 {
		o.On = 1
	}
	switch {
	case o.Classes < 1:
		g.Fail(name, fmt.Errorf("Classes is %d; it must be positive, or known to the reader", o.Classes))
	case in.DType != datum.Int32 && in.DType != datum.Int64:
		g.Fail(name, fmt.Errorf("the labels are %s; int32 or int64 is wanted", in))
	case o.Axis != nil && *o.Axis != len(in.Shape) || o.DType != 0 && o.DType != datum.Float32:
		g.Fail(name, errors.New("the result is float32 with the classes as its last dimension; leave Axis and DType out"))
	case !o.IgnoreUnknown:
		g.Fail(name, errors.New("a kernel cannot fail a sample with an unknown label: set IgnoreUnknown, or use OneHot before ToDevice"))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	p := accel.OneHot{Labels: 1, Classes: o.Classes, Int64: in.DType == datum.Int64, On: float32(o.On), Off: float32(o.Off)}
	for _, d := range in.Shape {
		p.Labels *= d
	}
	valid := one(g, pipeline.Op{
		Name: name + "/valid", Outputs: []datum.Spec{{DType: datum.Uint8}},
		New: each(func(_ *datum.Sample, _, out []*datum.Tensor) error {
			b, err := out[0].Resize()
			if err == nil {
				b[0] = 1 // a row that is not valid is zero
			}
			return err
		}),
	})
	return g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{label, ToDevice(g, valid)},
		Outputs: []datum.Spec{{DType: datum.Float32, Shape: append(append([]int{}, labelShape(in.Shape, &o)...), o.Classes)}},
		Backend: executor.Device, Command: commandKernel, Config: fmt.Sprintf("%+v", p),
		New: func() (batchop.Kernel, error) {
			return batchop.KernelFunc(func(c *streams.Context, in, out []batchop.Tensor) error {
				if q := queue(c); q != nil {
					p := p
					p.N = len(in[0].Mask)
					return q.OneHot(out[0].Data, in[0].Data, in[1].Data, &p)
				}
				return oneHotRows(out[0].Data, in[0].Data, in[1].Data, &p)
			}), nil
		},
	})[0]
}

// oneHotRows is the kernel of DeviceOneHot on the host.
func oneHotRows(dst, labels, valid []byte, p *accel.OneHot) error {
	out := datum.View[float32](dst)
	label := func(i int) int64 { return int64(datum.View[int32](labels)[i]) }
	if p.Int64 {
		label = func(i int) int64 { return datum.View[int64](labels)[i] }
	}
	for i := range len(out) / p.Classes {
		row := out[i*p.Classes:][:p.Classes]
		if valid[i/p.Labels] == 0 {
			clear(row)
			continue
		}
		l := label(i)
		for k := range row {
			row[k] = p.Off
			if int64(k) == l {
				row[k] = p.On
			}
		}
	}
	return nil
}
