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

// DeviceCropMirrorNormalize is CropMirrorNormalize for pictures of one size, uint8
// with 1 to 4 channels, that ToDevice brought to the device: bytes cross the bus,
// and become float32 (or stay uint8) there. Mirror, PosY and PosX are values of
// single samples on the host. Results are those of CropMirrorNormalize, bit for
// bit.
func DeviceCropMirrorNormalize(g *pipeline.Graph, v pipeline.Value, o CropMirrorNormalizeOptions) pipeline.Value {
	const name = "device_crop_mirror_normalize"
	in := picture(g, name, v)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	o.setDefaults()
	o.CropOptions.check(g, name, in)
	channels := in.Shape[2]
	switch {
	case in.DType != datum.Uint8 || !in.Dense() || channels < 1 || channels > 4:
		g.Fail(name, fmt.Errorf("the input is %s; uint8 pictures of one size with 1 to 4 channels are wanted: resize first", in))
	case o.DType != datum.Float32 && o.DType != datum.Uint8:
		g.Fail(name, fmt.Errorf("DType is %v; float32 and uint8 are possible", o.DType))
	case o.Layout != datum.CHW && o.Layout != datum.HWC:
		g.Fail(name, fmt.Errorf("the layout is %q; CHW and HWC are possible", o.Layout))
	}
	o.checkChannels(g, name, in)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	k, windows := deviceCMN(g, name, in, o)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	spec := datum.Spec{DType: o.DType, Layout: o.Layout, Shape: []int{k.p.H, k.p.W, k.p.C}}
	if k.p.Planar {
		spec.Shape = []int{k.p.C, k.p.H, k.p.W}
	}
	return g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{v, ToDevice(g, windows)}, Outputs: []datum.Spec{spec},
		Backend: executor.Device, Command: commandKernel, Config: fmt.Sprintf("%+v", k.p),
		New: func() (batchop.Kernel, error) { k := k; return &k, nil },
	})[0]
}

// deviceCMN returns the kernel, and a value with the window of each sample: row
// and column, whether it is mirrored, and 1, which is 0 in rows that are not valid.
func deviceCMN(g *pipeline.Graph, name string, in datum.Spec, o CropMirrorNormalizeOptions) (cmnRows, pipeline.Value) {
	a := newArgs(g, name, Constant(g, 0)) // arguments come behind an input
	w, mirror := newWindow(a, o.CropOptions), a.number("Mirror", o.Mirror, 0)
	h, wd := w.known(in)
	if h < 0 || wd < 0 {
		g.Fail(name, fmt.Errorf("a region of %d×%d is trimmed to %s; every row of a batch needs the same size", o.Height, o.Width, in))
	}
	k := cmnRows{spec: imaging.CMNSpec{
		H: h, W: wd, Fill: o.fill(), Mean: float32s(o.Mean), Std: float32s(o.Std),
		Scale: float32(o.Scale), Shift: float32(o.Shift), DstCHW: o.Layout == datum.CHW,
		DstC: (&cmn{pad: o.PadOutput}).channels(in.Shape[2]),
	}}
	s := &k.spec
	k.p = accel.CropMirrorNormalize{
		SrcH: in.Shape[0], SrcW: in.Shape[1], SrcC: in.Shape[2], H: h, W: wd, C: s.DstC,
		Planar: s.DstCHW, Uint8: o.DType == datum.Uint8,
	}
	for c := range s.DstC {
		k.p.Scale[c] = s.Scale / valueOf(s.Std, c, 1)
		k.p.Bias[c] = s.Shift - float32(valueOf(s.Mean, c, 0)*k.p.Scale[c])
		k.p.Fill[c] = valueOf(s.Fill, c, 0)
	}
	srcH, srcW := in.Shape[0], in.Shape[1]
	return k, one(g, pipeline.Op{
		Name: name + "/window", Inputs: a.inputs, Outputs: []datum.Spec{{DType: datum.Int32, Shape: []int{4}}},
		Config: fmt.Sprintf("%+v mirror=%+v", w, mirror),
		New: each(func(_ *datum.Sample, args, out []*datum.Tensor) error {
			if _, err := out[0].Resize(4); err != nil {
				return err
			}
			y, x, _, _, err := w.at(args, srcH, srcW)
			if err != nil {
				return err
			}
			flip, err := mirror.of(args)
			if err != nil {
				return err
			}
			to := out[0].Int32s()
			to[0], to[1], to[2], to[3] = int32(y), int32(x), 0, 1
			if flip != 0 {
				to[2] = 1
			}
			return nil
		}),
	})
}

// cmnRows is the kernel of DeviceCropMirrorNormalize.
type cmnRows struct {
	p    accel.CropMirrorNormalize
	spec imaging.CMNSpec // the same for the host
	work imaging.CropMirrorNormalizer
}

func (k *cmnRows) Run(c *streams.Context, in, out []batchop.Tensor) error {
	n := len(in[0].Mask)
	if q := queue(c); q != nil {
		k.p.N = n
		return q.CropMirrorNormalize(out[0].Data, in[0].Data, in[1].Data, &k.p)
	}
	from, to := len(in[0].Data)/n, len(out[0].Data)/n
	windows := datum.View[int32](in[1].Data)
	for i := range n {
		dst, at := out[0].Data[i*to:][:to], windows[4*i:][:4]
		if at[3] == 0 {
			clear(dst)
			continue
		}
		s := &k.spec
		s.Y, s.X, s.Mirror = int(at[0]), int(at[1]), at[2] != 0
		src := imaging.Image{Pix: in[0].Data[i*from:][:from], Type: datum.Uint8, H: k.p.SrcH, W: k.p.SrcW, C: k.p.SrcC}
		if err := k.work.Apply(dst, out[0].Spec.DType, &src, s); err != nil {
			return plain(err)
		}
	}
	return nil
}
