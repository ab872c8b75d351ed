package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// spaces are the kernels' names of the colour types that are colour spaces.
var spaces = [...]imaging.ColorSpace{RGB: imaging.RGB, Gray: imaging.Gray, BGR: imaging.BGR, YCbCr: imaging.YCbCr601}

// ColorSpaceConversion converts uint8 pictures of one colour space to another: RGB, Gray,
// BGR or YCbCr. Grey is luma (weights 0.299, 0.587, 0.114). A grey picture has one channel,
// the others three.
func ColorSpaceConversion(g *pipeline.Graph, v pipeline.Value, from, to ColorType) pipeline.Value {
	const name = "color_space_conversion"
	if int(from) >= len(spaces) || int(to) >= len(spaces) {
		g.Fail(name, fmt.Errorf("from %d to %d is no conversion; RGB, Gray, BGR and YCbCr are possible", from, to))
		return pipeline.Value{}
	}
	src, dst := spaces[from], spaces[to]
	spec := channelsLast(g, name, v, src.Channels())
	if g.Err() != nil {
		return pipeline.Value{}
	}
	if spec.DType != datum.Uint8 {
		g.Fail(name, fmt.Errorf("the input is %s; uint8 is wanted", spec))
	}
	spec.Shape = append([]int{}, spec.Shape...)
	spec.Shape[len(spec.Shape)-1] = dst.Channels()
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{spec}, Expensive: true,
		Config: fmt.Sprintf("%d to %d", from, to),
		New: each(func(_ *datum.Sample, in, out []*datum.Tensor) error {
			if c := channelsOf(in[0]); c != src.Channels() {
				return fmt.Errorf("the picture has %d channels; %d are wanted", c, src.Channels())
			}
			var dims [datum.MaxDims]int
			shape := append(dims[:0], in[0].Shape()...)
			shape[len(shape)-1] = dst.Channels()
			mem, err := out[0].Resize(shape...)
			if err != nil {
				return err
			}
			out[0].SetLayout(in[0].Layout())
			return plain(imaging.ConvertColors(mem, dst, in[0].Bytes(), src))
		}),
	})
}
