package ops

import (
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// DeviceResize is Resize for pictures of one size, uint8 or float32, that ToDevice
// brought to the device. Results are those of Resize, bit for bit. The weights are
// computed on the host when the pipeline is built and uploaded once per stream; each
// batch takes scratch memory of the device for its samples × input height × output
// width × channels float32, in the order of its stream.
func DeviceResize(g *pipeline.Graph, v pipeline.Value, o ResizeOptions) pipeline.Value {
	const name = "device_resize"
	in := picture(g, name, v)
	spec, err := o.spec()
	g.Fail(name, err)
	if g.Err() == nil && (in.DType != datum.Uint8 && in.DType != datum.Float32 || !in.Dense()) {
		g.Fail(name, fmt.Errorf("the input is %s; uint8 or float32 pictures of one size are wanted: resize or crop first", in))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	k, err := newResizeRows(&spec, in, o.DType)
	g.Fail(name, err)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	return g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{pictureSpec(k.to, k.p.H, k.p.W, k.p.C)},
		Backend: executor.Device, Command: commandKernel, Config: fmt.Sprintf("%+v", spec),
		New: func() (batchop.Kernel, error) { k := *k; return &k, nil },
	})[0]
}

// newResizeRows plans a resize of pictures of one size; to is 0 for the type of the
// input.
func newResizeRows(spec *imaging.ResizeSpec, in datum.Spec, to datum.DType) (*resizeRows, error) {
	if to == 0 {
		to = in.DType
	}
	h, w := in.Shape[0], in.Shape[1]
	plan, err := spec.Resolve(h, w)
	if err != nil {
		return nil, plain(err)
	}
	if err := checkPixels(&plan); err != nil {
		return nil, err
	}
	cols, rows, err := plan.Weights(h, w)
	if err != nil {
		return nil, plain(err)
	}
	return &resizeRows{from: in.DType, to: to, plan: plan, p: accel.Resize{
		SrcH: h, SrcW: w, H: plan.Y.Out, W: plan.X.Out, C: in.Shape[2],
		SrcFloat32: in.DType == datum.Float32, Float32: to == datum.Float32,
		Rows: accel.Taps(rows), Cols: accel.Taps(cols),
	}}, nil
}

// resizeRows is the kernel of DeviceResize. Rows that are not valid are zero, and
// so is what becomes of them.
type resizeRows struct {
	p        accel.Resize
	from, to datum.DType
	plan     imaging.Plan // the same for the host
	work     imaging.Resampler
}

func (k *resizeRows) Run(c *streams.Context, in, out []batchop.Tensor) error {
	n := len(in[0].Mask)
	if q := queue(c); q != nil {
		k.p.N = n
		return q.Resize(out[0].Data, in[0].Data, &k.p)
	}
	from, to := len(in[0].Data)/n, len(out[0].Data)/n
	for i, valid := range in[0].Mask {
		dst := out[0].Data[i*to:][:to]
		if !valid {
			clear(dst)
			continue
		}
		src := imaging.Image{Pix: in[0].Data[i*from:][:from], Type: k.from, H: k.p.SrcH, W: k.p.SrcW, C: k.p.C}
		if err := k.work.Resize(dst, k.to, &src, k.plan); err != nil {
			return plain(err)
		}
	}
	return nil
}
